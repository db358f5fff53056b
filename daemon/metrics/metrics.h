/* Metrics over HTTP, for Prometheus: GET /metrics on a listener of its own, by a thread of its own.
 *
 * It answers one request after the other, once it is whole: at most METRICS_REQUEST_BYTES of it
 * within METRICS_REQUEST_S, and as long for who takes the answer. Who reaches the address reads
 * figures, no keys, without a login. Ownership: borrows the server, which must outlive it.
 * Threading: for the thread that started it. */
#ifndef SLATE_METRICS_METRICS_H
#define SLATE_METRICS_METRICS_H
#include <stdbool.h>

#include "net/handed.h"
#include "net/net.h"
#include "serve/server.h"

enum { METRICS_PORT = 9150, METRICS_REQUEST_BYTES = 8192, METRICS_REQUEST_S = 5 };

struct metrics;

struct metrics_config {
    const char    *address;     /* HOST, HOST:PORT or [V6]:PORT; METRICS_PORT where it names none */
    bool           open_to_all; /* others may reach it */
    struct handed *handed;      /* sockets of the process before; NULL: none */
    bool           rests;       /* nobody is answered until metrics_go_on */
};

/* Whether its address is one that this machine has, and that may be told there. Opens no port.
 * False: after a log line. */
bool            metrics_find(const struct metrics_config *);
/* NULL, after a log line: it cannot be had. */
struct metrics *metrics_start(struct server *, const struct metrics_config *);
/* Nobody is answered, nor the server looked at, until metrics_go_on; who comes waits. Returns once
 * an answer under way is made. */
void            metrics_rest(struct metrics *);
void            metrics_go_on(struct metrics *);
/* How it goes along to the next process. */
void            metrics_companion(struct metrics *, struct net_companion *);
void            metrics_stop(struct metrics **); /* NULL: nothing to do; also one that rests */
#endif
