/* The latency histogram: exact where its header says so, within 0.8 % elsewhere. */
#include "tap.h"

#include "histogram.h"
#include "random.h"

static struct histogram a, b, both;

static int compare(const void *x, const void *y) {
    uint64_t p = *(const uint64_t *)x, q = *(const uint64_t *)y;
    return (p > q) - (p < q);
}

static void small_values_are_exact(void) {
    memset(&a, 0, sizeof(a));
    for (uint64_t v = 1; v <= 100; v++) {
        histogram_record(&a, v, 1);
    }
    is(histogram_percentile_ns(&a, 50), 50, "the median of 1..100 is 50");
    is(histogram_percentile_ns(&a, 99), 99, "the 99th percentile is 99");
    is(histogram_percentile_ns(&a, 0), 1, "the 0th is the smallest");
    is(histogram_percentile_ns(&a, 100), 100, "the 100th is the largest");
    ok(histogram_mean_ns(&a) == 50.5, "the mean is exact");
}

static void empty(void) {
    memset(&a, 0, sizeof(a));
    is(histogram_percentile_ns(&a, 99), 0, "an empty histogram says 0");
    ok(histogram_mean_ns(&a) == 0, "and has mean 0");
    histogram_merge(&a, &a);
    is(a.count, 0, "merging empties stays empty");
}

static void percentiles_are_close(uint64_t seed) {
    enum { N = 50000 };
    static uint64_t values[N];
    static const double percents[] = {1, 25, 50, 90, 99, 99.9, 99.99};
    struct rng r = rng_from(seed);
    memset(&a, 0, sizeof(a));
    for (int i = 0; i < N; i++) {
        values[i] = rng_next(&r) >> (24 + rng_below(&r, 40)); /* all magnitudes alike */
        histogram_record(&a, values[i], 1);
    }
    qsort(values, N, sizeof(*values), compare);
    for (size_t i = 0; i < sizeof(percents) / sizeof(*percents); i++) {
        uint64_t exact = values[(size_t)(N * percents[i] / 100 + 0.999999) - 1];
        uint64_t got = histogram_percentile_ns(&a, percents[i]);
        ok(got >= exact && (double)(got - exact) <= 0.008 * (double)exact,
           "p%g is at most 0.8 %% above the truth: %" PRIu64 " for %" PRIu64, percents[i], got, exact);
    }
    is(a.max_ns, values[N - 1], "the maximum is exact");
    is(a.min_ns, values[0], "the minimum is exact");
}

static void merge_equals_recording_together(uint64_t seed) {
    struct rng r = rng_from(seed);
    memset(&a, 0, sizeof(a));
    memset(&b, 0, sizeof(b));
    memset(&both, 0, sizeof(both));
    for (int i = 0; i < 10000; i++) {
        uint64_t v = rng_below(&r, 1000000000), times = 1 + rng_below(&r, 50);
        histogram_record(i % 3 ? &a : &b, v, times);
        histogram_record(&both, v, times);
    }
    histogram_merge(&a, &b);
    ok(memcmp(&a, &both, sizeof(a)) == 0, "merging is the same as recording into one");
}

static void what_came_since_is_told_apart(uint64_t seed) {
    struct rng r = rng_from(seed);
    static struct histogram now, before, since;
    memset(&a, 0, sizeof(a));
    memset(&both, 0, sizeof(both));
    memset(&before, 0, sizeof(before));
    for (int i = 0; i < 1000; i++) {
        histogram_record(&a, 5000000 + rng_below(&r, 1000), 1);
    }
    histogram_merge_running(&before, &a);
    is(before.count, 1000, "another thread's values so far are counted");
    for (int i = 0; i < 10000; i++) {
        uint64_t v = rng_below(&r, 1000000);
        histogram_record(&a, v, 1);
        histogram_record(&both, v, 1);
    }
    memset(&now, 0, sizeof(now));
    histogram_merge_running(&now, &a);
    histogram_since(&since, &now, &before);
    is(since.count, 10000, "later values are the difference");
    bool same = true;
    for (double percent = 1; percent < 100; percent++) {
        same = same && histogram_percentile_ns(&since, percent) == histogram_percentile_ns(&both, percent);
    }
    ok(same, "with the percentiles of later values");
    ok(since.max_ns >= both.max_ns && since.max_ns <= both.max_ns + both.max_ns / 128 + 1, "its maximum is the edge of a bucket");
    histogram_since(&since, &now, &now);
    is(histogram_percentile_ns(&since, 99), 0, "nothing since has percentile 0");
}

static void extremes(void) {
    memset(&a, 0, sizeof(a));
    histogram_record(&a, 0, 1);
    histogram_record(&a, HISTOGRAM_MAX_NS, 1);
    histogram_record(&a, HISTOGRAM_MAX_NS + 1, 1);
    histogram_record(&a, UINT64_MAX / 8, 1);
    is(a.count, 4, "values beyond the range are counted");
    is(histogram_percentile_ns(&a, 1), 0, "zero is a latency");
    is(histogram_percentile_ns(&a, 100), HISTOGRAM_MAX_NS, "beyond the range percentiles stop");
    is(a.max_ns, UINT64_MAX / 8, "but the maximum is kept");
}

int main(void) {
    uint64_t seed = tap_seed();
    small_values_are_exact();
    empty();
    percentiles_are_close(seed);
    merge_equals_recording_together(seed);
    what_came_since_is_told_apart(seed);
    extremes();
    return tap_done();
}
