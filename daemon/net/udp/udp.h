/* UDP: a datagram holds one or more requests; their reply is one or more datagrams.
 *
 *     frame (8 bytes: request id, sequence number, count of datagrams, zero), then text or packets
 *
 * The frame is memcached's; numbers are big-endian. A request must fit in one datagram; a request
 * of several datagrams is dropped, as in memcached. Unfinished bytes are dropped, too: half a
 * value, or bytes behind the last line. `watch` is refused.
 *
 * Each worker has a socket of its own for each address (SO_REUSEPORT: the kernel spreads clients
 * over them), and receives up to UDP_BATCH messages a call. A message may be many datagrams of one
 * client, which the kernel has joined (UDP_GRO). The requests of UDP_BATCH datagrams share a turn,
 * and their replies leave together (net/udp/udp_out.h).
 *
 * The sender's address may be forged: the reply would then hit a victim. So a reply to another
 * machine is at most `factor` times as long as its request, with the headers of IP and UDP counted
 * in both. An error replaces a longer reply, or nothing if the error is too long as well. A client
 * that wants long replies pads its request with blanks.
 *
 * Ownership: a socket belongs to its worker. Threading: the worker's thread; udp_listen, udp_attach
 * and udp_close are called while no worker runs. Cost: two system calls for up to UDP_BATCH
 * requests whose replies are a datagram each. */
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
    UDP_REPLY_BYTES = 4 * 1024 * 1024, /* longest reply, in all its datagrams */
    UDP_BATCH = 32, /* datagrams received at once */
    UDP_RECEIVE_BYTES = 64 * 1024, /* the longest datagram */
};

struct udp_socket {
    struct conn_record    record; /* fd, and the address in addr */
    struct udp_socket    *next;
    struct worker        *worker;
    struct session_access access;
    uint32_t              factor; /* 0: no bound */
    struct event          event;
    bool                  is_v6;
    bool                  is_local; /* only this machine reaches the socket */
    bool                  cuts; /* udp_out_cuts */
    int                   port;
};

/* Appends a socket for each worker and address to the list. Errors: as listen_tcp
 * (net/listen/listen.h). */
int udp_listen(const struct listen_place *, const struct addrinfo *, unsigned workers,
               struct udp_socket **list);
/* Makes the worker listen to the socket. False: out of memory. */
bool udp_attach(struct udp_socket *, struct worker *);
void udp_close(struct udp_socket **list);
/* True: requests of the last batch need another turn. udp_turn runs one. Long answers take several
 * turns, with turns of other connections in between. */
bool udp_wants_turn(const struct worker *);
void udp_turn(struct worker *);
void udp_wake(struct worker *); /* another thread may have made a reply */
/* At the worker's end: drops the exchanges that wait. */
void udp_drop(struct worker *);
#endif
