#include "base/failpoint.h"

#ifdef SLATE_DEBUG
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/number.h"

/* Points that the environment names, read once because threads reach points often; NULL: none. */
static const char *kill_at, *stop_at;
__attribute__((constructor)) static void failpoint_read_names(void) {
    kill_at = getenv("SLATED_CRASH_AT");
    stop_at = getenv("SLATED_STOP_AT");
}

/* Whether `wanted` names this point and this visit of it. */
static bool failpoint_is_named(const char *wanted, const char *name, _Atomic unsigned long *times) {
    if (wanted == NULL) {
        return false;
    }
    size_t len = strlen(name);
    if (strncmp(wanted, name, len) != 0 || (wanted[len] != '\0' && wanted[len] != ':')) {
        return false;
    }
    uint64_t which = 1;
    if (wanted[len] == ':') {
        number_digits(wanted + len + 1, 10, &which);
    }
    return atomic_fetch_add(times, 1) + 1 == which;
}

void failpoint_reach(const char *name) {
    static _Atomic unsigned long kills, stops;
    if (failpoint_is_named(stop_at, name, &stops)) {
        kill(getpid(), SIGSTOP); /* SIGCONT continues the process */
    }
    if (failpoint_is_named(kill_at, name, &kills)) {
        kill(getpid(), SIGKILL);
        for (;;) {
            pause(); /* the signal comes at once, but perhaps to another thread first */
        }
    }
}
#endif
