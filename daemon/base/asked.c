#include "base/asked.h"

#include <stddef.h>

void asked_init(struct asked *a) {
    atomic_init(&a->answered, false);
    atomic_init(&a->holders, 1);
    lock_init(&a->lock);
    a->wake = NULL;
    a->wake_arg = NULL;
}

void asked_hold(struct asked *a) {
    atomic_fetch_add_explicit(&a->holders, 1, memory_order_relaxed);
}

bool asked_release(struct asked *a) {
    if (atomic_fetch_sub_explicit(&a->holders, 1, memory_order_acq_rel) > 1) {
        return false;
    }
    lock_fini(&a->lock);
    return true;
}

void asked_wake(struct asked *a, void (*wake)(void *), void *arg) {
    lock_take(&a->lock);
    a->wake = wake;
    a->wake_arg = arg;
    lock_release(&a->lock);
}

void asked_answer(struct asked *a) {
    /* pairs with asked_is_answered */
    atomic_store_explicit(&a->answered, true, memory_order_release);
    lock_take(&a->lock);
    if (a->wake != NULL) {
        a->wake(a->wake_arg);
    }
    lock_release(&a->lock);
}
