#include "net/takeover/takeover_new.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/failpoint.h"
#include "base/log.h"

enum {
    POLL_MS = 100,
    MESSAGE_MS = 30 * 1000, /* each message of the other server must come within this time */
};

enum received { RECEIVED, RECEIVED_END, RECEIVED_NOTHING };

static bool takeover_fail(const char *why) {
    log_error("cannot take over: %s", why);
    return false;
}

/* True: a signal requests that this process ends. Signals are blocked until this process serves. */
static bool takeover_is_to_end(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* Waits for a message, or the end, of the other server, for at most MESSAGE_MS, because that server
 * may hang. A signal to end this process ends the wait. */
static bool takeover_await_message(const struct takeover_new *a) {
    struct pollfd p = {.fd = a->fd, .events = POLLIN};
    uint64_t until_us = clock_mono_us() + (uint64_t)MESSAGE_MS * 1000;
    int ready;
    while ((ready = poll(&p, 1, POLL_MS)) <= 0) {
        if (ready < 0 && errno != EINTR) {
            return takeover_fail(strerror(errno));
        }
        if (takeover_is_to_end()) {
            return takeover_fail("this process is to end");
        }
        if (clock_mono_us() > until_us) {
            return takeover_fail("the running server does not answer; its items stay there");
        }
    }
    return true;
}

/* Waits for the next message, which must have that kind. RECEIVED_END: the other server has ended;
 * nothing is logged. */
static enum received takeover_receive(const struct takeover_new *a, enum handover_kind kind,
                                      struct handover_message *m, int fds[HANDOVER_FDS_MOST]) {
    if (!takeover_await_message(a)) {
        return RECEIVED_NOTHING;
    }
    int got = handover_receive(a->fd, m, fds);
    if (got == 0 || (got == 1 && m->kind == kind)) {
        return got == 0 ? RECEIVED_END : RECEIVED;
    }
    for (unsigned i = 0; got == 1 && i < m->fd_count; i++) {
        close(fds[i]);
    }
    takeover_fail(got == 1 && m->kind == HANDOVER_REFUSED ? m->text
                  : got < 0 && errno == EPROTO            ? HANDOVER_OTHER_VERSION
                                               : "the server that runs sent an unknown "
                                                 "message");
    return RECEIVED_NOTHING;
}

static bool takeover_receive_offer(struct takeover_new *a, unsigned *socket_count) {
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST];
    enum received received = takeover_receive(a, HANDOVER_OFFER, &m, fds);
    if (received != RECEIVED) {
        return received == RECEIVED_END &&
               takeover_fail("the server that runs has ended or hung up");
    }
    if (m.fd_count != HANDOVER_OFFER_FDS) {
        for (unsigned i = 0; i < m.fd_count; i++) {
            close(fds[i]);
        }
        return takeover_fail("the server that runs sent an unknown message");
    }
    a->memory_fd = fds[0];
    a->handover_fd = fds[1];
    *socket_count = m.socket_count;
    return true;
}

bool takeover_new_begin(struct takeover_new *a, const char *path) {
    struct handover_message m = {.kind = 0};
    int fds[HANDOVER_FDS_MOST];
    *a = (struct takeover_new)TAKEOVER_NEW_NONE;
    a->fd = handover_connect(path);
    if (a->fd < 0) {
        log_error("cannot take over: no server listens on %s: %s", path, strerror(errno));
        return false;
    }
    if (!handover_is_ours(a->fd, &a->pid)) {
        return takeover_fail("the server that runs is another user's");
    }
    if (!handover_send(a->fd, &m, HANDOVER_HELLO, NULL, 0)) {
        return takeover_fail(strerror(errno));
    }
    unsigned wanted = 0;
    if (!takeover_receive_offer(a, &wanted)) {
        return false;
    }
    while (a->sockets.count < wanted && !a->ended) {
        enum received received = takeover_receive(a, HANDOVER_SOCKETS, &m, fds);
        if (received == RECEIVED_NOTHING ||
            (received == RECEIVED && !handover_fds_add(&a->sockets, fds, m.fd_count))) {
            return false;
        }
        a->ended = received == RECEIVED_END;
    }
    failpoint_reach("next_offered");
    return true;
}

bool takeover_new_take_over(struct takeover_new *a) {
    struct handover_message m = {.kind = 0};
    int fds[HANDOVER_FDS_MOST];
    failpoint_reach("next_built");
    /* if the other server has ended, the next receive finds out */
    handover_send(a->fd, &m, HANDOVER_READY, NULL, 0);
    enum received received = a->ended ? RECEIVED_END : takeover_receive(a, HANDOVER_GO, &m, fds);
    if (received == RECEIVED_NOTHING) {
        return false;
    }
    if (takeover_is_to_end()) {
        return takeover_fail("this process is to end");
    }
    if (received == RECEIVED_END) {
        log_warn("process %d has ended amid the takeover: this one goes on with its items", a->pid);
    }
    failpoint_reach("next_goes_on");
    return true;
}

void takeover_new_report_serving(const struct takeover_new *a) {
    struct handover_message m = {.kind = 0};
    failpoint_reach("next_serves");
    handover_send(a->fd, &m, HANDOVER_SERVES, NULL, 0); /* the other server may be gone */
}

void takeover_new_end(struct takeover_new *a) {
    int *const fds[] = {&a->memory_fd, &a->handover_fd, &a->fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
        }
    }
    handover_fds_close(&a->sockets);
    *a = (struct takeover_new)TAKEOVER_NEW_NONE;
}
