#include "net/arrive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/image.h"
#include "base/log.h"
#include "net/state.h"

enum {
    LOOK_MS = 100,
    FIRST_MS = 30 * 1000, /* the other server has so long for each thing that it is to say */
};

enum heard { HEARD, HEARD_END, HEARD_NOT };

static bool fail(const char *why) {
    log_error("cannot take over: %s", why);
    return false;
}

static enum heard not_heard(const char *why) {
    fail(why);
    return HEARD_NOT;
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

/* Waits for the next message, which must be of that kind. HEARD_END: the other server has ended or
 * hung up, and nothing was logged. */
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
    return not_heard(got == 1 && m->kind == HANDOVER_REFUSED ? m->text
                     : got < 0 && errno == EPROTO
                         ? HANDOVER_OTHER_VERSION
                         : "the server that runs says nothing that is understood");
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
    if (!succession_join(&a->succession, fds[2])) {
        return fail("the word that decides between it and the server that runs cannot be had");
    }
    a->facts = (struct cache_taken){.partitions = m.partitions, .index_bytes = m.index_bytes};
    memcpy(a->secret, m.secret, sizeof a->secret);
    *socket_count = m.socket_count;
    return true;
}

bool arrive_begin(struct arrival *a, const char *path) {
    struct handover_message m = {.layout = cargo_layout()};
    int fds[HANDOVER_FDS_MOST];
    *a = (struct arrival){.memory_fd = -1,
                          .handover_fd = -1,
                          .succession = {.fd = -1},
                          .fd = handover_connect(path)};
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
    crash_point("next_offered");
    return true;
}

void arrive_end(struct arrival *a) {
    handed_end(&a->sockets);
    if (a->memory_fd >= 0) {
        close(a->memory_fd);
    }
    if (a->handover_fd >= 0) {
        close(a->handover_fd);
    }
    if (a->fd >= 0) {
        close(a->fd);
    }
    succession_close(&a->succession);
    *a = (struct arrival){
        .fd = -1, .memory_fd = -1, .handover_fd = -1, .succession = {.fd = -1}};
}

/* Takes over connections, whose sockets come in messages of their own. Sockets that never come were
 * those of a server that has ended, and their clients know. */
static bool get_conns(const struct arrival *a, struct net *net, struct image *image,
                      unsigned count) {
    while (count > 0) {
        struct handover_message m;
        int fds[HANDOVER_FDS_MOST];
        enum heard heard = hear(a, HANDOVER_CONNS, &m, fds);
        if (heard == HEARD_END) {
            log_warn("process %d has ended amid the takeover: %u connections are lost", a->pid,
                     count);
            return cargo_get(image, net, NULL, count) || fail("connections are not whole");
        }
        if (heard == HEARD_NOT) {
            return false;
        }
        if (m.fd_count == 0 || m.fd_count > count ||
            !cargo_get(image, net, fds, m.fd_count)) {
            return fail("connections are not whole");
        }
        count -= m.fd_count;
    }
    return true;
}

static enum heard get_state(const struct arrival *a, struct net *net, struct held_list *held) {
    struct handover_message m;
    struct image image;
    int fds[HANDOVER_FDS_MOST];
    enum heard heard = a->ended ? HEARD_END : hear(a, HANDOVER_STATE, &m, fds);
    if (heard != HEARD) {
        return heard;
    }
    if (m.fd_count != 1 || !image_open(&image, fds[0])) {
        return not_heard("what the server that runs hands over cannot be read");
    }
    crash_point("next_has_image");
    const char *why = cache_image_get(&image, net->server->cache);
    bool got = why == NULL ? get_conns(a, net, &image, m.conn_count) : fail(why);
    if (got && !cargo_get_held(&image, held)) {
        got = fail("what its clients hold is not whole, or there is no memory for it");
    }
    image_close(&image);
    return got ? HEARD : HEARD_NOT;
}

/* Takes over: everything is here, and no other process has it any more. */
static void go_on(struct net *net, struct held_list *held) {
    struct worker *w = &net->workers[0];
    net->config.rests = false;
    cache_settle_in(net->server->cache);
    cache_turn_begin(w->cache_thread);
    cache_held_give_back(w->cache_thread, held->each, held->count);
    cache_turn_end(w->cache_thread);
    handover_listen_as_this(net->config.handover_fd);
    if (net->config.unix_path != NULL && chmod(net->config.unix_path, net->config.unix_mode) != 0) {
        log_warn("%s keeps its permissions: %s", net->config.unix_path, strerror(errno));
    }
    tuner_go_on(net->server->tuner);
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_go_on(&net->workers[i]);
    }
}

/* The other server was killed before it had sent its image. What it had in its file is there as
 * after any kill, and this process has its sockets. A server that has only hung up has taken the
 * succession before. */
static bool inherit(struct arrival *a, struct net *net) {
    char why[CACHE_WHY_BYTES];
    if (is_to_end()) {
        return fail("this process is to end");
    }
    if (!succession_take(&a->succession, SUCCESSION_NEXT)) {
        return fail("the server that runs has hung up");
    }
    log_warn("process %d has ended amid the takeover: this one goes on with its items, without "
             "its connections",
             a->pid);
    crash_point("next_inherits");
    return cache_inherit(net->server->cache, why) || fail(why);
}

/* Takes what can be taken without a change, and then the succession. */
static bool take(struct arrival *a, struct net *net) {
    if (is_to_end()) {
        return fail("this process is to end");
    }
    if (!cache_may_own(net->server->cache)) {
        handover_refuse(a->fd, "it may not write to the items' memory");
        return fail("the items' memory cannot be written to");
    }
    crash_point("next_takes");
    if (!succession_take(&a->succession, SUCCESSION_NEXT)) {
        return fail("the server that runs goes on");
    }
    crash_point("next_decided");
    cache_own(net->server->cache);
    crash_point("next_owns");
    if (!succession_serve(&a->succession)) {
        /* this process was too slow, and all its memory is the other's: it may not write a byte */
        fail("the server that runs has waited in vain, and goes on");
        log_stop();
        _exit(EX_UNAVAILABLE);
    }
    crash_point("next_serves");
    handover_send(a->fd, &(struct handover_message){.kind = 0}, HANDOVER_SERVES, NULL, 0);
    return true; /* whether the other hears that or has ended makes no difference */
}

bool net_arrive(struct net *net, struct arrival *a) {
    struct handover_message m = {.kind = 0};
    struct held_list held = {0};
    bool taken = false;
    crash_point("next_built");
    /* if the other has ended, the next message shows it */
    handover_send(a->fd, &m, HANDOVER_READY, NULL, 0);
    switch (get_state(a, net, &held)) {
    case HEARD:
        taken = take(a, net);
        break;
    case HEARD_END:
        taken = inherit(a, net);
        break;
    case HEARD_NOT:
        handover_refuse(a->fd, "it could not take the items that were handed over");
        break;
    }
    if (taken) {
        go_on(net, &held);
    }
    free(held.each);
    return taken;
}
