/* An answer that one thread owes another. Both hold the future. The thread that asked may sleep
 * until it is woken, or release the future before the answer.
 *
 * This struct is part of one that holds the question and the answer. Ownership: each thread holds
 * it once, and the last holder frees it. Threading: any; the answer is written before
 * future_answer, and may be read once future_is_answered. Cost: a lock to answer or to ask for a
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

void future_init(struct future *); /* one holder: the thread that asks */
void future_hold(struct future *);
bool future_release(struct future *); /* true: nobody holds it any more, and the caller frees it */
/* Has `wake` called once there is an answer, on the thread that answers, with no project lock held
 * but the future's. NULL: it is called no more, and is not running when this returns. */
void future_wake(struct future *, void (*wake)(void *), void *arg);
void future_answer(struct future *);
/* For the thread that answers: whether the thread that asked has gone. */
static inline bool future_is_cancelled(const struct future *f) {
    return atomic_load_explicit(&f->holders, memory_order_relaxed) == 1;
}

static inline bool future_is_answered(const struct future *f) {
    return atomic_load_explicit(&f->answered, memory_order_acquire);
}
#endif
