#include "mem/lost.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

enum { PATH_ROOM = 512 };

static struct {
    char      path[PATH_ROOM]; /* may be cut: only people read it */
    uintptr_t from, to;
} watched;

/* Logging from this signal is safe: the thread was touching the mapping, so it held no lock of the
 * log. Several threads may come here at once. The first one logs; the process ends when that thread
 * touches the memory again. */
static void on_bus(int number, siginfo_t *info, void *context) {
    static atomic_flag told = ATOMIC_FLAG_INIT;
    uintptr_t at = (uintptr_t)info->si_addr;
    (void)context;
    if (at >= watched.from && at < watched.to) {
        while (atomic_flag_test_and_set(&told)) {
            pause();
        }
        log_error("%s: memory of it is gone: the file was cut, or its file system has no more; "
                  "this process ends",
                  watched.path);
        log_sync();
    }
    signal(number, SIG_DFL);
}

void lost_watch(const char *path, const void *at, size_t bytes) {
    struct sigaction action = {.sa_sigaction = on_bus, .sa_flags = SA_SIGINFO};
    snprintf(watched.path, sizeof watched.path, "%s", path);
    watched.from = (uintptr_t)at;
    watched.to = watched.from + bytes;
    sigemptyset(&action.sa_mask);
    sigaction(SIGBUS, &action, NULL);
}
