/* A connection: a socket, its session, and unfinished bytes between the two. A connection belongs
 * to one worker.
 *
 *     conn_gather   receives once and parses into the worker's batch          (many connections)
 *     batch_run     runs all requests
 *     conn_answer   sends once, saves unfinished bytes, queues the connection (each of these)
 *
 * All three run inside one cache turn. */
#ifndef SLATE_NET_CONN_H
#define SLATE_NET_CONN_H
#include <event2/event_struct.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/queue.h>

#include "net/transport.h"
#include "server/config/listen_list.h"
#include "server/session/session.h"

struct worker;

/* After the last reply a client may send so many bytes, for so long, before the socket is
 * closed. */
enum { LINGER_BYTES = 16 << 20, LINGER_S = 5 };

/* Where a value that is still coming stands. A connection that waits for memory receives
 * nothing. */
enum upload_state { UPLOAD_NONE, UPLOAD_HOLDS, UPLOAD_WAITS };

struct conn {
    struct conn_record record; /* fd, addresses, state */
    struct worker   *worker;
    const struct transport *transport;
    struct tls_conn *tls;     /* the TLS transport's state; NULL: the client speaks no TLS */
    struct session  *session;
    struct output   *pending; /* replies that the socket did not take */
    struct leftover *leftover; /* received bytes that are not used yet (net/buffer.h) */
    struct conn     *ready_next; /* the next connection of the same conn_queue */
    struct conn     *next, **link; /* the worker's list of all connections */
    struct event     event;   /* reads; or, while `pending`, writes */
    char            *bytes;   /* the bytes of this turn, `n` of them */
    size_t           n;
    bool ready;            /* the connection is in a conn_queue */
    bool readable, writable; /* what the last event of the socket reported */
    bool tls_buffered;     /* the transport holds bytes for which no event will come */
    bool resume;           /* there is work without new bytes */
    bool read_off;         /* the event is off until the next turn, which receives nothing */
    bool close_after;      /* hang up once `pending` is sent */
    bool no_memory;        /* memory for replies ran out: `pending` ends with that error */
    bool closing;          /* all replies are sent, and the client has a while to read them */
    bool discard_input;    /* input is thrown away: the client watches, or the connection closes */
    bool gone;             /* hang up at the end of the turn */
    bool check_send_queue; /* the last turn sent much: check for a slow reader */
    bool upload_waited;    /* the value waited for memory until this turn */
    enum upload_state upload; /* which list of net/upload_wait.h the connection is on */
    /* UPLOAD_HOLDS: when the value's last bytes came. UPLOAD_WAITS: since when the value waits. */
    uint64_t upload_us;
    uint64_t pace_us;      /* when an UPLOAD_PACE_SHARE-th of the value had come last */
    size_t   pace_left;    /* bytes that were still to come at pace_us */
    TAILQ_ENTRY(conn) upload_link;
    struct session_access access; /* from the connection's listener */
    uint32_t linger_left;  /* of LINGER_BYTES, so many may still come */
    uint8_t  tls_mode;     /* enum listen_tls, from the connection's listener */
    uint8_t  reason;       /* enum event_reason: why the client is gone */
};

/* Gives a connection with a socket its session and its event. False: out of memory. */
bool conn_open(struct conn *, struct worker *);
/* Closes the socket, and frees the connection with all that it holds. Inside a cache turn. */
void conn_close(struct conn *taken);

void conn_gather(struct conn *); /* does nothing when the connection is gone */
void conn_answer(struct conn *);

/* True: nothing is half done: no leftover bytes, no value half read, no reply unsent. */
bool conn_idle(const struct conn *);
#endif
