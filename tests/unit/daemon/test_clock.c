/* Cache time beside the system's. */
#include "tap.h"

#include "own_clock.h"

enum { STEP_US = 3 * 1000, SECONDS = 3 };

int main(void) {
    unsigned wrong = 0, looks = 0;
    clock_start();
    int64_t end_s = clock_system(CLOCK_REALTIME).tv_sec + SECONDS, now_s;
    for (; (now_s = clock_system(CLOCK_REALTIME).tv_sec) < end_s; looks++) {
        wrong += clock_unix_s(clock_now_s()) != now_s;
        own_clock_pass(STEP_US);
    }
    is(wrong, 0, "in %u looks over %d seconds cache time has the system's second", looks, SECONDS);
    is(clock_uptime_s(), SECONDS, "and so has the time since the start");
    int64_t unix_at_0 = clock_unix_at_0();
    own_coarse_late_us = 10 * 1000;
    for (wrong = looks = 0; looks < 1000; looks++) {
        wrong += clock_unix_at_0() != unix_at_0;
        own_clock_pass(STEP_US);
    }
    is(wrong, 0, "where the coarse clocks are late the next process does not begin a second before this one's end");
    own_coarse_late_us = 0;
    uint32_t uptime_s = clock_uptime_s();
    own_calendar_us -= 1000 * (int64_t)CLOCK_SECOND_US;
    is(clock_uptime_s(), uptime_s, "a calendar that is set back sets back nothing");
    return tap_done();
}
