/* What is forecast of other sizes and policies, and what is kept of it. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "tune/whatif/forecast.h"

#define MIB ((uint64_t)1 << 20)

static struct forecast_told told_of(double half, double now, double twice, double four, double band) {
    struct forecast_told t = {.enough = true,
                              .hit_ratio = {half, now, twice, four},
                              .band = {band, 0, band, 2 * band}};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX; i++) {
        t.policy_hit_ratio[i] = 0.01 * i;
        t.policy_band[i] = 0.001;
    }
    return t;
}

static struct forecast resize(uint64_t was, uint64_t is) {
    return (struct forecast){.bytes_was = was, .bytes_is = is, .policy_was = evict_policies[0], .policy_is = evict_policies[0]};
}

static void pass_windows(struct forecast_log *l, unsigned count, uint64_t hits, uint64_t misses) {
    for (unsigned i = 0; i < count; i++) {
        forecast_log_window(l, hits, misses);
    }
}

static void test_what_was_told_of_a_size_is_kept_and_held_against_what_came(void) {
    struct forecast_log l = {0};
    struct forecast_told t = told_of(0.4, 0.5, 0.7, 0.8, 0.02);
    struct forecast change = resize(64 * MIB, 128 * MIB);
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    is(l.made, 1, "a change of which something was told is kept");
    ok(fabs(l.kept[0].expected - 0.7) < 1e-9 && fabs(l.kept[0].band - 0.02) < 1e-9 && fabs(l.kept[0].before - 0.5) < 1e-9,
       "with what was told of it");
    ok(!l.told.enough, "and of the cache that is now nothing is told yet");
    pass_windows(&l, FORECAST_SETTLE, 10, 90);
    is(l.kept[0].state, FORECAST_WAITS, "the cache has time to settle");
    pass_windows(&l, FORECAST_MEASURE, 71, 29);
    is(l.kept[0].state, FORECAST_CAME, "then hits are counted");
    ok(fabs(l.kept[0].came - 0.71) < 1e-9, "of the windows after that alone: %.3f", l.kept[0].came);
    is(l.came, 1, "it is one that came");
    is(l.within, 1, "within its band");
    pass_windows(&l, 100, 0, 1);
    ok(fabs(l.kept[0].came - 0.71) < 1e-9, "what came later does not change it");

    t = told_of(0.6, 0.71, 0.75, 0.8, 0.02);
    change = resize(128 * MIB, 64 * MIB);
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    pass_windows(&l, FORECAST_SETTLE + FORECAST_MEASURE, 50, 50);
    is(l.came, 2, "another that came");
    is(l.within, 1, "outside of its band");
}

static void test_a_size_between_two_lies_between_them_and_one_beyond_is_not_told(void) {
    struct forecast_log l = {0};
    struct forecast_told t = told_of(0.4, 0.5, 0.7, 0.8, 0.02);
    struct forecast change = resize(100 * MIB, (uint64_t)(100 * sqrt(2)) * MIB);
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    ok(l.made == 1 && fabs(l.kept[0].expected - 0.6) < 0.002, "halfway by the logarithm: %.4f", l.kept[0].expected);
    forecast_log_told(&l, &t);
    change = resize(100 * MIB, 401 * MIB);
    forecast_log_changed(&l, &change);
    is(l.made, 1, "of more than four times the memory nothing was told");
    is(l.kept[0].state, FORECAST_OVERTAKEN, "and what waits is overtaken");
    forecast_log_told(&l, &t);
    change = resize(100 * MIB, 49 * MIB);
    forecast_log_changed(&l, &change);
    is(l.made, 1, "nor of less than half of it");
    pass_windows(&l, 100, 1, 1);
    is(l.came, 0, "and nothing comes of that");
}

static void test_a_policy_is_kept_but_not_with_a_size_nor_without_enough(void) {
    struct forecast_log l = {0};
    struct forecast_told t = told_of(0.4, 0.5, 0.7, 0.8, 0.02);
    struct forecast change = {.bytes_was = 64 * MIB, .bytes_is = 64 * MIB, .policy_was = evict_policies[0], .policy_is = evict_policies[3]};
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    ok(l.made == 1 && fabs(l.kept[0].expected - 0.03) < 1e-9, "a policy is told by its miniature");
    change.bytes_is = 128 * MIB;
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    is(l.made, 1, "of both at once nothing is");
    t.enough = false;
    change = resize(64 * MIB, 128 * MIB);
    forecast_log_told(&l, &t);
    forecast_log_changed(&l, &change);
    is(l.made, 1, "nor while the sample has not enough");
}

static void test_the_last_ones_are_kept_and_all_are_counted(void) {
    struct forecast_log l = {0};
    struct forecast_told t = told_of(0.4, 0.5, 0.7, 0.8, 0.02);
    for (uint64_t i = 0; i < FORECAST_KEPT + 5; i++) {
        struct forecast change = resize((100 + i) * MIB, (101 + i) * MIB);
        forecast_log_told(&l, &t);
        forecast_log_changed(&l, &change);
    }
    is(l.count, FORECAST_KEPT, "the last ones are kept");
    is(l.made, FORECAST_KEPT + 5, "all are counted");
    is(l.kept[0].bytes_was / MIB, 105, "the oldest go");
    is(l.kept[0].state, FORECAST_OVERTAKEN, "each was overtaken by the next");
    is(l.kept[FORECAST_KEPT - 1].state, FORECAST_WAITS, "but for the last");
}

static void test_a_sample_that_saw_little_tells_what_it_lacks(void) {
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    struct forecast_told t;
    k.bytes[3] = 64 << 20;
    shadow_set(s, 64 << 20, &k, &evict_lru, UINT32_MAX);
    forecast_tell(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "0 of 4 quarters of a turnover were seen") == 0, "%s", t.lacks);
    for (unsigned i = 0; i < FORECAST_WINDOWS_MIN; i++) {
        shadow_window_end(s, 1);
    }
    forecast_tell(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "0 of 1000 sampled reads were seen") == 0, "%s", t.lacks);
    for (uint64_t i = 0; i < 5000; i++) {
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){i % 10}, 8), .bytes = 500, .class_id = 3, .verb = SAMPLE_HIT};
        shadow_record(s, &r, 0);
    }
    shadow_window_end(s, 5000);
    forecast_tell(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "10 of 64 keys are in the sample") == 0, "%s", t.lacks);
    for (uint64_t i = 0; i < 5000; i++) {
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){i % 100}, 8), .bytes = 500, .class_id = 3, .verb = SAMPLE_HIT};
        shadow_record(s, &r, 0);
    }
    shadow_window_end(s, 5000);
    forecast_tell(s, 0.5, 0.5, &t);
    ok(t.enough && t.lacks[0] == '\0', "then it has enough");
    shadow_forget_sizes(s);
    forecast_tell(s, 0.5, 0.5, &t);
    ok(!t.enough, "and not when the cache is of another size");
    shadow_destroy(&s);
}

/* The half band of twice the memory. The miniature hits all but the first read of each key; the cache does as well, or misses every
 * other read. */
static double band_told(bool cache_misses_more) {
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    struct forecast_told t;
    k.bytes[3] = 64 << 20;
    shadow_set(s, 64 << 20, &k, &evict_lru, UINT32_MAX);
    for (uint64_t i = 0; i < 5000; i++) {
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){i % 100}, 8), .bytes = 500, .class_id = 3, .verb = SAMPLE_HIT};
        if (i < 100 || (cache_misses_more && i % 2 == 0)) {
            shadow_record(s, &(struct sample_record){.hash = r.hash, .verb = SAMPLE_MISS}, 0);
            r.verb = SAMPLE_STORE;
        }
        shadow_record(s, &r, 0);
    }
    for (unsigned i = 0; i < FORECAST_WINDOWS_MIN; i++) {
        shadow_window_end(s, 5000);
    }
    forecast_tell(s, 0.9, 0.9, &t);
    ok(t.enough, "the sample has enough%s", t.lacks);
    shadow_destroy(&s);
    return t.band[2];
}

static void test_the_band_is_as_wide_as_the_miniature_is_off_today(void) {
    double as_good = band_told(false), worse = band_told(true);
    ok(as_good > 0 && as_good < 0.01, "where a miniature does as the cache, the band is that of the sample: %.4f", as_good);
    ok(worse > 0.2, "where it does not, the band says so: %.4f", worse);
}

/* The half band of half the memory, of a cache of 16 pages whose reads are of one class. Others have so many of the pages. */
static double half_band_told(unsigned others) {
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 1, 0};
    enum { PAGES = 16, READ = 3, KEYS = 120, KEY_BYTES = 100000 };
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = (double)MIB};
    struct forecast_told t;
    k.bytes[READ] = (double)((PAGES - others) * MIB);
    for (unsigned i = 1; i <= others; i++) {
        k.bytes[READ + i] = (double)MIB;
    }
    for (uint64_t i = 0, x = 1; i < 8000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){(x >> 33) % KEYS}, 8), .bytes = KEY_BYTES, .class_id = READ, .verb = SAMPLE_HIT};
        if (i % 2000 == 0) { /* the share of half the memory is of what was read */
            shadow_set(s, PAGES * MIB, &k, &evict_lru, UINT32_MAX);
            shadow_window_end(s, 2000);
        }
        shadow_record(s, &r, 0);
    }
    shadow_window_end(s, 2000);
    double today = 1 - KEYS / 8000.0; /* all but the first read of each key */
    forecast_tell(s, today, today, &t);
    ok(t.enough && t.hit_ratio[0] < 0.8, "half the memory would hit less: %.4f%s", t.hit_ratio[0], t.lacks);
    shadow_destroy(&s);
    return t.band[0];
}

static void test_the_band_of_half_the_memory_is_wider_where_classes_keep_pages(void) {
    double alone = half_band_told(0), beside = half_band_told(7);
    ok(alone > 0 && alone < 0.1, "where one class has all pages, half of them are half the memory: %.4f", alone);
    ok(beside > 2 * alone, "where others keep a page each, how much less is left may be reckoned wrong: %.4f", beside);
}

int main(void) {
    test_what_was_told_of_a_size_is_kept_and_held_against_what_came();
    test_a_size_between_two_lies_between_them_and_one_beyond_is_not_told();
    test_a_policy_is_kept_but_not_with_a_size_nor_without_enough();
    test_the_last_ones_are_kept_and_all_are_counted();
    test_a_sample_that_saw_little_tells_what_it_lacks();
    test_the_band_is_as_wide_as_the_miniature_is_off_today();
    test_the_band_of_half_the_memory_is_wider_where_classes_keep_pages();
    return tap_done();
}
