/* Metrics over HTTP, for Prometheus: GET /metrics on a listener of its own, by a thread of its own.
 *
 * It takes one request after the other: at most METRICS_REQUEST_BYTES of it within
 * METRICS_REQUEST_S, and as long for who takes the answer. Who reaches the address reads figures,
 * no keys, without a login. Ownership: borrows the server, which must outlive it. Threading: for
 * the thread that started it. */
#ifndef SLATE_METRICS_METRICS_H
#define SLATE_METRICS_METRICS_H
#include <stdbool.h>

#include "serve/server.h"

enum { METRICS_PORT = 9150, METRICS_REQUEST_BYTES = 8192, METRICS_REQUEST_S = 5 };

struct metrics;

/* `address`: HOST, HOST:PORT or [V6]:PORT; port METRICS_PORT where it names none. `open_to_all`:
 * others may reach it. NULL, after a log line: it cannot be had. The port may be shared with a
 * process of the same user, so that the next server of this one can begin before it ends. */
struct metrics *metrics_start(struct server *, const char *address, bool open_to_all);
void            metrics_stop(struct metrics **); /* NULL: nothing to do */
#endif
