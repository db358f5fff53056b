/* A worker: a thread with its event base, its batch and its connections.
 *
 *     wait (outside a cache turn) -> events put connections on the ready list
 *     turn: gather from each, run the batch, answer each
 *
 * A turn takes connections as long as the batch and the receive region have room, so a turn's
 * memory is bounded. The other connections stay ready for the next turn, which follows without
 * waiting. Connections whose next request is a command, or whose long answer continues, queue for
 * the turn's time for commands (BATCH_COMMANDS_US), first come, first served. A command that comes
 * in a turn with time left runs at once. Long answers take at most a quarter of the time while
 * other clients send requests. Ownership: a worker owns its connections. */
#ifndef SLATE_NET_WORKER_H
#define SLATE_NET_WORKER_H
#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"
#include "net/buffer.h"
#include "net/conn.h"
#include "net/tls.h"
#include "net/upload_wait.h"

enum {
    WORKER_TURN_CONNS = 256, /* most connections in one turn */
    /* While other clients send requests, long answers pause so many times as long as a piece took.
     * Figures: BENCHMARKS.md, section net. */
    WORKER_ANSWERS_PAUSE = 3,
    /* A piece takes long by the clock when its thread waits for a processor, or is stopped. So long
     * a pause would help no client. */
    WORKER_ANSWERS_PAUSE_MOST_US = 10 * 1000,
};

/* Connections, first come first, linked by ready_next. A connection is in at most one queue. */
struct conn_queue {
    struct conn *first, **end;
};

struct net_config;
struct udp_batch;

struct worker {
    struct server         *server;
    struct event_base     *base;
    struct cache_thread   *cache_thread;
    struct batch          *batch;
    struct serve_counters *counters;
    struct buffers         buffers;
    struct upload_wait     uploads;
    /* waiting_for_reply: another thread makes the reply */
    struct conn_queue      ready, commands, answers, waiting_for_reply, handshakes;
    struct tls            *tls;        /* NULL: nobody speaks TLS */
    struct udp_batch      *udp;        /* receives datagrams; NULL: no UDP */
    char                  *tls_buffer; /* joins replies before they are encrypted */
    struct conn           *conns;      /* all connections */
    struct event           idle_timer, wake_event, answers_event;
    int                    wake_fd, answers_fd;
    /* when long answers may continue; until when other requests count as recent */
    uint64_t               answers_due_us, interactive_until_us;
    pthread_t              thread;
    unsigned               closing_count; /* connections that are `closing` */
    bool                   started, finishing;
    uint32_t               grace_us;   /* set before `stops` */
    uint64_t               finish_by_us;
    uint64_t               received_bytes, sent_bytes; /* in this turn */
    _Atomic bool           stops;
    struct lock            inbox_lock;
    struct conn           *inbox; /* new connections, linked by ready_next */
};

/* False and errno: there was not enough memory, or no descriptor. */
bool worker_init(struct worker *, struct server *, const struct net_config *, struct tls *);
bool worker_start(struct worker *);
/* Hands the worker a connection whose record is filled in and registered. Any thread. */
void worker_adopt(struct worker *, struct conn *taken);
/* Ends the worker: at once, or when it has answered the requests that clients have sent, but at
 * most after grace_us. Called once. */
void worker_stop(struct worker *, uint32_t grace_us);
void worker_join(struct worker *);
void worker_fini(struct worker *); /* after worker_join; closes the connections */

/* How long long answers pause after pieces that took so long. */
static inline uint32_t worker_answers_pause_us(uint32_t took_us) {
    return took_us < WORKER_ANSWERS_PAUSE_MOST_US / WORKER_ANSWERS_PAUSE
               ? WORKER_ANSWERS_PAUSE * took_us
               : WORKER_ANSWERS_PAUSE_MOST_US;
}

/* --- conn_queue.c. The worker's thread --- */
void conn_queue_init(struct conn_queue *);
struct conn *conn_queue_take(struct conn_queue *); /* the queue is not empty */
/* Puts a connection at the end of a queue, unless it is in one. */
void conn_queue_put(struct conn_queue *, struct conn *);
/* Makes waiting connections check for their replies in the next turn. Any thread; `worker` is a
 * struct worker. */
void worker_wake(void *worker);
/* Notes whether the turn that ends had requests beside long answers, which pause then. */
void worker_note_interactive(struct worker *, uint64_t now_us);
/* Notes what the connection's socket is ready for, and puts the connection on the ready list. */
void conn_on_event(evutil_socket_t, short what, void *conn);
/* Makes the connection wait for these events of its socket, in place of others. */
void conn_wait_for(struct conn *, short what);
#endif
