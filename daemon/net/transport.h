/* How a connection's bytes come and go: as they are (transport_tcp.c), or by TLS (transport_tls.c).
 * What is below is called by the connection's worker. */
#ifndef SLATE_NET_TRANSPORT_H
#define SLATE_NET_TRANSPORT_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct conn;

struct transport {
    /* As recv and readv of a socket that does not block; one that leaves bytes for which no event
     * will come sets conn.at_hand. */
    ssize_t (*recv)(struct conn *, void *to, size_t n);
    ssize_t (*readv)(struct conn *, const struct iovec *, int pieces);
    /* As sendmsg: less than what is offered was taken only if the socket takes no more. `more`:
     * others follow at once. What was refused is offered again with the same bytes in front. */
    ssize_t (*sendv)(struct conn *, struct iovec *, int pieces, bool more);
    /* Bytes that were refused, but must be offered again, because they are encrypted already. */
    size_t (*begun)(const struct conn *);
    /* Bytes that have come and were not received; a guess where they are still encrypted. */
    size_t (*unread)(const struct conn *);
    /* A socket for whoever writes to the client from another thread; -1 and errno. It stays the
     * connection's. */
    int (*watch_fd)(struct conn *);
    void (*finish)(struct conn *); /* tells the client that nothing more will come */
    void (*close)(struct conn *); /* before the socket is */
};

extern const struct transport transport_plain;
#endif
