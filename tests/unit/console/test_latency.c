#include "facts/latency.h"
#include "tap.h"

#include <math.h>

TEST(test_quantiles) {
    float us[100];
    for (int i = 0; i < 100; i++) {
        us[i] = (float)(100 - i); /* 1 to 100 us, the longest first */
    }
    struct latency_summary summary = latency_of(us, 100);
    is(summary.count, 100, "all are counted");
    ok(summary.p50_us == 50 && summary.p90_us == 90 && summary.p99_us == 99 && summary.most_us == 100,
       "quantiles are times that were measured");
    is(summary.buckets[0], 10, "ten took at most 10 us");
    is(summary.buckets[1], 10, "ten up to 20");
    is(summary.buckets[2], 30, "thirty up to 50");
    is(summary.buckets[3], 50, "the rest up to 100");
}

TEST(test_figures_not_measured_are_left_out) {
    float us[] = {NAN, 5, NAN, 2e6f};
    struct latency_summary summary = latency_of(us, 4);
    is(summary.count, 2, "of four two are known");
    is(summary.buckets[LATENCY_BUCKETS - 1], 1, "two seconds are beyond all limits");
    struct latency_summary none = latency_of(us, 0);
    ok(none.count == 0 && isnan(none.p50_us) && isnan(none.most_us), "without any nothing is known");
}

TEST(test_the_oldest_go) {
    static struct latency_log log;
    for (int i = 0; i < LATENCY_SAMPLES; i++) {
        latency_add(&log, 1000);
    }
    for (int i = 0; i < LATENCY_SAMPLES; i++) {
        latency_add(&log, 10);
    }
    is(latency_of_log(&log).count, LATENCY_SAMPLES, "so many are kept");
    ok(latency_of_log(&log).most_us == 10, "and those before are forgotten");
}

int main(void) { return tap_main(); }
