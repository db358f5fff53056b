/* Datagrams on their way out: collected, then sent by one call.
 *
 * A message of that call is one datagram, or several to one address, all as long as its first but
 * the last, which may be shorter. The kernel cuts these apart (UDP_SEGMENT) behind most of its
 * work: the parts of a long reply, or the replies to a client that asks by the batch.
 *
 * Ownership: the payloads and addresses are the caller's and stay until udp_out_flush. Threading:
 * the owner's. Cost: a system call for up to UDP_OUT_MOST datagrams. */
#ifndef SLATE_NET_UDP_UDP_OUT_H
#define SLATE_NET_UDP_UDP_OUT_H
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/udp/udp_frame.h"

enum {
    UDP_OUT_MOST = 64, /* datagrams at once; as many as the kernel cuts a message into */
    UDP_OUT_CONTROL_BYTES = CMSG_SPACE(sizeof(uint16_t)),
};

struct udp_out {
    unsigned       datagrams, messages; /* how many there are, in how many messages */
    size_t         each, bytes; /* of the last message: its first datagram, and all */
    bool           is_open;     /* the last message may have another */
    unsigned char  frame[UDP_OUT_MOST][UDP_FRAME_BYTES];
    struct iovec   iov[UDP_OUT_MOST][2];
    struct mmsghdr message[UDP_OUT_MOST];
    _Alignas(struct cmsghdr) char control[UDP_OUT_MOST][UDP_OUT_CONTROL_BYTES];
};

/* Whether the kernel knows UDP_SEGMENT; one that does not would send a message uncut. */
bool udp_out_cuts(int fd);
bool udp_out_full(const struct udp_out *);
/* Adds a datagram; returns its frame, to be written. Not when it is full. `cuts`: the kernel may
 * be asked to cut it from a message. */
unsigned char *udp_out_put(struct udp_out *, const struct sockaddr *to, socklen_t to_bytes,
                           const char *payload, size_t n, bool cuts);
/* Sends all without waiting, and is empty then. Returns how many datagrams the system did not take:
 * all that are left when the socket is full, and those alone whose address cannot be sent to (port
 * 0, no route). A message that cannot be cut, as on too narrow a path, goes by the datagram. */
unsigned udp_out_flush(struct udp_out *, int fd);
#endif
