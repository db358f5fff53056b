#include "base/crash.h"

#ifdef SLATE_DEBUG
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void crash_point(const char *name) {
    static _Atomic unsigned long times;
    const char *wanted = getenv("SLATED_CRASH_AT");
    size_t len = strlen(name);
    if (wanted == NULL || strncmp(wanted, name, len) != 0 ||
        (wanted[len] != '\0' && wanted[len] != ':')) {
        return;
    }
    unsigned long which = wanted[len] == ':' ? strtoul(wanted + len + 1, NULL, 10) : 1;
    if (atomic_fetch_add(&times, 1) + 1 == which) {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause(); /* it comes at once, but to another thread first */
        }
    }
}
#endif
