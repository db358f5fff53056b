/* The insides of struct net, for net.c, accept.c and takeover_old.c. */
#ifndef SLATE_NET_NET_INTERNAL_H
#define SLATE_NET_NET_INTERNAL_H
#include <event2/event_struct.h>

#include "net/listen/listen.h"
#include "net/net_config.h"
#include "net/worker.h"

struct net {
    struct server     *server;
    struct net_config  config;
    struct tls_config  tls_config; /* config.tls points here */
    struct tls        *tls; /* NULL: no TLS */
    struct bind_address *bind_addresses; /* found, and not opened yet */
    struct listener   *listeners;
    struct startup_responder *startup_responder; /* NULL: none runs */
    struct event      *accept_events; /* one a listener */
    unsigned           listener_count;
    struct event_base *base;
    struct event       wake_event, retry_timer, tick_timer;
    int                wake_fd;
    bool               stopped, disabled; /* disabled: not accepting for now */
    /* when accepting was disabled, and with how many connections */
    uint64_t           disabled_at_us, counted_until_us, disabled_conns;
    struct udp_socket *udp;
    struct takeover_old *takeover; /* NULL: no takeover is possible */
    const struct listener *handover_extra; /* handed over, too; borrowed */
    bool               handed_over; /* sockets and items belong to another process now */
    char              *socket_path; /* to be removed; NULL: none */
    unsigned           next_worker, worker_count; /* worker_count: initialised */
    struct worker      workers[];
};

/* True: the paths of sockets belong to this process. They belong to another process before a
 * takeover by this process is done, and after this process has handed over. */
static inline bool net_has_paths(const struct net *net) {
    return !net->handed_over && !net->config.takes_over;
}

static inline void net_add(_Atomic uint64_t *n, uint64_t by) {
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* --- accept.c --- */
void net_on_accept(evutil_socket_t, short what, void *net);
void net_on_retry(evutil_socket_t, short what, void *net);
/* Takes a client that connected while the server was starting. */
void net_accept_early_client(void *net, const struct listener *, int fd);
/* Returns the rights of a listener's clients. */
struct session_access net_access_of(const struct net *, bool is_local, enum role listener_role,
                                    enum listen_protocol);
enum listen_tls net_tls_mode(const struct net *, const struct listener *);
#endif
