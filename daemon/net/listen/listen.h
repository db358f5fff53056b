/* Listening sockets: bound, listening, non-blocking, close-on-exec. */
#ifndef SLATE_NET_LISTEN_LISTEN_H
#define SLATE_NET_LISTEN_LISTEN_H
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "server/config/listen_list.h"
#include "server/server.h"

struct addrinfo;
struct handover_fds;

struct listener {
    struct conn_record record; /* fd, and the address in addr */
    struct listener   *next;
    int                port; /* bound port; 0: a UNIX socket */
    bool               is_v6;
    bool               is_local; /* only this machine reaches the listener */
    enum listen_tls    tls;
    enum listen_protocol protocol;
    enum role          role; /* of the option; ROLE_NONE: the option has none */
};

/* Where to listen. */
struct listen_place {
    const char *host; /* stands for all of its addresses; empty: every interface */
    int  port;        /* -1: any free port */
    int  socket_type; /* SOCK_STREAM, SOCK_DGRAM */
    bool local_only;  /* refuse addresses that other machines reach */
    struct handover_fds *inherited; /* sockets to take before opening new ones; NULL: none */
};

/* Returns the addresses of the place, for freeaddrinfo. NULL and errno, after a log line: there is
 * no address, or one is refused. */
struct addrinfo *listen_resolve(const struct listen_place *);
/* True if this bind error means that every other address will fail, too. A machine without IPv6
 * still resolves names to IPv6 addresses. */
static inline bool listen_error_is_fatal(int error) {
    return error != EADDRNOTAVAIL && error != EAFNOSUPPORT && error != EINVAL;
}
/* True: a socket of this type can be bound to the address. False and errno. */
bool listen_may_bind(int type, const struct sockaddr *, socklen_t);
/* Logs that listening at the place failed. */
void listen_log_error(const struct listen_place *, int error);
/* Turns the outcome of opening a place's sockets into a result. `why`: the last error, or
 * EADDRNOTAVAIL. Returns 0, or -1 with errno after a log line: no socket was opened, or the error
 * is fatal. */
int listen_result(const struct listen_place *, unsigned opened, int why);

/* Appends a listener for each of the addresses to the list. `as`: protocol, TLS and role. Returns
 * 0, or -1 with errno after one log line; listeners opened before stay in the list. */
int listen_tcp(const struct listen_place *, const struct addrinfo *, int backlog,
               const struct listen_entry *as, struct listener **list);

/* Opens a UNIX socket with these permissions. bind_path_is_usable (net/listen/bind_addresses.h) has
 * accepted the path. A socket file without a server is replaced. Any other file, and a socket in
 * use, is left alone: EADDRINUSE. */
int listen_unix(const char *path, unsigned mode, int backlog, struct handover_fds *,
                struct listener **list);
#endif
