/* Metrics over HTTP, for Prometheus: GET /metrics on a listener of its own, by a thread of its own.
 *
 * A request has at most METRICS_REQUEST_BYTES and METRICS_REQUEST_S; so has the client to read the
 * reply. Clients beyond a number close the oldest ones. Whoever can connect reads figures, but no
 * keys, without a login. Ownership: borrows the server, which must outlive the metrics. Threading:
 * for the thread that called metrics_start. */
#ifndef SLATE_METRICS_METRICS_H
#define SLATE_METRICS_METRICS_H
#include <stdbool.h>

#include "net/takeover/handover.h"
#include "server/server.h"

enum { METRICS_PORT = 9150, METRICS_REQUEST_BYTES = 8192, METRICS_REQUEST_S = 5 };

struct listener;
struct metrics;

struct metrics_config {
    const char    *address;     /* HOST, HOST:PORT or [V6]:PORT; default port METRICS_PORT */
    bool           open_to_all; /* other machines may connect */
    struct handover_fds *inherited; /* sockets from the old process; NULL: none */
};

/* True if the address is this machine's, and allowed. Opens no port. False after a log line. */
bool            metrics_find(const struct metrics_config *);
/* NULL after a log line. */
struct metrics *metrics_start(struct server *, const struct metrics_config *);
/* The sockets pass to a next process (net_add_handover_listeners); metrics still owns its own. */
const struct listener *metrics_listeners(const struct metrics *);
void            metrics_stop(struct metrics **); /* NULL: nothing to do */
#endif
