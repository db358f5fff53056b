/* The side that serves: finds the next process, hands everything over, or goes on. All of it is the
 * main thread's. Until the next process says that it is built, nobody notices anything; then this
 * thread has all others rest, and does the remainder in one go, with a bound for each wait. */
#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/crash.h"
#include "base/image.h"
#include "base/log.h"
#include "net/handover.h"
#include "net/heir.h"
#include "net/state.h"
#include "serve/process.h"

enum {
    CONNECT_US = 10 * 1000 * 1000, /* a process that was started has so long to ask, or to end */
    BUILD_S = 30,                 /* so long it has until it is built */
    LISTEN_AGAIN_S = 1,           /* after a want of descriptors */
    TUNER_US = 2000 * 1000,       /* so long the tuner has to come to rest */
    WORKERS_US = 1000 * 1000,     /* so long the workers have; clients wait meanwhile */
    TRY_US = 10 * 1000,           /* between two looks whether all connections can go */
    TRIES_MOST = 100,             /* then connections that cannot go are left behind */
};

struct leaving {
    struct net  *net;
    int          listen_fd;
    struct heir  heir; /* the next process, once it asks */
    pid_t        child; /* that was started; 0: none */
    uint64_t     child_since_us; /* since when it has not asked */
    unsigned     tries;
    bool         tuner_rests, companion_rests;
    struct event listen_event, listen_timer, peer_event, try_timer;
    struct image image;
};

/* --- the one who asks --- */

static void companion_go_on(struct leaving *v) {
    const struct net_companion *with = &v->net->companion;
    if (v->companion_rests) {
        v->companion_rests = false;
        with->go_on(with->arg);
    }
}

static void forget_peer(struct leaving *v) {
    if (v->tuner_rests && !v->net->left) {
        /* if this process has left, there is nothing to tend any more */
        tuner_go_on(v->net->server->tuner);
        v->tuner_rests = false;
    }
    if (!v->net->left) {
        companion_go_on(v);
    }
    if (v->heir.fd >= 0) {
        event_del(&v->peer_event);
        event_del(&v->try_timer);
        heir_forget(&v->heir, v->net->left);
    }
    v->child_since_us = clock_mono_us();
    image_close(&v->image);
}

/* Goes on serving. */
static void refuse(struct leaving *v, const char *why) {
    log_warn("process %d does not take over: %s; this one goes on", v->heir.pid, why);
    handover_refuse(v->heir.fd, why);
    forget_peer(v);
}

static unsigned count_sockets(const struct net *net) {
    unsigned n = 0;
    for (const struct listener *l = net->listeners; l != NULL; l = l->next) {
        n++;
    }
    for (const struct udp_socket *u = net->udp; u != NULL; u = u->next) {
        n++;
    }
    return n + net->companion.fd_count;
}

static bool send_fds(int to, enum handover_kind kind, const int *fds, unsigned count) {
    bool sent = true;
    for (unsigned at = 0; at < count && sent; at += HANDOVER_FDS_MOST) {
        struct handover_message m = {.kind = 0};
        unsigned n = count - at < HANDOVER_FDS_MOST ? count - at : HANDOVER_FDS_MOST;
        sent = handover_send(to, &m, kind, fds + at, n);
    }
    return sent;
}

static bool send_sockets(const struct leaving *v) {
    const struct net *net = v->net;
    unsigned count = count_sockets(net), n = 0;
    int *fds = calloc(count + 1, sizeof *fds);
    if (fds == NULL) {
        return false;
    }
    for (const struct listener *l = net->listeners; l != NULL; l = l->next) {
        fds[n++] = l->record.fd;
    }
    for (const struct udp_socket *u = net->udp; u != NULL; u = u->next) {
        fds[n++] = u->record.fd;
    }
    for (unsigned i = 0; i < net->companion.fd_count; i++) {
        fds[n++] = net->companion.fds[i];
    }
    bool sent = send_fds(v->heir.fd, HANDOVER_SOCKETS, fds, n);
    free(fds);
    return sent;
}

static void offer(struct leaving *v, const struct handover_message *hello) {
    struct cache *cache = v->net->server->cache;
    struct handover_message m = {.partitions = cache_partitions(cache),
                                 .socket_count = count_sockets(v->net)};
    size_t index_bytes;
    if (hello->layout != cargo_layout()) {
        refuse(v, "it lays out what is handed over otherwise than the server that runs; stop that "
                  "one and start the next, which with -e has the items");
        return;
    }
    if (!image_make(&v->image, cache_image_bytes(cache, &index_bytes)) ||
        !succession_make(&v->heir.succession)) {
        refuse(v, "there is no memory or no descriptor for the hand-over");
        return;
    }
    const int fds[HANDOVER_OFFER_FDS] = {cache_file(cache), v->listen_fd, v->heir.succession.fd};
    m.index_bytes = index_bytes;
    key_hash_secret(m.secret);
    crash_point("offer_made");
    if (!handover_send(v->heir.fd, &m, HANDOVER_OFFER, fds, HANDOVER_OFFER_FDS) ||
        !send_sockets(v)) {
        refuse(v, strerror(errno));
    }
    crash_point("offered");
}

/* --- all others rest --- */

static void go_on(struct net *net) {
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_go_on(&net->workers[i]);
    }
}

static bool rest(struct net *net) {
    bool all = true;
    for (unsigned i = 0; i < net->worker_count; i++) {
        worker_rest(&net->workers[i]);
    }
    for (unsigned i = 0; i < net->worker_count && all; i++) {
        all = worker_await_rest(&net->workers[i], WORKERS_US);
    }
    if (!all) {
        go_on(net);
    }
    return all;
}

static bool send_state(struct leaving *v) {
    struct net *net = v->net;
    struct handover_message m = {.conn_count = cargo_count(net)};
    int *fds = calloc(m.conn_count + 1, sizeof *fds);
    bool sent = fds != NULL && cache_image_put(&v->image, net->server->cache);
    crash_point("image_made");
    if (sent) {
        cargo_put(&v->image, net, fds);
        cargo_put_held(&v->image, net);
        sent = image_finish(&v->image) &&
               handover_send(v->heir.fd, &m, HANDOVER_STATE, &v->image.fd, 1);
    }
    crash_point("state_told");
    sent = sent && send_fds(v->heir.fd, HANDOVER_CONNS, fds, m.conn_count);
    crash_point("state_sent");
    free(fds);
    return sent;
}

static void leave(struct leaving *v, uint64_t rested_us) {
    struct net *net = v->net;
    net->left = true;
    crash_point("left");
    if (!cache_leave(net->server->cache)) {
        _exit(0); /* nothing of the cache may be touched from here on */
    }
    log_info("process %d has taken over; clients waited %.1f ms", v->heir.pid,
             (double)(clock_mono_us() - rested_us) / 1000);
    atomic_store_explicit(&net->server->stop, SERVER_STOP, memory_order_release);
    event_base_loopbreak(net->base);
}

/* Has all other threads rest. */
static void hand_over(struct leaving *v, uint64_t rested_us) {
    struct cache *cache = v->net->server->cache;
    char why[HANDOVER_TEXT_BYTES];
    if (!send_state(v)) {
        snprintf(why, sizeof why, "a page is on its way, or there is no memory");
    } else {
        heir_await_answer(&v->heir, why);
    }
    crash_point("next_heard");
    if (!succession_take(&v->heir.succession, SUCCESSION_FIRST)) {
        if (heir_comes_to_serve(&v->heir)) {
            leave(v, rested_us);
            return;
        }
        cache_take_up_again(cache);
    }
    go_on(v->net); /* first, because refusing may last until the other is told */
    refuse(v, why);
}

/* Looks again soon while some connection is amid a value, amid a reply that its client does not
 * take, or waits for another thread's answer. */
static void try_now(struct leaving *v) {
    static const struct timeval soon = {.tv_usec = TRY_US};
    uint64_t rested_us = clock_mono_us();
    if (!rest(v->net)) {
        refuse(v, "a worker does not come to rest");
        return;
    }
    if (cargo_busy(v->net) > 0 && v->tries++ < TRIES_MOST) {
        go_on(v->net);
        event_add(&v->try_timer, &soon);
        return;
    }
    hand_over(v, rested_us);
}

static void on_try(evutil_socket_t fd, short what, void *arg) {
    (void)fd;
    (void)what;
    try_now(arg);
}

static void on_ready(struct leaving *v) {
    const struct net_companion *with = &v->net->companion;
    crash_point("next_ready");
    if (with->rest != NULL) { /* before the tuner, for which its answers may wait */
        with->rest(with->arg);
        v->companion_rests = true;
    }
    if (!tuner_rest(v->net->server->tuner, TUNER_US)) {
        refuse(v, "the tuner does not come to rest");
        return;
    }
    v->tuner_rests = true;
    v->tries = 0;
    try_now(v);
}

/* --- events --- */

static void on_peer(evutil_socket_t fd, short what, void *arg) {
    struct leaving *v = arg;
    struct handover_message m;
    int fds[HANDOVER_FDS_MOST];
    if (what & EV_TIMEOUT) {
        refuse(v, "it is not built in time");
        return;
    }
    int got = handover_receive(fd, &m, fds);
    for (unsigned i = 0; got == 1 && i < m.fd_count; i++) {
        close(fds[i]); /* nobody asked for them */
    }
    if (got == 1 && m.kind == HANDOVER_HELLO && v->image.fd < 0) {
        offer(v, &m);
    } else if (got == 1 && m.kind == HANDOVER_READY && v->image.fd >= 0 && !v->tuner_rests) {
        on_ready(v);
    } else {
        refuse(v, got == 1 && m.kind == HANDOVER_REFUSED ? m.text
                  : got == 0                             ? "it has ended"
                  : got < 0 && errno == EPROTO           ? HANDOVER_OTHER_VERSION
                                                         : "it says nothing that is understood");
    }
}

/* Stops listening for a while: without a descriptor the event of a waiting process would come again
 * and again. */
static void listen_later(struct leaving *v) {
    static const struct timeval later = {.tv_sec = LISTEN_AGAIN_S};
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
        log_warn("a process that would take over waits: %s", strerror(errno));
        event_del(&v->listen_event);
        event_add(&v->listen_timer, &later);
    }
}

static void on_listen_again(evutil_socket_t fd, short what, void *arg) {
    struct leaving *v = arg;
    (void)fd;
    (void)what;
    event_add(&v->listen_event, NULL);
}

static void on_next(evutil_socket_t fd, short what, void *arg) {
    static const struct timeval most = {.tv_sec = BUILD_S};
    struct leaving *v = arg;
    struct heir heir;
    int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
    (void)what;
    if (peer < 0) {
        listen_later(v);
        return;
    }
    bool ours = heir_meet(&heir, peer, v->net->server);
    if (!ours || v->heir.fd >= 0) {
        handover_refuse(peer, ours ? "another process is taking over" : "it is another user's");
        heir_forget(&heir, false);
        return;
    }
    v->heir = heir;
    event_assign(&v->peer_event, v->net->base, peer, EV_READ | EV_PERSIST, on_peer, v);
    event_add(&v->peer_event, &most);
}

bool leaving_begin(struct net *net) {
    const struct net_config *cfg = &net->config;
    struct leaving *v = calloc(1, sizeof *v);
    if (v == NULL) {
        return false;
    }
    v->net = net;
    v->heir.fd = -1;
    v->image.fd = -1;
    v->listen_fd = cfg->handover_fd >= 0 ? cfg->handover_fd : handover_listen(cfg->handover_path);
    net->leaving = v;
    if (v->listen_fd < 0) {
        log_error("cannot listen for a takeover on %s: %s", cfg->handover_path, strerror(errno));
        return false;
    }
    event_assign(&v->listen_event, net->base, v->listen_fd, EV_READ | EV_PERSIST, on_next, v);
    event_assign(&v->listen_timer, net->base, -1, 0, on_listen_again, v);
    event_assign(&v->try_timer, net->base, -1, 0, on_try, v);
    return event_add(&v->listen_event, NULL) == 0;
}

void leaving_end(struct leaving **taken) {
    struct leaving *v = *taken;
    *taken = NULL;
    if (v == NULL) {
        return;
    }
    forget_peer(v);
    if (v->listen_fd >= 0) {
        if (event_initialized(&v->listen_event)) {
            event_del(&v->listen_event);
            event_del(&v->listen_timer);
        }
        close(v->listen_fd);
        if (!v->net->left && !v->net->config.rests) {
            unlink(v->net->config.handover_path);
        }
    }
    free(v);
}

bool net_left(const struct net *net, int *pid) {
    *pid = net->left && net->leaving != NULL ? net->leaving->heir.pid : 0;
    return net->left;
}

void leaving_start_next(struct net *net) {
    struct leaving *v = net->leaving;
    if (!atomic_exchange_explicit(&net->server->takeover, false, memory_order_acquire)) {
        return;
    }
    if (v == NULL) {
        log_warn("no other process can take over: that needs -o takeover_socket");
    } else if (v->child != 0 || v->heir.fd >= 0) {
        log_warn("another process is taking over");
    } else {
        v->child = process_start_next();
        v->child_since_us = clock_mono_us();
    }
}

void leaving_look(struct leaving *v) {
    int status;
    if (v == NULL || v->child == 0) {
        return;
    }
    if (waitpid(v->child, &status, WNOHANG) != 0) {
        v->child = 0;
    } else if (v->heir.fd < 0 && clock_mono_us() - v->child_since_us > CONNECT_US) {
        log_warn("process %d, started to take over, has neither asked for it nor ended in %d s: it "
                 "is killed",
                 (int)v->child, CONNECT_US / 1000000);
        kill(v->child, SIGKILL); /* the next look sees its end */
        v->child_since_us = clock_mono_us();
    }
}
