/* UDP: each datagram is a request, or some, with a reply of one datagram or more.
 *
 *     frame (8 bytes: request id, sequence number, count of datagrams, zero), then text or packets
 *
 * The frame is memcached's; numbers are big-endian. A request has to lie whole in one datagram; one
 * of several is dropped, as there. What it leaves unfinished is dropped too: half a value, bytes
 * behind the last line. What waits for another thread, and `watch`, is refused.
 *
 * A worker has a socket of its own for each address (SO_REUSEPORT: the kernel spreads clients over
 * them); it receives up to UDP_BATCH messages a call. One of these may be many datagrams of one
 * client, which the kernel has joined (UDP_GRO). Requests of UDP_BATCH datagrams share a turn, and
 * their replies leave together (net/udp/udp_out.h).
 *
 * The sender's address may be forged, so that a reply hits whoever has it. To an address of another
 * machine a reply is therefore no larger than `factor` times its request, headers of IP and UDP
 * counted with both; a longer one is replaced by a sentence, or by nothing where that is too long.
 * A client who wants long replies pads its request with blanks.
 *
 * Ownership: a socket belongs to its worker. Threading: the worker's, but for udp_listen,
 * udp_attach and udp_close (no worker runs). Cost: two system calls for up to UDP_BATCH requests
 * whose replies are a datagram each. */
#ifndef SLATE_NET_UDP_UDP_H
#define SLATE_NET_UDP_UDP_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "net/listen/listen.h"
#include "server/server.h"
#include "server/session/session.h"

struct worker;

enum {
    UDP_REPLY_BYTES = 4 * 1024 * 1024, /* of a reply, in all its datagrams */
    UDP_BATCH = 32, /* datagrams received at once */
    UDP_RECEIVE_BYTES = 64 * 1024, /* the longest there is */
};

struct udp_socket {
    struct conn_record    record; /* fd, and the address in addr */
    struct udp_socket    *next;
    struct worker        *worker;
    struct session_access access;
    uint32_t              factor; /* 0: without a bound */
    struct event          event;
    bool                  is_v6;
    bool                  is_local; /* only this machine reaches it */
    bool                  cuts; /* udp_out_cuts */
    int                   port;
};

/* A socket for each worker and address, behind the list's others. Errors: as listen_tcp
 * (net/listen/listen.h). */
int udp_listen(const struct listen_place *, const struct addrinfo *, unsigned workers,
               struct udp_socket **list);
/* Has the worker listen to it. False: no memory. */
bool udp_attach(struct udp_socket *, struct worker *);
void udp_close(struct udp_socket **list);
/* Whether requests of the last batch wait for another turn of the worker, and that turn. Long
 * answers take some; then others' turns come between. */
bool udp_goes_on(const struct worker *);
void udp_go_on(struct worker *);
void udp_woken(struct worker *); /* an answer of another thread may be there */
/* At the worker's end: drops what waits. */
void udp_forget(struct worker *);
#endif
