/* What is predicted of other sizes and policies, and what came of it. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "tune/whatif/prediction.h"

#define MIB ((uint64_t)1 << 20)

static struct prediction_log told(double half, double now, double twice, double four, double band) {
    struct prediction_log l = {.told = {.enough = true,
                                        .hit_ratio = {half, now, twice, four},
                                        .band = {band, 0, band, 2 * band}}};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX; i++) {
        l.told.policy_hit_ratio[i] = 0.01 * i;
        l.told.policy_band[i] = 0.001;
    }
    return l;
}

static void change(struct prediction_log *l, uint64_t mib_was, uint64_t mib_is, unsigned policy_is) {
    prediction_log_changed(l, &(struct prediction_change){.bytes_was = mib_was * MIB,
                                                          .bytes_is = mib_is * MIB,
                                                          .policy_was = evict_policies[0],
                                                          .policy_is = evict_policies[policy_is]});
}

/* Whether the last of these windows has something to compare, and none before. */
static bool last_window_compares(struct prediction_log *l, unsigned count, uint64_t hits, uint64_t misses) {
    for (unsigned i = 1; i < count; i++) {
        if (prediction_log_window(l, hits, misses)) {
            return false;
        }
    }
    return prediction_log_window(l, hits, misses);
}

static void test_what_was_told_of_a_size_is_held_against_what_came(void) {
    char words[PREDICTION_WORDS_BYTES];
    struct prediction_log l = told(0.4, 0.5, 0.7, 0.8, 0.02);
    change(&l, 64, 128, 0);
    ok(l.waits && fabs(l.change.expected - 0.7) < 1e-9 && fabs(l.change.band - 0.02) < 1e-9 && fabs(l.change.before - 0.5) < 1e-9,
       "a change of which something was told is kept, with that");
    ok(!l.told.enough && strcmp(l.told.lacks, "the cache changed a moment ago") == 0, "and of the cache that is now nothing is told yet");
    ok(!last_window_compares(&l, PREDICTION_SETTLE, 10, 90), "the cache has time to settle");
    ok(last_window_compares(&l, PREDICTION_MEASURE, 71, 29), "then hits are counted");
    ok(fabs(l.change.came - 0.71) < 1e-9, "of the windows after that alone: %.3f", l.change.came);
    ok(l.came == 1 && l.within == 1, "it came within its band");
    prediction_change_words(&l.change, words);
    ok(strcmp(words, "maxbytes 67108864 to 134217728: 0.7000 expected with a band of 0.0200, 0.5000 before, 0.7100 came: within") == 0, "%s", words);
    ok(!last_window_compares(&l, 100, 0, 1) && fabs(l.change.came - 0.71) < 1e-9, "what comes later does not change it");
    l.told = told(0.6, 0.71, 0.75, 0.8, 0.02).told;
    change(&l, 128, 64, 0);
    ok(last_window_compares(&l, PREDICTION_SETTLE + PREDICTION_MEASURE, 50, 50), "another comes");
    ok(l.came == 2 && l.within == 1, "outside of its band");
}

static void test_a_size_between_two_lies_between_them_and_one_beyond_is_not_told(void) {
    struct prediction_log l = told(0.4, 0.5, 0.7, 0.8, 0.02), before = l;
    change(&l, 1000, (uint64_t)(1000 * sqrt(2)), 0);
    ok(l.waits && fabs(l.change.expected - 0.6) < 0.002, "halfway by the logarithm: %.4f", l.change.expected);
    l.told = before.told;
    change(&l, 100, 401, 0);
    ok(!l.waits, "of more than four times the memory nothing is told, and the change before is overtaken");
    l.told = before.told;
    change(&l, 100, 49, 0);
    ok(!l.waits, "nor of less than half of it");
    ok(!last_window_compares(&l, 100, 1, 1) && l.came == 0, "and nothing comes of that");
}

static void test_a_policy_is_kept_but_not_with_a_size_nor_without_enough(void) {
    char words[PREDICTION_WORDS_BYTES];
    struct prediction_log l = told(0.4, 0.5, 0.7, 0.8, 0.02), before = l;
    change(&l, 64, 64, 3);
    ok(l.waits && fabs(l.change.expected - 0.03) < 1e-9, "a policy is told by its miniature");
    prediction_change_words(&l.change, words);
    ok(strncmp(words, "policy ", 7) == 0 && strstr(words, evict_policies[3]->name) != NULL && strstr(words, "beyond") != NULL, "%s", words);
    l.told = before.told;
    change(&l, 64, 128, 3);
    ok(!l.waits, "of both at once nothing is");
    l.told = before.told;
    l.told.enough = false;
    change(&l, 64, 128, 0);
    ok(!l.waits, "nor while the sample has not enough");
}

static void test_a_sample_that_saw_little_tells_what_it_lacks(void) {
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    struct prediction t;
    k.bytes[3] = 64 << 20;
    shadow_set(s, 64 << 20, &k, &evict_lru, UINT32_MAX);
    prediction_make(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "0 of 4 quarters of a turnover were seen") == 0, "%s", t.lacks);
    for (unsigned i = 0; i < PREDICTION_WINDOWS_MIN; i++) {
        shadow_window_end(s, 1);
    }
    prediction_make(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "0 of 1000 sampled reads were seen") == 0, "%s", t.lacks);
    for (uint64_t i = 0; i < 5000; i++) {
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){i % 10}, 8), .bytes = 500, .class_id = 3, .verb = SAMPLE_HIT};
        shadow_record(s, &r, 0);
    }
    shadow_window_end(s, 5000);
    prediction_make(s, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "10 of 64 keys are in the sample") == 0, "%s", t.lacks);
    for (uint64_t i = 0; i < 5000; i++) {
        struct sample_record r = {.hash = key_hash((const char *)&(uint64_t){i % 100}, 8), .bytes = 500, .class_id = 3, .verb = SAMPLE_HIT};
        shadow_record(s, &r, 0);
    }
    shadow_window_end(s, 5000);
    prediction_make(s, 0.5, 0.5, &t);
    ok(t.enough && t.lacks[0] == '\0', "then it has enough");
    shadow_forget_sizes(s);
    prediction_make(s, 0.5, 0.5, &t);
    ok(!t.enough, "and not when the cache is of another size");
    shadow_destroy(&s);
}

/* The half band of twice the memory. The miniature hits all but the first read of each key; the cache does as well, or misses every
 * other read. */
static double band_told(bool cache_misses_more) {
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    struct prediction t;
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
    for (unsigned i = 0; i < PREDICTION_WINDOWS_MIN; i++) {
        shadow_window_end(s, 5000);
    }
    prediction_make(s, 0.9, 0.9, &t);
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
    struct prediction t;
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
    prediction_make(s, today, today, &t);
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
    test_what_was_told_of_a_size_is_held_against_what_came();
    test_a_size_between_two_lies_between_them_and_one_beyond_is_not_told();
    test_a_policy_is_kept_but_not_with_a_size_nor_without_enough();
    test_a_sample_that_saw_little_tells_what_it_lacks();
    test_the_band_is_as_wide_as_the_miniature_is_off_today();
    test_the_band_of_half_the_memory_is_wider_where_classes_keep_pages();
    return tap_done();
}
