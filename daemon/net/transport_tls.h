/* The transport of connections that speak TLS.
 *
 * A handshake costs up to milliseconds of its worker's time, so handshakes wait in a queue of their
 * own. Between two turns, outside a cache turn, a worker continues as many of them as fit into
 * TLS_HANDSHAKES_US. The logger cannot encrypt lines for a client that watches: the logger writes
 * to one end of a socket pair, and the worker encrypts the bytes that it reads from the other
 * end. */
#ifndef SLATE_NET_TRANSPORT_TLS_H
#define SLATE_NET_TRANSPORT_TLS_H
#include <stdbool.h>

#include "net/conn.h"

enum { TLS_HANDSHAKES_US = 1000 };

/* After conn_open: from now on the connection uses TLS. False: out of memory; close the
 * connection. */
bool tls_conn_open(struct conn *);

/* Continues handshakes whose clients have sent bytes. Call it only if `handshakes` is not empty. */
void tls_handshakes(struct worker *);
#endif
