/* The transport without encryption, of TCP and UNIX sockets. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "net/conn.h"
#include "net/transport.h"

static ssize_t tcp_recv(struct conn *c, void *to, size_t n) {
    return recv(c->record.fd, to, n, 0);
}

static ssize_t tcp_readv(struct conn *c, const struct iovec *iov, int pieces) {
    return readv(c->record.fd, iov, pieces);
}

static ssize_t tcp_sendv(struct conn *c, struct iovec *iov, int pieces, bool more) {
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)pieces};
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    return pieces == 1 ? send(c->record.fd, iov[0].iov_base, iov[0].iov_len, flags)
                       : sendmsg(c->record.fd, &message, flags);
}

static size_t tcp_begun(const struct conn *c) {
    (void)c;
    return 0;
}

static size_t tcp_unread(const struct conn *c) {
    int bytes = 0;
    return ioctl(c->record.fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

static int tcp_watch_fd(struct conn *c) { return c->record.fd; }

static void tcp_finish(struct conn *c) { shutdown(c->record.fd, SHUT_WR); }

static void tcp_close(struct conn *c) { (void)c; }

const struct transport transport_tcp = {
    tcp_recv, tcp_readv, tcp_sendv, tcp_begun, tcp_unread, tcp_watch_fd, tcp_finish, tcp_close,
};
