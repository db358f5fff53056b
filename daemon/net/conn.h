/* A connection: a socket, its session, and the bytes between them that are not finished. Belongs to
 * one worker.
 *
 *     conn_gather   receives once and parses into the worker's batch        (many connections)
 *     batch_run     runs all of it
 *     conn_answer   sends once, keeps what is unfinished, says what is next (the same connections)
 *
 * All of it happens inside one cache turn. */
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

/* After its last words a client may send so much, and for so long, before the socket is closed. */
enum { LINGER_BYTES = 16 << 20, LINGER_S = 5 };

/* Of a value that is still coming. While it waits for memory nothing is received. */
enum value_state { VALUE_NONE, VALUE_HOLDS, VALUE_WAITS };

struct conn {
    struct conn_record record; /* fd, addresses, state */
    struct worker  *worker;
    const struct transport *transport;
    struct tls_conn *tls;      /* its transport's state if it speaks TLS, or NULL */
    struct session *session;
    struct output  *pending;   /* replies that the socket would not take */
    struct kept    *kept;      /* received bytes that are not used yet (net/buffer.h) */
    struct conn    *ready_next; /* on one of the worker's lists: ready, commands, asleep */
    struct conn    *next, **link; /* the worker's list of all */
    struct event    event;     /* reads; or, while `pending`, writes */
    char           *bytes;     /* of this turn, `n` of them */
    size_t          n;
    bool ready;     /* on one of these lists */
    bool readable, writable; /* what the last event of the socket said */
    bool at_hand;   /* its transport holds bytes for which no event will come */
    bool resume;    /* there is work without new bytes */
    bool deaf;      /* its event is off until its next turn, which will receive nothing */
    bool close_after; /* hang up once `pending` is sent */
    bool no_memory; /* there was no memory for its replies: `pending` says so, and is the last */
    bool lingers;   /* its last words are sent, and the client has a while to read them */
    bool ignored;   /* what it sends is thrown away: it watches, or lingers */
    bool gone;      /* hang up at the end of the turn */
    bool sent_much; /* it was sent much in its last turn: look whether the client takes it */
    enum value_state value; /* on which of the worker's lists its value is (net/upload_wait.h) */
    bool waited;    /* its value waited until this turn */
    uint64_t value_us;  /* when the last bytes of a value that holds memory came, or since when a
                         * value waits … */
    uint64_t pace_us;   /* … when it had last gone on by a VALUES_PACE_SHARE-th … */
    size_t   pace_left; /* … and how much was left to come then */
    TAILQ_ENTRY(conn) value_link;
    struct session_access access; /* of its listener */
    uint32_t linger_left; /* bytes of its that are still thrown away before it is hung up on */
    uint8_t tls_mode; /* enum listen_tls: of its listener */
    uint8_t reason; /* enum event_reason: why the client is gone */
};

/* Takes over the socket: a session, an event, a place in the worker's list. False: out of
 * memory. */
bool conn_open(struct conn *, struct worker *);
/* Closes the socket and frees the connection with everything it still holds. Inside a cache
 * turn. */
void conn_close(struct conn *taken);

void conn_gather(struct conn *);
void conn_answer(struct conn *);

/* Whether nothing is half done: no bytes kept, no value half read, no reply unsent. */
bool conn_idle(const struct conn *);
#endif
