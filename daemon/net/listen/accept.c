/* Accepts connections, as long as there may be more. */
#include <errno.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "net/listen/address.h"
#include "net/net_internal.h"

enum {
    ACCEPTS_AT_ONCE = 64, /* connections of one listener, before the others have their turn */
    RETRY_ACCEPT_US = 10 * 1000, /* how often to look whether a connection has gone */
    /* after so long it accepts again in any case: what ran out may be held by another program */
    RETRY_ANYWAY_US = 1000 * 1000,
};

static uint64_t conns_now(const struct net *net) {
    return atomic_load_explicit(&net->server->conns.current, memory_order_relaxed);
}

static bool at_limit(const struct net *net) {
    return conns_now(net) >= atomic_load_explicit(&net->server->conns.most, memory_order_relaxed);
}

static void accept_disable(struct net *net) {
    static const struct timeval retry = {.tv_usec = RETRY_ACCEPT_US};
    /* without the timer nothing would start accepting again */
    if (net->disabled || event_add(&net->retry_timer, &retry) != 0) {
        return;
    }
    net->disabled = true;
    net->disabled_at_us = net->counted_until_us = clock_mono_us();
    net->disabled_conns = conns_now(net);
    atomic_store_explicit(&net->server->conns.accepting, false, memory_order_relaxed);
    net_add(&net->server->conns.listen_disabled_num, 1);
    for (unsigned i = 0; i < net->listener_count; i++) {
        event_del(&net->accept_events[i]);
    }
}

/* While a listener cannot be listened to again, the timer runs on. */
static void accept_enable(struct net *net) {
    for (unsigned i = 0; i < net->listener_count; i++) {
        if (event_add(&net->accept_events[i], NULL) != 0) {
            log_warn("cannot listen again: %s", strerror(errno));
            return;
        }
    }
    net->disabled = false;
    atomic_store_explicit(&net->server->conns.accepting, true, memory_order_relaxed);
    event_del(&net->retry_timer);
}

void net_on_retry(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    (void)fd;
    (void)what;
    /* the time passes while it is added, so that statistics show it before it ends */
    uint64_t now_us = clock_mono_us();
    net_add(&net->server->conns.listen_disabled_us, now_us - net->counted_until_us);
    net->counted_until_us = now_us;
    bool room = conns_now(net) < net->disabled_conns ||
                net->counted_until_us - net->disabled_at_us >= RETRY_ANYWAY_US;
    if (room && !at_limit(net)) {
        accept_enable(net);
    }
}

enum listen_tls net_tls_mode(const struct net *net, const struct listener *l) {
    return net->tls != NULL ? l->tls : LISTEN_TLS_NONE;
}

/* An answer is sent only where the client can read it: one that speaks TLS could not. */
static void reject(struct net *net, int fd, enum listen_tls tls) {
    static const char answer[] = "ERROR Too many open connections\r\n";
    net_add(&net->server->conns.rejected, 1);
    if (tls == LISTEN_TLS_NONE &&
        send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        log_debug("cannot tell a client that there are too many connections: %s", strerror(errno));
    }
    close(fd);
}

/* The role of a client: clients of other machines may store; what concerns the server is for
 * clients of its own machine, unless the listener says otherwise. */
struct session_access net_access_of(const struct net *net, bool is_local, enum role given,
                                    enum listen_protocol protocol) {
    enum role usual = is_local ? ROLE_ADMIN : ROLE_WRITE;
    return (struct session_access){
        .role = given != ROLE_NONE ? given : usual,
        .most = given != ROLE_NONE ? given : ROLE_ADMIN,
        .must_log_in = server_wants_login(net->server),
        .protocol = protocol,
    };
}

/* Gives a client to the next worker, or turns it away at the limit. */
static void dispatch(struct net *net, const struct listener *l, int fd,
                     const struct sockaddr *peer) {
    if (at_limit(net)) {
        reject(net, fd, net_tls_mode(net, l));
        return;
    }
    struct conn *c = calloc(1, sizeof *c);
    if (c == NULL) {
        log_warn("out of memory for a connection");
        close(fd);
        return;
    }
    c->record.fd = fd;
    c->tls_mode = (uint8_t)net_tls_mode(net, l);
    c->access = net_access_of(net, l->is_local, l->role, l->protocol);
    address_show(peer, l->record.addr + strlen("unix:"), c->record.addr, sizeof c->record.addr);
    memcpy(c->record.listen_addr, l->record.addr, sizeof c->record.listen_addr);
    atomic_store_explicit(&c->record.state, "conn_new_cmd", memory_order_relaxed);
    atomic_store_explicit(&c->record.last_cmd_s, clock_now_s(), memory_order_relaxed);
    net_add(&net->server->conns.current, 1);
    net_add(&net->server->conns.total, 1);
    net_add(&net->server->conns.structures, 1);
    conn_registry_add(&net->server->registry, &c->record);
    worker_adopt(&net->workers[net->next_worker], c);
    net->next_worker = (net->next_worker + 1) % net->worker_count;
}

void net_take_guest(void *arg, const struct listener *l, int fd) {
    struct net *net = arg;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t peer_bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0) {
        close(fd); /* the client has gone already */
    } else {
        dispatch(net, l, fd, (struct sockaddr *)&peer);
    }
}

/* Accepts one connection. False: there is none, or no more may come for now. */
static bool accept_one(struct net *net, const struct listener *l) {
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t peer_bytes = sizeof peer;
    bool fast = atomic_load_explicit(&net->server->conns.most_fast, memory_order_relaxed);
    if (!fast && at_limit(net)) {
        accept_disable(net);
        return false;
    }
    int fd =
        accept4(l->record.fd, (struct sockaddr *)&peer, &peer_bytes, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            log_warn("too many open connections: %s", strerror(errno));
            accept_disable(net);
        } else if (errno == EINTR || errno == ECONNABORTED) {
            return true;
        } else if (errno != EAGAIN && errno != EWOULDBLOCK) {
            log_warn("cannot accept a connection: %s", strerror(errno));
        }
        return false;
    }
    dispatch(net, l, fd, (struct sockaddr *)&peer);
    return true;
}

void net_on_accept(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    (void)what;
    for (const struct listener *l = net->listeners; l != NULL; l = l->next) {
        if (l->record.fd == fd) {
            /* with listeners off at the limit, the next event tells whether anybody waits */
            bool more = true;
            for (int i = 0; more && i < ACCEPTS_AT_ONCE && (i == 0 || !at_limit(net)); i++) {
                more = accept_one(net, l);
            }
            return;
        }
    }
}
