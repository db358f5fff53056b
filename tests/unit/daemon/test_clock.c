/* Cache time beside the system's. */
#include "tap.h"

#include <time.h>

#include "base/clock.h"

enum { LOOKS_A_SECOND = 200, MISFIT_MS = 100 };

static int64_t system_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return t.tv_sec;
}

static long into_second_ms(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return t.tv_nsec / 1000000;
}

static void rest(void) { nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000 * 1000 / LOOKS_A_SECOND}, NULL); }

/* So that a clock that goes by the seconds since the machine's start alone would be seen to be wrong. */
static bool clocks_differ(void) {
    long apart_ms = into_second_ms(CLOCK_MONOTONIC) - into_second_ms(CLOCK_REALTIME);
    apart_ms = apart_ms < 0 ? -apart_ms : apart_ms;
    return apart_ms > MISFIT_MS && apart_ms < 1000 - MISFIT_MS;
}

int main(void) {
    bool differ = clocks_differ();
    unsigned looks = 0, wrong = 0, seconds = 0;
    int64_t last_s = 0;
    clock_start();
    for (unsigned i = 0; i < LOOKS_A_SECOND * 3 / 2 || seconds < 2; i++) {
        int64_t before_s = system_s(), told_s = clock_unix_s(clock_now_s()), after_s = system_s();
        if (before_s == after_s) { /* else it may be either */
            looks++;
            wrong += told_s != before_s;
        }
        seconds += told_s != last_s;
        last_s = told_s;
        rest();
    }
    is(wrong, 0, "in %u looks over %u seconds cache time has the system's second%s", looks, seconds, differ ? "" : " (the machine's clocks agree by chance)");
    return tap_done();
}
