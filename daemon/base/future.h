/* An answer that one thread owes another. Both hold the future. The requesting thread may sleep
 * until a wake-up, or release the future before the answer.
 *
 * This struct is part of a larger one that holds the request and the answer. Ownership: each thread
 * holds the future once, and the last holder frees it. Threading: any; the answer is written before
 * future_answer, and may be read once future_is_answered. Cost: a lock to answer or to set a
 * wake-up. */
#ifndef SLATE_BASE_FUTURE_H
#define SLATE_BASE_FUTURE_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

struct future {
    _Atomic bool     answered;
    _Atomic unsigned holders;
    struct lock      lock; /* guards the fields below */
    void           (*wake)(void *);
    void            *wake_arg;
};

void future_init(struct future *); /* one holder: the requesting thread */
void future_hold(struct future *);
bool future_release(struct future *); /* true: no holder is left, and the caller frees the future */
/* Sets the function that future_answer calls, on the answering thread, with no project lock held
 * but the future's. NULL: unsets that function, which is not running any more when this call
 * returns. */
void future_wake(struct future *, void (*wake)(void *), void *arg);
void future_answer(struct future *);
/* For the answering thread: whether the requesting thread has gone. */
static inline bool future_is_cancelled(const struct future *f) {
    return atomic_load_explicit(&f->holders, memory_order_relaxed) == 1;
}

static inline bool future_is_answered(const struct future *f) {
    return atomic_load_explicit(&f->answered, memory_order_acquire);
}
#endif
