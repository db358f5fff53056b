#include "facts/history.h"
#include "tap.h"

#include <math.h>

TEST(test_the_ring_keeps_the_newest) {
    struct history history;
    ok(history_init(&history, 4, 2), "init");
    for (int i = 0; i < 10; i++) {
        history_begin(&history, (uint64_t)i * 1000);
        history_set(&history, 0, i);
    }
    float values[8];
    is(history_copy(&history, 0, values, 8), 4, "as many as fit the ring");
    ok(values[0] == 6 && values[3] == 9, "oldest first, the newest are kept");
    is(history_copy(&history, 0, values, 2), 2, "or the requested number");
    ok(values[0] == 8 && values[1] == 9, "the newest of them");
    ok(isnan(history_value(&history, 1, 0)), "a series without values is unknown");
    ok(isnan(history_value(&history, 0, 4)), "so is a sample that the ring has dropped");
    history_fini(&history);
}

TEST(test_means_weigh_by_time_and_skip_gaps) {
    struct history history;
    history_init(&history, 10, 1);
    history_begin(&history, 0);
    history_begin(&history, 1000);
    history_set(&history, 0, 10); /* has the value of one second */
    history_begin(&history, 4000);
    history_set(&history, 0, 50); /* for three */
    history_begin(&history, 5000);
    ok(history_mean(&history, 0, 10000) == 40, "(10 x 1 + 50 x 3) / 4, the gap counts for nothing");
    ok(history_mean(&history, 0, 2000) == 50, "a window has the younger samples");
    ok(isnan(history_mean(&history, 0, 500)), "nothing measured in the window is unknown, not zero");
    history_fini(&history);
}

TEST(test_changes_and_means_stop_at_a_break) {
    struct history history;
    history_init(&history, 10, 1);
    for (int i = 0; i < 3; i++) {
        history_begin(&history, (uint64_t)i * 1000);
        history_set(&history, 0, 100 + i);
    }
    ok(history_change(&history, 0, 60000) == 2, "change since the oldest in the window");
    history_break(&history);
    history_begin(&history, 3000);
    history_set(&history, 0, 5);
    ok(history_change(&history, 0, 60000) == 0, "a new life starts at no change");
    ok(isnan(history_mean(&history, 0, 60000)), "and without a mean");
    float values[4];
    is(history_copy(&history, 0, values, 4), 4, "graphs still show earlier samples");
    history_fini(&history);
}

TEST(test_a_series_that_stays_takes_no_room) {
    struct history history;
    history_init(&history, 4, 2);
    for (int i = 0; i < 6; i++) {
        history_begin(&history, (uint64_t)i * 1000);
        history_set(&history, 0, 7);
        if (i != 4) {
            history_set(&history, 1, 3);
        }
    }
    float values[4];
    ok(history.series[0].values == NULL && history.series[1].values != NULL, "one value takes none, a gap does");
    is(history_copy(&history, 0, values, 4), 4, "it has all samples");
    ok(values[0] == 7 && values[3] == 7, "of one value");
    history_copy(&history, 1, values, 4);
    ok(values[1] == 3 && isnan(values[2]) && values[3] == 3, "and a gap where it was not measured");
    history_begin(&history, 6000);
    history_set(&history, 0, 8);
    history_copy(&history, 0, values, 4);
    ok(values[0] == 7 && values[2] == 7 && values[3] == 8, "another value takes earlier samples along");
    history_begin(&history, 7000);
    ok(isnan(history_value(&history, 0, 0)) && history_value(&history, 0, 1) == 8, "the newest is unknown until it is set");
    history_clear(&history, 0);
    ok(isnan(history_value(&history, 0, 1)), "a series that was emptied has none");
    history_fini(&history);
}

TEST(test_a_mean_is_over_the_samples_seen) {
    struct history history;
    history_init(&history, 4, 1);
    is(history_covered_ms(&history, 10000), 0, "nothing before the first sample");
    for (unsigned i = 0; i < 4; i++) {
        history_begin(&history, 5000 + i * 2000);
    }
    is(history_covered_ms(&history, 10000), 6000, "less than the window where less was seen");
    is(history_covered_ms(&history, 5000), 5000, "never more than the window");
    history_break(&history);
    history_begin(&history, 20000);
    is(history_covered_ms(&history, 10000), 0, "and nothing of another life of the server");
    history_fini(&history);
}

int main(void) { return tap_main(); }
