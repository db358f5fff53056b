/* What one thread asks another, which answers later: both hold it, and whoever asked may be woken
 * or go away before.
 *
 * It is part of a struct that holds the question and the answer. Ownership: one holder each, the
 * last one frees it. Threading: any; the answer is written before asked_answer, and may be read
 * once asked_is_answered. Cost: a lock to answer or to ask for a wake-up. */
#ifndef SLATE_BASE_ASKED_H
#define SLATE_BASE_ASKED_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/lock.h"

struct asked {
    _Atomic bool     answered;
    _Atomic unsigned holders;
    struct lock      lock; /* over what follows */
    void           (*wake)(void *);
    void            *wake_arg;
};

void asked_init(struct asked *); /* one holder: who asks */
void asked_hold(struct asked *);
bool asked_release(struct asked *); /* true: nobody holds it any more, and the caller frees it */
/* Has `wake` called, on the other thread and without a project lock but this one, once there is an
 * answer. NULL: not any more; after the return it does not run. */
void asked_wake(struct asked *, void (*wake)(void *), void *arg);
void asked_answer(struct asked *);
/* To a thread that answers, and has the other hold: whether who asked has gone. */
static inline bool asked_is_abandoned(const struct asked *a) {
    return atomic_load_explicit(&a->holders, memory_order_relaxed) == 1;
}

static inline bool asked_is_answered(const struct asked *a) {
    return atomic_load_explicit(&a->answered, memory_order_acquire);
}
#endif
