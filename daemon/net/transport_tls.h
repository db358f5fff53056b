/* The transport of connections that speak TLS.
 *
 * A handshake costs up to milliseconds of its worker's time, and so waits on a list of its own: of
 * those on it a worker serves as many as fit into TLS_HANDSHAKES_US between two turns, outside the
 * cache's. Then the connection is as any other. The logger cannot write to a client who watches:
 * it writes to one end of a socket pair, and the worker encrypts what comes out of the other. */
#ifndef SLATE_NET_TRANSPORT_TLS_H
#define SLATE_NET_TRANSPORT_TLS_H
#include <stdbool.h>

#include "net/conn.h"

enum { TLS_HANDSHAKES_US = 1000 };

/* After conn_open: from now on the connection speaks TLS. False: out of memory; close it. */
bool tls_conn_open(struct conn *);

/* Goes on with handshakes whose clients have sent something. At least one, when there is one. */
void tls_handshakes(struct worker *);
#endif
