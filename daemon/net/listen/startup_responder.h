/* Clients that come before the server serves, while it takes up what a memory file holds: whoever
 * sends something is told SERVER_ERROR starting, and hung up on; whoever only connects is kept, up
 * to a bound, and is the server's client once it serves. A client of the binary protocol is hung up
 * on without a word, one of TLS waits.
 *
 * A thread of its own, from starting_begin to starting_end. It owns what it has accepted. */
#ifndef SLATE_NET_LISTEN_STARTUP_RESPONDER_H
#define SLATE_NET_LISTEN_STARTUP_RESPONDER_H
#include "net/listen/listen.h"

enum { STARTING_GUESTS = 256 }; /* at once; further ones wait to be accepted */

struct starting;

/* The listeners are borrowed. NULL and errno: clients wait then. */
struct starting *starting_begin(struct listener *, bool everybody_speaks_tls);
/* Ends the thread and hands each guest who has said nothing to `take`, which owns the socket. */
void starting_end(struct starting **,
                  void (*take)(void *arg, const struct listener *, int fd), void *arg);
#endif
