/* A worker: a thread with its event base, its batch and its connections.
 *
 *     wait (outside a cache turn) -> events put connections on the ready list
 *     turn: gather from each, run the batch, answer each
 *
 * A turn takes connections as long as the batch and the receive region have room, so its memory is
 * bounded; the others stay ready for the next turn, which follows without waiting. Connections
 * whose next request is a command, or whose answer to one goes on, queue for the turn's time for
 * commands (BATCH_COMMANDS_US), first come, first served; one that comes in a turn with room left
 * is served at once. Answers that go on take a quarter of the time at most while others ask.
 * Ownership: a worker owns the connections given to it. */
#ifndef SLATE_NET_WORKER_H
#define SLATE_NET_WORKER_H
#include <pthread.h>
#include <stdbool.h>

#include "base/lock.h"
#include "net/buffer.h"
#include "net/conn.h"
#include "net/net.h"
#include "net/tls.h"
#include "net/upload_wait.h"

enum {
    WORKER_TURN_CONNS = 256, /* most connections in one turn */
    /* Answers that go on rest so many times as long as a piece took, while others ask. Two workers
     * on two cores, mgdump in a loop beside 10,000 gets a second: with no rest and pieces of 200 us
     * p90 480 us and p99 1,750, with no rest and pieces of 50 us 175 and 1,260; with it 110 and
     * 175. memcached 58 and 180. */
    WORKER_ANSWERS_REST = 3,
    /* A piece takes longer by the clock than it works when its thread waits for a processor, or is
     * stopped: nobody gains by a rest as long as that. */
    WORKER_ANSWERS_REST_MOST_US = 10 * 1000,
};

/* Connections in the order of their coming, linked by ready_next. A connection is in one queue at
 * most. */
struct conn_queue {
    struct conn *first, **end;
};

struct udp_batch;

struct worker {
    struct server         *server;
    struct event_base     *base;
    struct cache_thread   *cache_thread;
    struct batch          *batch;
    struct serve_counters *counters;
    struct buffers         buffers;
    struct values          values;
    /* `asleep`: they wait for another thread's answer */
    struct conn_queue      ready, commands, answers, asleep, handshakes;
    struct tls            *tls;        /* NULL: nobody speaks TLS */
    struct udp_batch      *udp;        /* where datagrams land; NULL without UDP */
    char                  *tls_buffer; /* replies are put together here before they are encrypted */
    struct conn           *conns; /* all of them */
    struct event           idle_timer, wake_event, answers_event;
    int                    wake_fd, answers_fd;
    /* when answers may go on, and until when other requests count as recent */
    uint64_t               answers_due_us, asked_until_us;
    pthread_t              thread;
    unsigned               lingering; /* of its connections */
    bool                   started, finishing;
    uint32_t               grace_us;   /* set before `stops` */
    uint64_t               finish_by_us;
    uint64_t               received_bytes, sent_bytes; /* in this turn */
    _Atomic bool           stops;
    struct lock            inbox_lock;
    struct conn           *inbox; /* new connections, linked by ready_next */
};

/* False and errno: memory or descriptors are wanting. */
bool worker_init(struct worker *, struct server *, const struct net_config *, struct tls *);
bool worker_start(struct worker *);
/* Hands the worker a connection whose record is filled and registered. Any thread. */
void worker_adopt(struct worker *, struct conn *taken);
/* Has it end: at once, or when it has answered what clients have sent, within so long at most. One
 * caller, once. */
void worker_stop(struct worker *, uint32_t grace_us);
void worker_join(struct worker *);
void worker_fini(struct worker *); /* after worker_join; closes what is left */

/* How long answers that go on rest after pieces that took so long, while others ask. */
static inline uint32_t worker_answers_rest_us(uint32_t took_us) {
    return took_us < WORKER_ANSWERS_REST_MOST_US / WORKER_ANSWERS_REST
               ? WORKER_ANSWERS_REST * took_us
               : WORKER_ANSWERS_REST_MOST_US;
}

/* --- conn_queue.c: what connections wait for. The worker's thread --- */
void conn_queue_init(struct conn_queue *);
struct conn *conn_queue_take(struct conn_queue *); /* the first of one that is not empty */
/* Puts a connection at the end of a queue, unless it is in one. */
void conn_queue_put(struct conn_queue *, struct conn *);
/* Has sleeping connections look for their answers in the next turn. Any thread; `worker` is a
 * struct worker. */
void worker_wake(void *worker);
/* Notes whether the turn that ends had requests beside long answers, which then rest. */
void worker_note_asked(struct worker *, uint64_t now_us);
/* Notes what its socket is ready for, and puts it on the ready list. */
void conn_on_event(evutil_socket_t, short what, void *conn);
/* From now on waits for this event, instead of what it waited for. */
void conn_wait_for(struct conn *, short what);
#endif
