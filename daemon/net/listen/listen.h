/* Listening sockets: bound, listening, non-blocking, close-on-exec. */
#ifndef SLATE_NET_LISTEN_LISTEN_H
#define SLATE_NET_LISTEN_LISTEN_H
#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "server/config/listen_list.h"
#include "server/server.h"

struct addrinfo;
struct handed;

struct listener {
    struct conn_record record; /* fd, and the address in addr */
    struct listener   *next;
    int                port; /* bound to; 0: it has none */
    bool               is_v6;
    bool               is_local; /* only this machine reaches it */
    enum listen_tls    tls;
    enum listen_protocol protocol;
    enum role          role; /* that was given; ROLE_NONE: none */
};

/* Where to listen. */
struct listen_place {
    const char *host; /* all addresses that it resolves to; empty: every interface */
    int  port;        /* -1: any free one */
    int  socket_type; /* SOCK_STREAM, SOCK_DGRAM */
    bool local_only;  /* an address that other machines reach is refused */
    struct handed *handed; /* where one may be taken from rather than opened; NULL: no */
};

/* The addresses of the place, for freeaddrinfo. NULL and errno, after a log line: there is none, or
 * one that is refused. */
struct addrinfo *listen_resolve(const struct listen_place *);
/* Whether an address that could not be had makes any other fail too. A machine without IPv6 still
 * resolves names to it. */
static inline bool listen_fails(int error) {
    return error != EADDRNOTAVAIL && error != EAFNOSUPPORT && error != EINVAL;
}
/* Whether a socket of this type could be bound to the address. False and errno: not. */
bool listen_may_bind(int type, const struct sockaddr *, socklen_t);
/* The log line about a place that could not be had. */
void listen_failed(const struct listen_place *, int error);
/* `why`: the last error, or EADDRNOTAVAIL. Returns 0, or -1 with errno after a log line: none was
 * opened, or one that fails. */
int listen_end(const struct listen_place *, unsigned opened, int why);

/* A listener for each of the addresses, behind the list's others. `as`: what they are to speak, and
 * the role. Returns 0, or -1 with errno after one log line; what was already opened stays in the
 * list. */
int listen_tcp(const struct listen_place *, const struct addrinfo *, int backlog,
               const struct listen_entry *as, struct listener **list);

/* A UNIX socket with these permissions, at a path that places_take_socket
 * (net/listen/bind_addresses.h) found good. A socket that nobody listens on any more is replaced;
 * any other file, and a socket in use, is left alone: EADDRINUSE. */
int listen_unix(const char *path, unsigned mode, int backlog, struct handed *,
                struct listener **list);
#endif
