/* An answer that costs much is made once for all who ask meanwhile.
 *
 * The first to ask makes it, the others wait for it. It may serve those who ask soon after as well,
 * for COALESCED_AGE_MAX_US at most.
 *
 * Ownership: a text belongs to all who hold it. Threading: any; a seat is its owner's, who is woken
 * from another thread. Cost: a lock to sit down and to leave. */
#ifndef SLATE_SERVER_COALESCED_REPLY_H
#define SLATE_SERVER_COALESCED_REPLY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "server/text_out.h"

enum { COALESCED_AGE_MAX_US = 1000 * 1000 };

struct coalesced_text {
    unsigned        holders;
    uint64_t        until_us; /* until when the text serves */
    struct text_out out;
};

/* The seat of one that asks. While it waits, others write to it under the lock. */
struct coalesced_waiter {
    struct coalesced_text *text; /* the answer, which the seat holds; NULL: it is not there yet */
    bool                makes;
    void              (*wake)(void *); /* called while no project lock but the answer's is held */
    void               *wake_arg;
    struct coalesced_waiter *next, **link;  /* of those who wait; link NULL: it does not */
};

struct coalesced_reply {
    struct lock         lock; /* over what follows */
    struct coalesced_text *last;
    bool                making;
    struct coalesced_waiter *waiting;
};

void coalesced_reply_init(struct coalesced_reply *);
void coalesced_reply_fini(struct coalesced_reply *); /* nobody sits */

/* What the owner of a seat has to do. */
enum coalesced_part {
    COALESCED_READY, /* it holds the text */
    COALESCED_MAKE,  /* it is to make the answer and call coalesced_publish */
    COALESCED_WAIT,  /* wait to be woken, then ask again */
};
/* A new seat, or one that was woken. */
enum coalesced_part coalesced_join(struct coalesced_reply *, struct coalesced_waiter *,
                                   uint64_t now_us);
/* The answer is there, and serves for so long. Takes over `made`, wakes all that wait, and gives it
 * to them. False: out of memory. */
bool coalesced_publish(struct coalesced_reply *, struct coalesced_waiter *, struct text_out *made,
                       uint64_t age_us, uint64_t now_us);
/* Leaves the seat: at the end, or before. An owner that makes the answer leaves the making to
 * another that waits. */
void coalesced_leave(struct coalesced_reply *, struct coalesced_waiter *);
#endif
