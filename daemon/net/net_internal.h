/* The insides of struct net, for net.c, accept.c, takeover_old.c and takeover_new.c. */
#ifndef SLATE_NET_NET_INTERNAL_H
#define SLATE_NET_NET_INTERNAL_H
#include <event2/event_struct.h>

#include "net/listen/bind_addresses.h"
#include "net/listen/listen.h"
#include "net/net.h"
#include "net/udp/udp.h"
#include "net/worker.h"

struct net {
    struct server    *server;
    struct net_config config;
    struct tls_config tls_config; /* which `config` points to */
    struct tls       *tls; /* NULL: nobody speaks it */
    struct place     *places; /* found, and not opened yet */
    struct listener  *listeners;
    struct starting  *starting; /* NULL: nobody is told that we are */
    struct event     *accept_events; /* one a listener */
    unsigned          listener_count;
    struct event_base *base;
    struct event      wake_event, retry_timer, look_timer;
    int               wake_fd;
    bool              stopped, disabled; /* disabled: not accepting for now */
    /* when, and with how many connections */
    uint64_t          disabled_at_us, counted_until_us, disabled_conns;
    struct udp_socket *udp;
    struct leaving   *leaving; /* how it is handed over; NULL: it cannot be */
    const struct listener *also; /* go over, too; borrowed */
    bool              left; /* to another process, whose sockets and items they are now */
    char             *socket_path; /* to be removed; NULL: none */
    unsigned          next_worker, worker_count; /* worker_count: initialised */
    struct worker     workers[];
};

/* Whether the paths of sockets are this process's. They are another's before this one has arrived
 * and after it has left. */
static inline bool net_has_paths(const struct net *net) {
    return !net->left && !net->config.takes_over;
}

static inline void net_add(_Atomic uint64_t *n, uint64_t by) {
    atomic_fetch_add_explicit(n, by, memory_order_relaxed);
}

/* --- accept.c --- */
void net_on_accept(evutil_socket_t, short what, void *net);
void net_on_retry(evutil_socket_t, short what, void *net);
/* Takes a client that came to a listener while the server was starting. */
void net_take_guest(void *net, const struct listener *, int fd);
/* What a client of a listener may do. */
struct session_access net_access_of(const struct net *, bool is_local, enum role given,
                                    enum listen_protocol);
enum listen_tls net_tls_mode(const struct net *, const struct listener *);

/* --- takeover_old.c --- */
struct leaving;
/* Listens for the next process. False and errno: it cannot, after one line in the log. */
bool leaving_begin(struct net *);
void leaving_end(struct leaving **);
/* Starts the next process, if that was asked for. */
void leaving_start_next(struct net *);
/* once in a while: whether a process that was started has ended */
void leaving_look(struct leaving *);
#endif
