/* Answers clients that connect while the server recovers the items of a memory file. A client that
 * sends something gets SERVER_ERROR starting, and the connection ends. A client that only connects
 * is held, up to a bound, and served once the server serves. A client of the binary protocol is
 * dropped without a reply; a client of TLS waits.
 *
 * A thread of its own runs from startup_responder_begin to startup_responder_end, and owns the
 * sockets that it has accepted. */
#ifndef SLATE_NET_LISTEN_STARTUP_RESPONDER_H
#define SLATE_NET_LISTEN_STARTUP_RESPONDER_H
#include "net/listen/listen.h"

enum { STARTUP_CLIENTS_MOST = 256 }; /* further clients wait to be accepted */

struct startup_responder;

/* Borrows the listeners. NULL and errno: clients wait then. */
struct startup_responder *startup_responder_begin(struct listener *, bool everybody_speaks_tls);
/* Ends the thread, and hands each client that has sent nothing to `take`, which then owns the
 * socket. */
void startup_responder_end(struct startup_responder **,
                           void (*take)(void *arg, const struct listener *, int fd), void *arg);
#endif
