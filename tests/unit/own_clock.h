/* Time that the test owns: for the code under test time passes only by own_clock_pass and own_reading_us. One file of a program includes this. */
#ifndef OWN_CLOCK_H
#define OWN_CLOCK_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/clock.h"

/* Monotonic time, and the calendar's lead over that. Their seconds begin at different moments. */
static _Atomic int64_t own_clock_us = 1000 * CLOCK_SECOND_US, own_calendar_us = 1800000000 * CLOCK_SECOND_US + 700 * 1000;

/* The lag of the coarse clocks, which for the system's is up to a tick. */
static int64_t own_coarse_late_us;

/* The time that each reading takes, so that loops with a deadline end. */
static _Atomic int64_t own_reading_us;

/* The time is the system's: for claims about threads, whose caches are made afterwards. */
static _Atomic bool own_clock_runs;

/* Replaces base/clock_system.c's functions. */
struct timespec clock_system(clockid_t which) {
    struct timespec t;
    bool is_calendar = which == CLOCK_REALTIME || which == CLOCK_REALTIME_COARSE;
    bool is_coarse = which == CLOCK_REALTIME_COARSE || which == CLOCK_MONOTONIC_COARSE;
    if (own_clock_runs) {
        clock_gettime(which, &t);
        return t;
    }
    int64_t us = atomic_fetch_add(&own_clock_us, is_coarse ? 0 : own_reading_us) - (is_coarse ? own_coarse_late_us : 0);
    us += is_calendar ? atomic_load(&own_calendar_us) : 0;
    return (struct timespec){.tv_sec = us / (int64_t)CLOCK_SECOND_US, .tv_nsec = us % (int64_t)CLOCK_SECOND_US * 1000};
}

static inline void own_clock_pass(int64_t us) { atomic_fetch_add(&own_clock_us, us); }
static inline void own_clock_pass_s(int64_t s) { own_clock_pass(s * (int64_t)CLOCK_SECOND_US); }
#endif
