/* A costly reply is made once for all clients that request it at the same time.
 *
 * The first waiter makes the reply, the others wait for the text. The text may also serve later
 * requests, for COALESCED_AGE_MAX_US at most.
 *
 * Ownership: all holders of a text own it; the last one frees it. Threading: any. A waiter
 * belongs to its session, which another thread wakes. Cost: one lock to join and one to leave. */
#ifndef SLATE_SERVER_COALESCED_REPLY_H
#define SLATE_SERVER_COALESCED_REPLY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "server/text_out.h"

enum { COALESCED_AGE_MAX_US = 1000 * 1000 };

struct coalesced_text {
    unsigned        holders;
    uint64_t        until_us; /* the text serves requests until then */
    struct text_out out;
};

/* One request. While the waiter waits, other threads write to it under the lock. */
struct coalesced_waiter {
    struct coalesced_text *text; /* the reply; the waiter holds it. NULL: not made yet */
    bool                makes;
    void              (*wake)(void *); /* called under the reply's lock and no other project lock */
    void               *wake_arg;
    struct coalesced_waiter *next, **link;  /* in the list of waiters; link NULL: not in the list */
};

struct coalesced_reply {
    struct lock         lock; /* guards the fields below */
    struct coalesced_text *last;
    bool                making;
    struct coalesced_waiter *waiting;
};

void coalesced_reply_init(struct coalesced_reply *);
void coalesced_reply_fini(struct coalesced_reply *); /* no waiter is left */

/* The next action of a waiter's owner. */
enum coalesced_part {
    COALESCED_READY, /* the waiter holds the text */
    COALESCED_MAKE,  /* make the reply and call coalesced_publish */
    COALESCED_WAIT,  /* sleep until woken, then call coalesced_join again */
};
/* Joins with a new waiter, or with one that was woken. */
enum coalesced_part coalesced_join(struct coalesced_reply *, struct coalesced_waiter *,
                                   uint64_t now_us);
/* Publishes the reply `made`, which serves for `age_us`, and wakes all waiters with it. Takes over
 * `made`. False: out of memory. */
bool coalesced_publish(struct coalesced_reply *, struct coalesced_waiter *, struct text_out *made,
                       uint64_t age_us, uint64_t now_us);
/* Releases the text and leaves the list. If this waiter was to make the reply, another one will. */
void coalesced_leave(struct coalesced_reply *, struct coalesced_waiter *);
#endif
