/* Wakes the tuner's thread, and tells its time. */
#include <assert.h>
#include <unistd.h>

#include "base/clock.h"
#include "tune/state.h"

void tuner_wake(void *arg) {
    struct tuner *t = arg;
    uint64_t one = 1;
    /* The write fails only when the counter is full: then a wake-up is already due. */
    ssize_t written = write(t->wake_fd, &one, sizeof one);
    (void)written;
}

uint64_t tuner_now_us(const struct tuner *t) { return t->by_hand ? t->hand_us : clock_mono_us(); }

bool tuner_waits_for_mode_locked(const struct tuner *t) {
    assert(lock_held(&t->lock));
    return (int)(t->wish.since - atomic_load_explicit(&t->adopted, memory_order_relaxed)) > 0;
}
