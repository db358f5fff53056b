/* An answer that costs much is made once for all who ask meanwhile.
 *
 * The first to ask makes it, the others wait for it. It may serve those who ask soon after as well,
 * for SHARED_AGE_MAX_US at most.
 *
 * Ownership: a text belongs to all who hold it. Threading: any; a seat is its owner's, who is woken
 * from another thread. Cost: a lock to sit down and to leave. */
#ifndef SLATE_SERVE_SHARED_H
#define SLATE_SERVE_SHARED_H
#include <stdbool.h>
#include <stdint.h>

#include "base/lock.h"
#include "serve/text_out.h"

enum { SHARED_AGE_MAX_US = 1000 * 1000 };

struct shared_text {
    unsigned        holders;
    uint64_t        until_us; /* of clock_mono_us: it serves who asks before */
    struct text_out out;
};

/* Of one who asks. Others write to it under the lock while it waits. */
struct shared_seat {
    struct shared_text *text; /* the answer, held; NULL: not yet */
    bool                makes;
    void              (*wake)(void *); /* called without a project lock but the answer's */
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

/* What one who asks has to do. */
enum shared_part {
    SHARED_HAS,   /* it holds the text */
    SHARED_MAKES, /* it is to make the answer and call shared_made */
    SHARED_WAITS, /* it will be woken; then again */
};
/* A new seat, or one that was woken. */
enum shared_part shared_sit(struct shared_answer *, struct shared_seat *);
/* The answer is there, and serves for so long. Takes over `made`; who waits is woken and has it.
 * False: out of memory. */
bool shared_made(struct shared_answer *, struct shared_seat *, struct text_out *made,
                 uint64_t age_us);
/* At the end, and before it. Who makes the answer leaves that to another who waits. */
void shared_leave(struct shared_answer *, struct shared_seat *);
#endif
