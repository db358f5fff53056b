#include "net/udp/udp_out.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <string.h>
#include <sys/uio.h>

/* the longest message that the kernel cuts into datagrams; the kernel's own limit is 65,507
 * bytes */
enum { MESSAGE_BYTES = 65000 };

bool udp_out_cuts(int fd) {
    int none = 0;
    return setsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &none, sizeof none) == 0;
}

bool udp_out_full(const struct udp_out *o) { return o->datagrams == UDP_OUT_MOST; }

/* True: a datagram of n bytes may join the last message. */
static bool udp_out_may_join(const struct udp_out *o, const struct sockaddr *to, socklen_t to_bytes,
                             size_t n) {
    if (!o->is_open || n > o->datagram_bytes || o->bytes + n > MESSAGE_BYTES) {
        return false;
    }
    const struct msghdr *m = &o->message[o->messages - 1].msg_hdr;
    return m->msg_namelen == to_bytes && memcmp(m->msg_name, to, to_bytes) == 0;
}

static void udp_out_join(struct udp_out *o, size_t n) {
    struct msghdr *m = &o->message[o->messages - 1].msg_hdr;
    m->msg_iovlen += 2;
    o->bytes += n;
    o->is_open = n == o->datagram_bytes;
    if (m->msg_control == NULL) {
        uint16_t datagram_bytes = (uint16_t)o->datagram_bytes;
        m->msg_control = o->control[o->messages - 1];
        m->msg_controllen = UDP_OUT_CONTROL_BYTES;
        struct cmsghdr *c = CMSG_FIRSTHDR(m);
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof datagram_bytes);
        memcpy(CMSG_DATA(c), &datagram_bytes, sizeof datagram_bytes);
    }
}

unsigned char *udp_out_put(struct udp_out *o, const struct sockaddr *to, socklen_t to_bytes,
                           const char *payload, size_t n, bool cuts) {
    unsigned i = o->datagrams++;
    size_t   bytes = UDP_FRAME_BYTES + n;
    o->iov[i][0] = (struct iovec){o->frame[i], UDP_FRAME_BYTES};
    o->iov[i][1] = (struct iovec){(void *)(uintptr_t)payload, n};
    if (udp_out_may_join(o, to, to_bytes, bytes)) {
        udp_out_join(o, bytes);
        return o->frame[i];
    }
    o->message[o->messages++].msg_hdr = (struct msghdr){.msg_name = (void *)(uintptr_t)to,
                                                        .msg_namelen = to_bytes,
                                                        .msg_iov = o->iov[i],
                                                        .msg_iovlen = 2};
    o->datagram_bytes = o->bytes = bytes;
    o->is_open = cuts;
    return o->frame[i];
}

static unsigned udp_out_datagrams_of(const struct mmsghdr *m) {
    return (unsigned)(m->msg_hdr.msg_iovlen / 2);
}

/* Sends a message's datagrams one by one. Returns how many were lost. */
static unsigned udp_out_send_apart(int fd, const struct mmsghdr *m) {
    unsigned lost = 0;
    for (unsigned i = 0; i < udp_out_datagrams_of(m); i++) {
        struct msghdr one = m->msg_hdr;
        one.msg_iov += 2 * (size_t)i;
        one.msg_iovlen = 2;
        one.msg_control = NULL;
        one.msg_controllen = 0;
        lost += sendmsg(fd, &one, MSG_DONTWAIT) < 0;
    }
    return lost;
}

unsigned udp_out_flush(struct udp_out *o, int fd) {
    unsigned lost = 0, done = 0;
    while (done < o->messages) {
        int sent = sendmmsg(fd, o->message + done, o->messages - done, MSG_DONTWAIT);
        if (sent > 0) {
            done += (unsigned)sent;
        } else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
            for (; done < o->messages; done++) {
                lost += udp_out_datagrams_of(&o->message[done]);
            }
        } else {
            bool is_cut = udp_out_datagrams_of(&o->message[done]) > 1;
            lost += is_cut ? udp_out_send_apart(fd, &o->message[done]) : 1;
            done++;
        }
    }
    o->messages = o->datagrams = 0;
    o->is_open = false;
    return lost;
}
