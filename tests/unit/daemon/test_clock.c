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
    own_calendar_us -= 1000 * (int64_t)CLOCK_SECOND_US;
    is(clock_uptime_s(), SECONDS, "a calendar that is set back sets back nothing");
    return tap_done();
}
