/* Private to a load thread: its connections (conn.c) and its loop (worker.c). */
#ifndef LOAD_CONN_H
#define LOAD_CONN_H
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "worker.h"

#define RECEIVE_BYTES 262144 /* one receive takes any usual batch of replies */

enum conn_state { CONN_CLOSED, CONN_CONNECTING, CONN_SHAKING, CONN_IDLE, CONN_BUSY };

struct conn {
    int fd;
    enum conn_state state;
    struct ssl_st *tls;            /* NULL: no TLS */
    struct ssl_session_st *resume; /* of the last TLS session (--tls-resume) */
    uint64_t shaking_ns;           /* when the handshake began */
    bool waits_to_write; /* EPOLLOUT is registered */
    size_t sent;         /* bytes of batch.out */
    uint64_t calls_left;
    struct batch batch;
    struct buffer carry; /* the beginning of an incomplete reply element */
    size_t carry_needed;
    struct conn *next_idle;
};

struct worker {
    const struct worker_config *config;
    const struct options *options;
    struct tally *tally;
    struct failure *failure;
    struct batcher batcher;
    int epoll, timer;
    struct conn *conns;
    unsigned conn_count;
    unsigned opened, live;     /* conns[0..opened) have been opened once; live ones are open */
    unsigned busy, connecting; /* live connections that are busy; that connect or shake hands */
    struct conn *idle_first, *idle_last; /* longest idle first */
    uint64_t budget;                     /* requests that may still be made */
    uint64_t deadline_ns;                /* 0: none */
    uint64_t last_heard_ns;
    uint64_t stop_seen_ns;
    double open_gap_ns, next_open_ns; /* --conn-rate */
    bool stopping;
    char *received;
};

/* Ends the run with the first thing that went wrong; `why` may be empty. */
void worker_fail(struct worker *w, int exit_code, const char *what, const char *why);

/* Whether requests may still be made: time, budget and source allow it. */
bool worker_may_build(const struct worker *w);

/* Opens a connection; for TCP it is established later, by conn_handle_event. False after a failure.
 */
bool conn_open(struct worker *w, struct conn *c);
void conn_close(struct worker *w, struct conn *c);

/* Handles an epoll event of a connection. May end its batch, start its next one, close it, or fail. */
void conn_handle_event(struct worker *w, struct conn *c, uint32_t events);

/* Gives idle connections, longest idle first, their next batches as far as these are due. */
void conn_start_idle(struct worker *w, uint64_t now_ns);
#endif
