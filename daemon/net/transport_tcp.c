/* Bytes that go over the socket as they are. */
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "net/conn.h"
#include "net/transport.h"

static ssize_t plain_recv(struct conn *c, void *to, size_t n) {
    return recv(c->record.fd, to, n, 0);
}

static ssize_t plain_readv(struct conn *c, const struct iovec *iov, int pieces) {
    return readv(c->record.fd, iov, pieces);
}

static ssize_t plain_sendv(struct conn *c, struct iovec *iov, int pieces, bool more) {
    struct msghdr message = {.msg_iov = iov, .msg_iovlen = (size_t)pieces};
    int flags = MSG_NOSIGNAL | (more ? MSG_MORE : 0);
    return pieces == 1 ? send(c->record.fd, iov[0].iov_base, iov[0].iov_len, flags)
                       : sendmsg(c->record.fd, &message, flags);
}

static size_t plain_begun(const struct conn *c) {
    (void)c;
    return 0;
}

static size_t plain_unread(const struct conn *c) {
    int bytes = 0;
    return ioctl(c->record.fd, FIONREAD, &bytes) == 0 && bytes > 0 ? (size_t)bytes : 0;
}

static int plain_watch_fd(struct conn *c) { return c->record.fd; }

static void plain_finish(struct conn *c) { shutdown(c->record.fd, SHUT_WR); }

static void plain_close(struct conn *c) { (void)c; }

const struct transport transport_plain = {
    plain_recv,   plain_readv,    plain_sendv,  plain_begun,
    plain_unread, plain_watch_fd, plain_finish, plain_close,
};
