#include "net/arrive.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/crash.h"
#include "base/image.h"
#include "base/log.h"
#include "net/state.h"

enum { LOOK_MS = 100 };

static bool fail(const char *why) {
    log_error("cannot take over: %s", why);
    return false;
}

/* Whether somebody wants this process to end, who would otherwise be heard only once it serves. */
static bool is_to_end(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 &&
           (sigismember(&pending, SIGTERM) == 1 || sigismember(&pending, SIGINT) == 1);
}

/* The next message, which must be of that kind. Waits for as long as the other lives: it alone
 * decides. A signal ends this. */
static bool expect(const struct arrival *a, enum handover_kind kind, struct handover_message *m,
                   int fds[HANDOVER_FDS_MOST]) {
    struct pollfd p = {.fd = a->fd, .events = POLLIN};
    int ready;
    while ((ready = poll(&p, 1, LOOK_MS)) <= 0) {
        if (ready < 0 && errno != EINTR) {
            return fail(strerror(errno));
        }
        if (is_to_end()) {
            return fail("this process is to end");
        }
    }
    int got = handover_receive(a->fd, m, fds);
    if (got == 1 && m->kind == kind) {
        return true;
    }
    for (unsigned i = 0; got == 1 && i < m->fd_count; i++) {
        close(fds[i]);
    }
    return fail(got == 1 && m->kind == HANDOVER_REFUSED ? m->text
                : got == 0                   ? "the server that runs has ended or hung up"
                : got < 0 && errno == EPROTO ? HANDOVER_OTHER_VERSION
                                : "the server that runs says nothing that is understood");
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
    if (!expect(a, HANDOVER_OFFER, &m, fds)) {
        return false;
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
    unsigned wanted = m.socket_count;
    while (a->sockets.count < wanted) {
        if (!expect(a, HANDOVER_SOCKETS, &m, fds) ||
            !handed_add(&a->sockets, fds, m.fd_count)) {
            return false;
        }
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

static bool get_conns(const struct arrival *a, struct net *net, struct image *image,
                      unsigned count) {
    while (count > 0) {
        struct handover_message m;
        int fds[HANDOVER_FDS_MOST];
        if (!expect(a, HANDOVER_CONNS, &m, fds)) {
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

static bool get_state(const struct arrival *a, struct net *net, struct held_list *held) {
    struct handover_message m;
    struct image image;
    int fds[HANDOVER_FDS_MOST];
    if (!expect(a, HANDOVER_STATE, &m, fds)) {
        return false;
    }
    if (m.fd_count != 1 || !image_open(&image, fds[0])) {
        return fail("what the server that runs hands over cannot be read");
    }
    crash_point("next_has_image");
    const char *why = cache_image_get(&image, net->server->cache);
    bool got = why == NULL ? get_conns(a, net, &image, m.conn_count) : fail(why);
    if (got && !cargo_get_held(&image, held)) {
        got = fail("what its clients hold is not whole, or there is no memory for it");
    }
    image_close(&image);
    return got;
}

/* All is there, and nobody else has it any more. */
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

/* Takes what can be taken without a change, and then the succession. */
static bool take(struct arrival *a, struct net *net, struct held_list *held) {
    if (!get_state(a, net, held)) {
        handover_refuse(a->fd, "it could not take what it was handed");
        return false;
    }
    if (is_to_end()) {
        return fail("this process is to end");
    }
    if (!cache_may_own(net->server->cache)) {
        handover_refuse(a->fd, "it may not write to the items' memory");
        return fail("the items' memory cannot be written to");
    }
    crash_point("next_takes");
    return succession_take(&a->succession, SUCCESSION_NEXT) || fail("the server that runs goes on");
}

bool net_arrive(struct net *net, struct arrival *a) {
    struct handover_message m = {.kind = 0};
    struct held_list held = {0};
    crash_point("next_built");
    if (!handover_send(a->fd, &m, HANDOVER_READY, NULL, 0)) {
        return fail("the server that runs has ended or hung up");
    }
    bool taken = take(a, net, &held);
    if (taken) {
        crash_point("next_decided");
        cache_own(net->server->cache);
        crash_point("next_owns");
        succession_serve(&a->succession);
        crash_point("next_serves");
        handover_send(a->fd, &m, HANDOVER_SERVES, NULL, 0); /* or it has ended */
        go_on(net, &held);
    }
    free(held.each);
    return taken;
}
