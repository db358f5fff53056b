#include "base/crash.h"

#ifdef SLATE_DEBUG
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether the environment variable names this point, and this is the time that it names. */
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
        kill(getpid(), SIGSTOP); /* SIGCONT continues it */
    }
    if (is_named("SLATED_CRASH_AT", name, &crashes)) {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause(); /* the signal comes at once, but perhaps to another thread first */
        }
    }
}
#endif
