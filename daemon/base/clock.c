#include "base/clock.h"

#include <stdatomic.h>

enum { SECOND_NS = 1000 * 1000 * 1000 };

static int64_t start_mono_s;
static int64_t start_unix_s;
static int64_t inherited_s; /* cache time that had passed when the process started */
/* nanoseconds by which the system's second was ahead of the monotonic one at the start */
static long    ahead_ns;
static _Atomic int64_t shift_s;
/* monotonic second at which the clock is paused; -1: the clock runs */
static _Atomic int64_t paused_at_s = -1;

/* Monotonic seconds, which begin at the same moments as the system's. */
static int64_t clock_coarse_s(void) {
    struct timespec ts = clock_system(CLOCK_MONOTONIC_COARSE);
    return ts.tv_sec + (ts.tv_nsec + ahead_ns >= SECOND_NS);
}

static int64_t clock_elapsed_s(void) {
    int64_t paused = atomic_load_explicit(&paused_at_s, memory_order_relaxed);
    int64_t at = paused >= 0 ? paused : clock_coarse_s();
    int64_t elapsed = at - start_mono_s + atomic_load_explicit(&shift_s, memory_order_relaxed);
    return elapsed < 0 ? 0 : elapsed;
}

void clock_start(void) {
    if (start_unix_s != 0) {
        return;
    }
    struct timespec mono = clock_system(CLOCK_MONOTONIC_COARSE),
                    real = clock_system(CLOCK_REALTIME_COARSE);
    ahead_ns = (real.tv_nsec - mono.tv_nsec + SECOND_NS) % SECOND_NS;
    start_mono_s = mono.tv_sec + (mono.tv_nsec + ahead_ns >= SECOND_NS);
    start_unix_s = real.tv_sec;
}

void clock_continue(int64_t unix_at_0, uint32_t last_s) {
    int64_t own_s = clock_elapsed_s() + CLOCK_EPOCH_S - inherited_s,
            now_s = clock_system(CLOCK_REALTIME_COARSE).tv_sec - unix_at_0;
    int64_t more_s = (now_s > last_s ? now_s : last_s) - own_s - inherited_s;
    inherited_s += more_s;
    start_mono_s -= more_s;
    start_unix_s -= more_s;
}

int64_t clock_unix_at_0(void) {
    /* The calendar is read first: where a second begins between both, cache time is a second early
     * in the next process, and never late. */
    int64_t unix_s = clock_system(CLOCK_REALTIME_COARSE).tv_sec;
    return unix_s - (int64_t)clock_now_s();
}

uint32_t clock_now_s(void) { return (uint32_t)(clock_elapsed_s() + CLOCK_EPOCH_S); }

uint32_t clock_uptime_s(void) {
    int64_t elapsed = clock_elapsed_s();
    return elapsed > inherited_s ? (uint32_t)(elapsed - inherited_s) : 0;
}

static uint64_t clock_system_us(clockid_t which) {
    struct timespec ts = clock_system(which);
    return (uint64_t)ts.tv_sec * CLOCK_SECOND_US + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t clock_mono_us(void) { return clock_system_us(CLOCK_MONOTONIC); }

uint64_t clock_thread_us(void) { return clock_system_us(CLOCK_THREAD_CPUTIME_ID); }

uint64_t clock_unix_us(void) { return clock_system_us(CLOCK_REALTIME); }

struct timespec clock_deadline(uint32_t in_s) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    ts.tv_sec += in_s;
    return ts;
}

int64_t clock_unix_s(uint32_t now_s) { return start_unix_s + (int64_t)now_s - CLOCK_EPOCH_S; }

uint32_t clock_expiry_s(int64_t exptime, uint32_t now_s) {
    if (exptime == 0) {
        return 0;
    }
    if (exptime < 0) {
        return CLOCK_EXPIRED;
    }
    int64_t at = (int64_t)now_s + exptime;
    if (exptime > CLOCK_RELATIVE_MAX_S) {
        at = exptime - start_unix_s + CLOCK_EPOCH_S;
        if (at <= CLOCK_EPOCH_S) {
            return CLOCK_EXPIRED;
        }
    }
    return at > UINT32_MAX ? UINT32_MAX : (uint32_t)at;
}

void clock_pause(void) {
    atomic_store_explicit(&paused_at_s, clock_coarse_s(), memory_order_relaxed);
}

void clock_resume(void) { atomic_store_explicit(&paused_at_s, -1, memory_order_relaxed); }

void clock_shift(int64_t by_s) { atomic_fetch_add_explicit(&shift_s, by_s, memory_order_relaxed); }
