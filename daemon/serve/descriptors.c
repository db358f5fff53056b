#include "serve/descriptors.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/log.h"
#include "watch/watcher.h"

/* stdio, the event loops, the pidfile */
enum { DESCRIPTORS_OTHERS = 16 };

/* The files that the server has open beside its connections. */
static rlim_t own_files(const struct settings *s) {
    return descriptors_reserved((unsigned)s->threads) + WATCHERS_MAX + DESCRIPTORS_OTHERS;
}

bool descriptors_allow(const struct settings *s, char *why) {
    struct rlimit limit;
    rlim_t want = (rlim_t)s->maxconns + own_files(s);
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

bool descriptors_fit(struct settings *s, char *why) {
    struct rlimit limit;
    if (descriptors_allow(s, why)) {
        return true;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_max < (rlim_t)s->maxconns ||
        limit.rlim_max <= own_files(s)) {
        return false;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return false;
    }
    int fit = (int)(limit.rlim_max - own_files(s));
    log_warn("at most %d connections, not %d: the process may open %lu files", fit, s->maxconns,
             (unsigned long)limit.rlim_max);
    s->maxconns = fit;
    return true;
}
