#include "net/heir.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

enum {
    ANSWER_MS = 5000,  /* so long it has to take everything, while clients wait */
    DECIDED_MS = 5000, /* and so long, once it has taken the succession, until it serves */
    KILLED_MS = 5000,  /* a killed process has so long to end */
    LOOK_MS = 10,      /* between two looks at it */
    SECOND_MS = 1000,
};
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77 /* since Linux 6.5 */
#endif

static bool is_to_stop(const struct heir *h) {
    return atomic_load_explicit(&h->server->stop, memory_order_acquire) != SERVER_RUN;
}

/* --- coming and going --- */

static void bound_waits(int fd) {
    const struct timeval most = {.tv_sec = ANSWER_MS / SECOND_MS};
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof most);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
}

/* Opens a descriptor of the process. A filter of system calls allows only the first way. -1:
 * neither way works. */
static int pidfd_of(int peer, int pid) {
    int fd;
    socklen_t bytes = sizeof fd;
    return getsockopt(peer, SOL_SOCKET, SO_PEERPIDFD, &fd, &bytes) == 0
               ? fd
               : (int)syscall(SYS_pidfd_open, pid, 0);
}

bool heir_meet(struct heir *h, int taken_fd, const struct server *server) {
    *h = (struct heir){.server = server, .fd = taken_fd, .pidfd = -1, .succession = {.fd = -1}};
    bool ours = handover_is_ours(taken_fd, &h->pid);
    bound_waits(taken_fd);
    h->pidfd = ours ? pidfd_of(taken_fd, h->pid) : -1;
    return ours;
}

void heir_forget(struct heir *h, bool left) {
    if (h->succession.word != NULL && !left) {
        succession_take(&h->succession, SUCCESSION_FIRST);
    }
    succession_close(&h->succession);
    if (h->pidfd >= 0) {
        close(h->pidfd);
    }
    close(h->fd);
    h->fd = h->pidfd = -1;
}

/* --- waiting --- */

void heir_await_answer(const struct heir *h, char why[HANDOVER_TEXT_BYTES]) {
    struct pollfd p = {.fd = h->fd, .events = POLLIN};
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST], ready, got = -1;
    uint64_t until_us = clock_mono_us() + ANSWER_MS * 1000;
    do {
        uint64_t now_us = clock_mono_us();
        ready = now_us < until_us ? poll(&p, 1, (int)((until_us - now_us) / 1000 + 1)) : 0;
    } while (ready < 0 && errno == EINTR && !is_to_stop(h));
    if (ready > 0) {
        got = handover_receive(h->fd, &m, fds);
    }
    for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
        close(fds[i]); /* nobody asked for these descriptors */
    }
    snprintf(why, HANDOVER_TEXT_BYTES, "%s",
             is_to_stop(h)                            ? "this one is to stop"
             : ready == 0                             ? "it does not answer"
             : got == 1 && m.kind == HANDOVER_REFUSED ? m.text
             : got == 0                               ? "it has ended"
                                                      : "it says nothing that is understood");
}

/* Whether the process has ended, at the latest after so many milliseconds; -1: as long as this
 * process need not stop. A process that serves is waited for no longer. */
static bool await_end(const struct heir *h, int most_ms) {
    struct pollfd p = {.fd = h->fd};
    uint64_t until_us = clock_mono_us() + (most_ms > 0 ? (uint64_t)most_ms * 1000 : 0);
    bool ended = false;
    while (!ended && succession_look(&h->succession) != SUCCESSION_NEXT_SERVES &&
           (most_ms < 0 ? !is_to_stop(h) : clock_mono_us() < until_us)) {
        ended = poll(&p, 1, LOOK_MS) > 0 && (p.revents & (POLLHUP | POLLERR)) != 0;
    }
    return ended;
}

/* --- one that neither serves nor ends --- */

static bool send_signal(const struct heir *h, int number) {
    return h->pidfd >= 0 && syscall(SYS_pidfd_send_signal, h->pidfd, number, NULL, 0) == 0;
}

/* The process must not go on beside this one, so it is killed. A killed process changes nothing
 * more, even while the system still ends it. Returns whether it has the items all the same. */
static bool end_it(struct heir *h) {
    enum { DECIDED_S = (ANSWER_MS + DECIDED_MS) / SECOND_MS };
    if (!send_signal(h, 0)) {
        log_warn("process %d has taken over, and neither serves nor ends within %d s; this one may "
                 "not kill it, and waits",
                 h->pid, DECIDED_S);
        bool ended = await_end(h, -1);
        return !ended || succession_look(&h->succession) == SUCCESSION_NEXT_SERVES;
    }
    if (!succession_take_back(&h->succession)) {
        return true; /* it serves since this moment */
    }
    send_signal(h, SIGKILL);
    log_warn("process %d has taken over, and neither serves nor ends within %d s: it is killed",
             h->pid, DECIDED_S);
    if (!await_end(h, KILLED_MS)) {
        log_warn("process %d was killed and has not ended yet", h->pid);
    }
    return false;
}

bool heir_comes_to_serve(struct heir *h) {
    bool ended = await_end(h, DECIDED_MS);
    return succession_look(&h->succession) == SUCCESSION_NEXT_SERVES || (!ended && end_it(h));
}
