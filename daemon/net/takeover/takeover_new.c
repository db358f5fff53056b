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
    LOOK_MS = 100,
    FIRST_MS = 30 * 1000, /* the other server has so long for each thing that it is to say */
};

enum heard { HEARD, HEARD_END, HEARD_NOT };

static bool fail(const char *why) {
    log_error("cannot take over: %s", why);
    return false;
}

/* Whether somebody asks this process to end; such a signal would otherwise be heard only once it
 * serves. */
static bool is_to_end(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* Waits until the other server says something, or ends, for FIRST_MS at most: a server that hangs
 * would otherwise be waited for as long as it hangs. A signal to end this process ends the wait. */
static bool await_word(const struct arrival *a) {
    struct pollfd p = {.fd = a->fd, .events = POLLIN};
    uint64_t until_us = clock_mono_us() + (uint64_t)FIRST_MS * 1000;
    int ready;
    while ((ready = poll(&p, 1, LOOK_MS)) <= 0) {
        if (ready < 0 && errno != EINTR) {
            return fail(strerror(errno));
        }
        if (is_to_end()) {
            return fail("this process is to end");
        }
        if (clock_mono_us() > until_us) {
            return fail("the running server does not answer; its items stay there");
        }
    }
    return true;
}

/* Waits for the next message, which must be of that kind. HEARD_END: the other server has ended,
 * and nothing was logged. */
static enum heard hear(const struct arrival *a, enum handover_kind kind, struct handover_message *m,
                       int fds[HANDOVER_FDS_MOST]) {
    if (!await_word(a)) {
        return HEARD_NOT;
    }
    int got = handover_receive(a->fd, m, fds);
    if (got == 0 || (got == 1 && m->kind == kind)) {
        return got == 0 ? HEARD_END : HEARD;
    }
    for (unsigned i = 0; got == 1 && i < m->fd_count; i++) {
        close(fds[i]);
    }
    fail(got == 1 && m->kind == HANDOVER_REFUSED ? m->text
         : got < 0 && errno == EPROTO            ? HANDOVER_OTHER_VERSION
                                                 : "the server that runs says nothing that is "
                                                   "understood");
    return HEARD_NOT;
}

static bool hear_offer(struct arrival *a, unsigned *socket_count) {
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST];
    enum heard heard = hear(a, HANDOVER_OFFER, &m, fds);
    if (heard != HEARD) {
        return heard == HEARD_END && fail("the server that runs has ended or hung up");
    }
    if (m.fd_count != HANDOVER_OFFER_FDS) {
        for (unsigned i = 0; i < m.fd_count; i++) {
            close(fds[i]);
        }
        return fail("the server that runs says nothing that is understood");
    }
    a->memory_fd = fds[0];
    a->handover_fd = fds[1];
    *socket_count = m.socket_count;
    return true;
}

bool arrive_begin(struct arrival *a, const char *path) {
    struct handover_message m = {.kind = 0};
    int fds[HANDOVER_FDS_MOST];
    *a = (struct arrival)ARRIVAL_NONE;
    a->fd = handover_connect(path);
    if (a->fd < 0) {
        log_error("cannot take over: no server listens on %s: %s", path, strerror(errno));
        return false;
    }
    if (!handover_is_ours(a->fd, &a->pid)) {
        return fail("the server that runs is another user's");
    }
    if (!handover_send(a->fd, &m, HANDOVER_HELLO, NULL, 0)) {
        return fail(strerror(errno));
    }
    unsigned wanted = 0;
    if (!hear_offer(a, &wanted)) {
        return false;
    }
    while (a->sockets.count < wanted && !a->ended) {
        enum heard heard = hear(a, HANDOVER_SOCKETS, &m, fds);
        if (heard == HEARD_NOT ||
            (heard == HEARD && !handed_add(&a->sockets, fds, m.fd_count))) {
            return false;
        }
        a->ended = heard == HEARD_END;
    }
    failpoint_reach("next_offered");
    return true;
}

bool arrive_take_over(struct arrival *a) {
    struct handover_message m = {.kind = 0};
    int fds[HANDOVER_FDS_MOST];
    failpoint_reach("next_built");
    /* if the other has ended, the next message shows it */
    handover_send(a->fd, &m, HANDOVER_READY, NULL, 0);
    enum heard heard = a->ended ? HEARD_END : hear(a, HANDOVER_GO, &m, fds);
    if (heard == HEARD_NOT) {
        return false;
    }
    if (is_to_end()) {
        return fail("this process is to end");
    }
    if (heard == HEARD_END) {
        log_warn("process %d has ended amid the takeover: this one goes on with its items", a->pid);
    }
    failpoint_reach("next_goes_on");
    return true;
}

void arrive_serves(const struct arrival *a) {
    struct handover_message m = {.kind = 0};
    failpoint_reach("next_serves");
    handover_send(a->fd, &m, HANDOVER_SERVES, NULL, 0); /* whether the other lives or not */
}

void arrive_end(struct arrival *a) {
    int *const fds[] = {&a->memory_fd, &a->handover_fd, &a->fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0) {
            close(*fds[i]);
        }
    }
    handed_end(&a->sockets);
    *a = (struct arrival)ARRIVAL_NONE;
}
