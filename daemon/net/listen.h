/* Listening sockets: bound, listening, non-blocking, close-on-exec. */
#ifndef SLATE_NET_LISTEN_H
#define SLATE_NET_LISTEN_H
#include <stdbool.h>

#include "serve/config/listen_list.h"
#include "serve/server.h"

struct addrinfo;
struct udp_socket;

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

/* One listener an address that `host` (empty: every interface) resolves to, put in front of *list.
 * port -1: any free one. `as`: what they are to speak, and the role. `local_only`: an address
 * that other machines reach is refused. Returns 0, or -1 with errno after one log line; what was
 * already opened stays in the list. An address of a kind that this system has not is passed over as
 * long as another one works. */
int listen_tcp(const char *host, int port, int backlog, const struct listen_entry *as,
               bool local_only, struct listener **list);

/* A UNIX socket with these permissions. A socket that nobody listens on any more is replaced; any
 * other file, and a socket in use, is left alone: EADDRINUSE. */
int listen_unix(const char *path, unsigned mode, int backlog, struct listener **list);

/* Whether only this machine reaches all of these addresses; false after a log line that names one
 * it does not. */
bool listen_is_local(const struct addrinfo *);

/* Writes a line "TCP INET: port" for each listener, TCP or UDP, INET or INET6; the file appears
 * complete or not at all. Of the sockets that the workers share an address with, one line. */
int listen_write_ports(const struct listener *list, const struct udp_socket *udp,
                       const char *path);
#endif
