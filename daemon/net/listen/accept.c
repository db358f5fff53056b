/* Accepts connections, up to the limit of connections. */
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
    ACCEPTS_AT_ONCE = 64, /* connections of one listener before the next listener's turn */
    RETRY_ACCEPT_US = 10 * 1000, /* how often to check whether a connection has gone */
    /* accepting starts again after so long at most: other programs free descriptors, too */
    RETRY_ANYWAY_US = 1000 * 1000,
};

static uint64_t accept_conn_count(const struct net *net) {
    return atomic_load_explicit(&net->server->conns.current, memory_order_relaxed);
}

static bool accept_is_at_limit(const struct net *net) {
    return accept_conn_count(net) >=
           atomic_load_explicit(&net->server->conns.maxconns, memory_order_relaxed);
}

static void accept_disable(struct net *net) {
    static const struct timeval retry = {.tv_usec = RETRY_ACCEPT_US};
    /* without the timer nothing would start accepting again */
    if (net->disabled || event_add(&net->retry_timer, &retry) != 0) {
        return;
    }
    net->disabled = true;
    net->disabled_at_us = net->counted_until_us = clock_mono_us();
    net->disabled_conns = accept_conn_count(net);
    atomic_store_explicit(&net->server->conns.accepting, false, memory_order_relaxed);
    net_add(&net->server->conns.listen_disabled_num, 1);
    for (unsigned i = 0; i < net->listener_count; i++) {
        event_del(&net->accept_events[i]);
    }
}

/* The timer runs until every listener is listened to again. */
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
    /* counted at each retry, so that statistics show the time while it still goes on */
    uint64_t now_us = clock_mono_us();
    net_add(&net->server->conns.listen_disabled_us, now_us - net->counted_until_us);
    net->counted_until_us = now_us;
    bool room = accept_conn_count(net) < net->disabled_conns ||
                net->counted_until_us - net->disabled_at_us >= RETRY_ANYWAY_US;
    if (room && !accept_is_at_limit(net)) {
        accept_enable(net);
    }
}

enum listen_tls net_tls_mode(const struct net *net, const struct listener *l) {
    return net->tls != NULL ? l->tls : LISTEN_TLS_NONE;
}

/* Sends the error only to a client that can read it: a client of TLS could not. */
static void accept_reject(struct net *net, int fd, enum listen_tls tls) {
    static const char text[] = "ERROR Too many open connections\r\n";
    net_add(&net->server->conns.rejected, 1);
    if (tls == LISTEN_TLS_NONE &&
        send(fd, text, sizeof text - 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        log_debug("cannot reply \"too many connections\" to a client: %s", strerror(errno));
    }
    close(fd);
}

/* Clients of other machines may store. Only clients of this machine may change the server, unless
 * the listener has a role. */
struct session_access net_access_of(const struct net *net, bool is_local, enum role listener_role,
                                    enum listen_protocol protocol) {
    enum role usual = is_local ? ROLE_ADMIN : ROLE_WRITE;
    return (struct session_access){
        .role = listener_role != ROLE_NONE ? listener_role : usual,
        .most = listener_role != ROLE_NONE ? listener_role : ROLE_ADMIN,
        .must_log_in = server_wants_login(net->server),
        .protocol = protocol,
    };
}

/* Gives a client to the next worker, or rejects the client at the limit. */
static void accept_dispatch(struct net *net, const struct listener *l, int fd,
                            const struct sockaddr *peer) {
    if (accept_is_at_limit(net)) {
        accept_reject(net, fd, net_tls_mode(net, l));
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

void net_accept_early_client(void *arg, const struct listener *l, int fd) {
    struct net *net = arg;
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t peer_bytes = sizeof peer;
    if (getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) != 0) {
        close(fd); /* the client has gone already */
    } else {
        accept_dispatch(net, l, fd, (struct sockaddr *)&peer);
    }
}

/* Accepts one connection. False: no connection waits, or no more are accepted for now. */
static bool accept_one(struct net *net, const struct listener *l) {
    struct sockaddr_storage peer = {.ss_family = AF_UNIX};
    socklen_t peer_bytes = sizeof peer;
    bool fast = atomic_load_explicit(&net->server->conns.maxconns_fast, memory_order_relaxed);
    if (!fast && accept_is_at_limit(net)) {
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
    accept_dispatch(net, l, fd, (struct sockaddr *)&peer);
    return true;
}

void net_on_accept(evutil_socket_t fd, short what, void *arg) {
    struct net *net = arg;
    (void)what;
    for (const struct listener *l = net->listeners; l != NULL; l = l->next) {
        if (l->record.fd == fd) {
            /* at the limit, the next event of the listener turns the listeners off */
            bool more = true;
            for (int i = 0; more && i < ACCEPTS_AT_ONCE && (i == 0 || !accept_is_at_limit(net));
                 i++) {
                more = accept_one(net, l);
            }
            return;
        }
    }
}
