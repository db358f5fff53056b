/* Outgoing datagrams: collected, then sent by one call.
 *
 * A message of that call holds one datagram, or several to one address. All datagrams of a message
 * have the same length; the last may be shorter. The kernel cuts a message apart (UDP_SEGMENT)
 * after most of its work is done. So the parts of a long reply cost little, and so do the replies
 * to a client that sends many datagrams at once.
 *
 * Ownership: payloads and addresses belong to the caller, and stay until udp_out_flush. Threading:
 * one owner. Cost: a system call for up to UDP_OUT_MOST datagrams. */
#ifndef SLATE_NET_UDP_UDP_OUT_H
#define SLATE_NET_UDP_UDP_OUT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/udp/udp_frame.h"

enum {
    UDP_OUT_MOST = 64, /* most datagrams; the kernel cuts a message into as many */
    UDP_OUT_CONTROL_BYTES = CMSG_SPACE(sizeof(uint16_t)),
};

struct udp_out {
    unsigned       datagrams, messages; /* how many datagrams, in how many messages */
    size_t         datagram_bytes, bytes; /* of the last message: its first datagram, and all */
    bool           is_open;     /* the last message may get another datagram */
    unsigned char  frame[UDP_OUT_MOST][UDP_FRAME_BYTES];
    struct iovec   iov[UDP_OUT_MOST][2];
    struct mmsghdr message[UDP_OUT_MOST];
    _Alignas(struct cmsghdr) char control[UDP_OUT_MOST][UDP_OUT_CONTROL_BYTES];
};

/* True: the kernel knows UDP_SEGMENT. Other kernels would send a message uncut. */
bool udp_out_cuts(int fd);
bool udp_out_full(const struct udp_out *);
/* Adds a datagram, unless full. Returns its frame, which the caller writes. `cuts`: the kernel can
 * cut the datagram out of a message. */
unsigned char *udp_out_put(struct udp_out *, const struct sockaddr *to, socklen_t to_bytes,
                           const char *payload, size_t n, bool cuts);
/* Sends all datagrams without waiting, and is empty then. Returns how many the system did not take:
 * all remaining ones when the socket is full, else only those with a bad address (port 0, no
 * route). A message that the system cannot cut, as on too narrow a path, is sent datagram by
 * datagram. */
unsigned udp_out_flush(struct udp_out *, int fd);
#endif
