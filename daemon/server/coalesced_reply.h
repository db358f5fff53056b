/* An answer that costs much is made once for all who ask meanwhile.
 *
 * The first to ask makes it, the others wait for it. It may serve those who ask soon after as well,
 * for SHARED_AGE_MAX_US at most.
 *
 * Ownership: a text belongs to all who hold it. Threading: any; a seat is its owner's, who is woken
 * from another thread. Cost: a lock to sit down and to leave. */
#ifndef SLATE_SERVER_COALESCED_REPLY_H
#define SLATE_SERVER_COALESCED_REPLY_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "server/text_out.h"

enum { SHARED_AGE_MAX_US = 1000 * 1000 };

struct shared_text {
    unsigned        holders;
    uint64_t        until_us; /* until when the text serves */
    struct text_out out;
};

/* The seat of one that asks. While it waits, others write to it under the lock. */
struct shared_seat {
    struct shared_text *text; /* the answer, which the seat holds; NULL: it is not there yet */
    bool                makes;
    void              (*wake)(void *); /* called while no project lock but the answer's is held */
    void               *wake_arg;
    struct shared_seat *next, **link;  /* of those who wait; link NULL: it does not */
};

struct shared_answer {
    struct lock         lock; /* over what follows */
    struct shared_text *last;
    bool                making;
    struct shared_seat *waiting;
};

void shared_answer_init(struct shared_answer *);
void shared_answer_fini(struct shared_answer *); /* nobody sits */

/* What the owner of a seat has to do. */
enum shared_part {
    SHARED_HAS,   /* it holds the text */
    SHARED_MAKES, /* it is to make the answer and call shared_made */
    SHARED_WAITS, /* wait to be woken, then ask again */
};
/* A new seat, or one that was woken. */
enum shared_part shared_sit(struct shared_answer *, struct shared_seat *, uint64_t now_us);
/* The answer is there, and serves for so long. Takes over `made`, wakes all that wait, and gives it
 * to them. False: out of memory. */
bool shared_made(struct shared_answer *, struct shared_seat *, struct text_out *made,
                 uint64_t age_us, uint64_t now_us);
/* Leaves the seat: at the end, or before. An owner that makes the answer leaves the making to
 * another that waits. */
void shared_leave(struct shared_answer *, struct shared_seat *);
#endif
