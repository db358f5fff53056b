/* Wakes the control thread, and tells its time. */
#include <assert.h>

#include "base/clock.h"
#include "tune/state.h"

void tuner_wake(void *arg) { control_wake(&((struct tuner *)arg)->control); }

struct control *tuner_control(struct tuner *t) { return &t->control; }

uint64_t tuner_now_us(const struct tuner *t) {
    return t->by_hand ? t->control.now_us : clock_mono_us();
}

bool tuner_waits_for_mode_locked(const struct tuner *t) {
    assert(lock_held(&t->lock));
    return (int)(t->wish.since - atomic_load_explicit(&t->adopted, memory_order_relaxed)) > 0;
}
