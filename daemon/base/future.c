#include "base/future.h"

#include <stddef.h>

void future_init(struct future *f) {
    atomic_init(&f->answered, false);
    atomic_init(&f->holders, 1);
    lock_init(&f->lock);
    f->wake = NULL;
    f->wake_arg = NULL;
}

void future_hold(struct future *f) {
    atomic_fetch_add_explicit(&f->holders, 1, memory_order_relaxed);
}

bool future_release(struct future *f) {
    if (atomic_fetch_sub_explicit(&f->holders, 1, memory_order_acq_rel) > 1) {
        return false;
    }
    lock_fini(&f->lock);
    return true;
}

void future_wake(struct future *f, void (*wake)(void *), void *arg) {
    lock_take(&f->lock);
    f->wake = wake;
    f->wake_arg = arg;
    lock_release(&f->lock);
}

void future_answer(struct future *f) {
    /* pairs with future_is_answered */
    atomic_store_explicit(&f->answered, true, memory_order_release);
    lock_take(&f->lock);
    if (f->wake != NULL) {
        f->wake(f->wake_arg);
    }
    lock_release(&f->lock);
}
