/* How a connection's bytes are received and sent: unencrypted (transport_tcp.c, also for UNIX
 * sockets), or by TLS (transport_tls.c). Threading: the connection's worker. */
#ifndef SLATE_NET_TRANSPORT_H
#define SLATE_NET_TRANSPORT_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

struct conn;

struct transport {
    /* As recv and readv of a non-blocking socket. If bytes remain for which no event will come,
     * conn.tls_buffered is set. */
    ssize_t (*recv)(struct conn *, void *to, size_t n);
    ssize_t (*readv)(struct conn *, const struct iovec *, int pieces);
    /* As sendmsg. A partial send means that the socket takes no more for now. `more`: further bytes
     * follow at once. Refused bytes are offered again, with the same bytes in front. */
    ssize_t (*sendv)(struct conn *, struct iovec *, int pieces, bool more);
    /* Refused bytes that must be offered again, because they are encrypted already. */
    size_t (*begun)(const struct conn *);
    /* Bytes that have come and were not received; an estimate if they are still encrypted. */
    size_t (*unread)(const struct conn *);
    /* A socket by which another thread may write to the client; -1 and errno. The connection still
     * owns the socket. */
    int (*watch_fd)(struct conn *);
    void (*finish)(struct conn *); /* tells the client that no more bytes will come */
    void (*close)(struct conn *); /* before the socket is closed */
};

extern const struct transport transport_tcp;
#endif
