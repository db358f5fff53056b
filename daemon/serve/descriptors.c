#include "serve/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "watch/watcher.h"

/* stdio, the event loops, the pidfile */
enum { DESCRIPTORS_OTHERS = 16 };

bool descriptors_allow(const struct settings *s, char *why) {
    struct rlimit limit;
    rlim_t want = (rlim_t)s->maxconns + descriptors_reserved((unsigned)s->threads) + WATCHERS_MAX +
                  DESCRIPTORS_OTHERS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        snprintf(why, SETTING_WHY_BYTES, "cannot read the limit of open files: %s",
                 strerror(errno));
        return false;
    }
    if (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= want) {
        return true;
    }
    limit.rlim_cur = want;
    if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < want) {
        limit.rlim_max = want; /* root may */
    }
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        snprintf(why, SETTING_WHY_BYTES,
                 "cannot open %lu files at once (%s): ask for fewer connections, or start as root",
                 (unsigned long)want, strerror(errno));
        return false;
    }
    return true;
}
