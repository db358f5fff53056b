#include "mem/lost.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/log.h"

enum { PATH_ROOM = 512 };

static struct {
    char      path[PATH_ROOM]; /* may be cut: it is for people */
    uintptr_t from, to;
} watched;

/* The thread was in the mapping, so it held nothing of the log. Several may come at once: the first
 * tells, and the process ends when it does again what it could not do. */
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
