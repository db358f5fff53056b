/* A question that one thread asks another, which answers it later. Both hold it. The thread that
 * asked may wait for a wake-up, or go away before the answer.
 *
 * This struct is part of one that holds the question and the answer. Ownership: each thread holds
 * it once, and the last holder frees it. Threading: any; the answer is written before asked_answer,
 * and may be read once asked_is_answered. Cost: a lock to answer or to ask for a wake-up. */
#ifndef SLATE_BASE_ASKED_H
#define SLATE_BASE_ASKED_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

struct asked {
    _Atomic bool     answered;
    _Atomic unsigned holders;
    struct lock      lock; /* guards the fields below */
    void           (*wake)(void *);
    void            *wake_arg;
};

void asked_init(struct asked *); /* one holder: the thread that asks */
void asked_hold(struct asked *);
bool asked_release(struct asked *); /* true: nobody holds it any more, and the caller frees it */
/* Has `wake` called once there is an answer, on the thread that answers, with no project lock held
 * but this one. NULL: it is called no more, and is not running when this returns. */
void asked_wake(struct asked *, void (*wake)(void *), void *arg);
void asked_answer(struct asked *);
/* For the thread that answers: whether the thread that asked has gone. */
static inline bool asked_is_abandoned(const struct asked *a) {
    return atomic_load_explicit(&a->holders, memory_order_relaxed) == 1;
}

static inline bool asked_is_answered(const struct asked *a) {
    return atomic_load_explicit(&a->answered, memory_order_acquire);
}
#endif
