#include "base/crash.h"

#ifdef SLATE_DEBUG
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether it is the one that the variable names, for the time that it names. */
static bool is_named(const char *variable, const char *name, _Atomic unsigned long *times) {
    const char *wanted = getenv(variable);
    size_t len = strlen(name);
    if (wanted == NULL || strncmp(wanted, name, len) != 0 ||
        (wanted[len] != '\0' && wanted[len] != ':')) {
        return false;
    }
    unsigned long which = wanted[len] == ':' ? strtoul(wanted + len + 1, NULL, 10) : 1;
    return atomic_fetch_add(times, 1) + 1 == which;
}

void crash_point(const char *name) {
    static _Atomic unsigned long crashes, stops;
    if (is_named("SLATED_STOP_AT", name, &stops)) {
        kill(getpid(), SIGSTOP); /* goes on with SIGCONT */
    }
    if (is_named("SLATED_CRASH_AT", name, &crashes)) {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause(); /* it comes at once, but to another thread first */
        }
    }
}
#endif
