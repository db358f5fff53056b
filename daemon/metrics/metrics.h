/* Metrics over HTTP, for Prometheus: GET /metrics on a listener of its own, by a thread of its own.
 *
 * A request has METRICS_REQUEST_BYTES and METRICS_REQUEST_S at most, and the client as long to take
 * the answer. Clients beyond a number make those leave that came first. Who reaches the address
 * reads figures, no keys, without a login. Ownership: borrows the server, which must outlive it.
 * Threading: for the thread that started it. */
#ifndef SLATE_METRICS_METRICS_H
#define SLATE_METRICS_METRICS_H
#include <stdbool.h>

#include "net/takeover/handover.h"
#include "server/server.h"

enum { METRICS_PORT = 9150, METRICS_REQUEST_BYTES = 8192, METRICS_REQUEST_S = 5 };

struct listener;
struct metrics;

struct metrics_config {
    const char    *address;     /* HOST, HOST:PORT or [V6]:PORT; METRICS_PORT where it names none */
    bool           open_to_all; /* others may reach it */
    struct handover_fds *inherited; /* sockets of the process before; NULL: none */
};

/* Whether its address is one that this machine has, and that may be told there. Opens no port.
 * False: after a log line. */
bool            metrics_find(const struct metrics_config *);
/* NULL, after a log line: it cannot be had. */
struct metrics *metrics_start(struct server *, const struct metrics_config *);
/* The sockets on which metrics are served, for net_add_handover_listeners. They stay borrowed. */
const struct listener *metrics_listeners(const struct metrics *);
void            metrics_stop(struct metrics **); /* NULL: nothing to do */
#endif
