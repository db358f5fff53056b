/* Predictions of other sizes and policies, and their outcome. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "control/sampling/prediction.h"

#define MIB ((uint64_t)1 << 20)

static const double no_hits[CURVE_CLASSES];

static struct prediction_log made(double half, double now, double twice, double four, double band) {
    struct prediction_log l = {.made = {.enough = true,
                                        .hit_ratio = {0, half / 2, half, now, twice, four, 1},
                                        .band = {band, band, band, 0, band, 2 * band, 2 * band}}};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX; i++) {
        l.made.policy_hit_ratio[i] = 0.01 * i;
        l.made.policy_band[i] = 0.001;
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

TEST(test_predictions_of_a_size_are_compared_with_its_outcome) {
    char words[PREDICTION_WORDS_BYTES];
    struct prediction_log l = made(0.4, 0.5, 0.7, 0.8, 0.02);
    change(&l, 64, 128, 0);
    ok(l.waits && fabs(l.change.expected - 0.7) < 1e-9 && fabs(l.change.band - 0.02) < 1e-9 && fabs(l.change.before - 0.5) < 1e-9,
       "a change of which something was told is kept, with that");
    ok(!l.made.enough && strcmp(l.made.lacks, "no quarter of a turnover was seen since the last change") == 0,
       "and of the cache that is now nothing is told yet");
    ok(!last_window_compares(&l, PREDICTION_SETTLE, 10, 90), "the cache has time to settle");
    ok(last_window_compares(&l, PREDICTION_MEASURE, 71, 29), "then hits are counted");
    ok(fabs(l.change.came - 0.71) < 1e-9, "of the windows after that alone: %.3f", l.change.came);
    ok(l.came == 1 && l.within == 1, "it came within its band");
    prediction_change_words(&l.change, words);
    ok(strcmp(words, "maxbytes 67108864 to 134217728: 0.7000 expected with a band of 0.0200, 0.5000 before, 0.7100 came: within") == 0, "%s", words);
    ok(!last_window_compares(&l, 100, 0, 1) && fabs(l.change.came - 0.71) < 1e-9, "later samples do not change it");
    l.made = made(0.6, 0.71, 0.75, 0.8, 0.02).made;
    change(&l, 128, 64, 0);
    ok(last_window_compares(&l, PREDICTION_SETTLE_SMALLER + PREDICTION_MEASURE, 50, 50), "another comes, sooner for less memory");
    ok(l.came == 2 && l.within == 1, "outside of its band");
}

TEST(test_a_change_that_is_taken_back_is_compared_with_what_was_seen) {
    struct prediction_log l = made(0.4, 0.5, 0.7, 0.8, 0.02);
    change(&l, 64, 32, 0);
    ok(!last_window_compares(&l, PREDICTION_SETTLE_SMALLER, 10, 90) && !prediction_log_overtaken(&l), "before the cache has settled nothing is");
    ok(!last_window_compares(&l, 1, 30, 70) && prediction_log_overtaken(&l) && fabs(l.change.came - 0.3) < 1e-9, "then what was counted: %.3f",
       l.change.came);
    ok(l.came == 1 && l.within == 0 && !prediction_log_overtaken(&l), "once, and this one failed");
}

TEST(test_the_changes_that_are_reported) {
    static const struct {
        uint64_t    was, is;
        unsigned    policy;
        bool        lacks, waits;
        double      expected;
        const char *claim;
    } rows[] = {{1000, 1414, 0, false, true, 0.6, "a size between two lies between them, by the logarithm"},
                {100, 801, 0, false, false, 0, "of more than eight times the memory nothing is told, and the change before is overtaken"},
                {100, 12, 0, false, false, 0, "nor of less than an eighth of it"},
                {100, 25, 0, false, true, 0.2, "a quarter of it has a prediction"},
                {64, 64, 3, false, true, 0.03, "a policy is told by its miniature"},
                {64, 128, 3, false, false, 0, "of both at once nothing is"},
                {64, 128, 0, true, false, 0, "nor while the sample has not enough"}};
    char words[PREDICTION_WORDS_BYTES];
    struct prediction_log l = made(0.4, 0.5, 0.7, 0.8, 0.02), before = l;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        l.made = before.made;
        l.made.enough = !rows[i].lacks;
        change(&l, rows[i].was, rows[i].is, rows[i].policy);
        ok(l.waits == rows[i].waits && (!l.waits || fabs(l.change.expected - rows[i].expected) < 0.002), "%s", rows[i].claim);
        if (rows[i].policy != 0 && l.waits) {
            prediction_change_words(&l.change, words);
            ok(strncmp(words, "policy ", 7) == 0 && strstr(words, evict_policies[3]->name) != NULL && strstr(words, "beyond") != NULL, "%s", words);
        }
    }
    ok(!last_window_compares(&l, 100, 1, 1) && l.came == 0, "and without a prediction there is no outcome");
}

static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};

/* A sample of a cache of so many pages, whose reads are of class 3. Other classes have so many of the pages. */
static struct shadow *sample_of(unsigned pages, unsigned others, struct share_classes *k) {
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    *k = (struct share_classes){.page_bytes = (double)MIB};
    for (unsigned i = 0; i <= others; i++) {
        k->bytes[3 + i] = (double)((i == 0 ? pages - others : 1) * MIB);
    }
    shadow_set(s, pages * MIB, k, &evict_lru, UINT32_MAX);
    return s;
}

static void read_key(struct shadow *s, uint64_t key, uint32_t bytes, enum sample_verb verb) {
    struct sample_record r = {.hash = key_hash((const char *)&key, sizeof key), .bytes = verb == SAMPLE_MISS ? 0 : bytes,
                              .class_id = verb == SAMPLE_MISS ? 0 : 3, .verb = verb};
    shadow_record(s, &r, 0);
}

static void read_keys(struct shadow *s, uint64_t keys) {
    for (uint64_t i = 0; i < 5000; i++) {
        read_key(s, i % keys, 500, SAMPLE_HIT);
    }
    shadow_window_end(s, no_hits);
}

TEST(test_a_small_sample_reports_its_lack) {
    struct share_classes k;
    struct shadow *s = sample_of(64, 0, &k);
    struct prediction t;
    prediction_make(s, &k, 64.0 * MIB, 0.5, 0.5, &t);
    is_str(t.lacks, "0 of 4 quarters of a turnover were seen", "no window");
    for (unsigned i = 0; i < PREDICTION_WINDOWS_MIN; i++) {
        shadow_window_end(s, no_hits);
    }
    prediction_make(s, &k, 64.0 * MIB, 0.5, 0.5, &t);
    is_str(t.lacks, "0 of 1000 sampled reads were seen", "no read");
    read_keys(s, 10);
    prediction_make(s, &k, 64.0 * MIB, 0.5, 0.5, &t);
    ok(!t.enough && strcmp(t.lacks, "10 of 64 keys are in the sample") == 0, "few keys: %s", t.lacks);
    read_keys(s, 100);
    prediction_make(s, &k, 64.0 * MIB, 0.5, 0.5, &t);
    ok(t.enough && t.lacks[0] == '\0', "then it has enough");
    shadow_forget_sizes(s);
    prediction_make(s, &k, 64.0 * MIB, 0.5, 0.5, &t);
    ok(!t.enough, "and not when the cache is of another size");
    shadow_destroy(&s);
}

/* The half band of half the memory. The miniature hits all but the first read of each key; the cache does as well, or misses every
 * other read. */
static double band_told(bool cache_misses_more) {
    struct share_classes k;
    struct shadow *s = sample_of(64, 0, &k);
    struct prediction t;
    for (uint64_t i = 0; i < 5000; i++) {
        bool misses = i < 100 || (cache_misses_more && i % 2 == 0);
        if (misses) {
            read_key(s, i % 100, 0, SAMPLE_MISS);
        }
        read_key(s, i % 100, 500, misses ? SAMPLE_STORE : SAMPLE_HIT);
    }
    for (unsigned i = 0; i < PREDICTION_WINDOWS_MIN; i++) {
        shadow_window_end(s, no_hits);
    }
    prediction_make(s, &k, 64.0 * MIB, 0.9, 0.9, &t);
    shadow_destroy(&s);
    return t.enough ? t.band[PREDICTION_HALF] : -1;
}

TEST(test_the_band_is_as_wide_as_the_miniature_is_off_today) {
    double as_good = band_told(false), worse = band_told(true);
    ok(as_good > 0 && as_good < 0.01, "where a miniature does as the cache, the band is that of the sample: %.4f", as_good);
    ok(worse > 0.2, "where it does not, the band says so: %.4f", worse);
}

/* Half of the band of a prediction for half the memory: a cache of 16 pages whose reads are of one class. */
static double half_band_told(unsigned others) {
    enum { PAGES = 16, KEYS = 120, READS = 8000 };
    struct share_classes k;
    struct shadow *s = sample_of(PAGES, others, &k);
    struct prediction t;
    for (uint64_t i = 0, x = 1; i < READS; i++) {
        if (i % (READS / 4) == 0) { /* half the memory gives a class a share by its reads so far */
            shadow_set(s, PAGES * MIB, &k, &evict_lru, UINT32_MAX);
            shadow_window_end(s, no_hits);
        }
        read_key(s, tap_random(&x) % KEYS, 100000, SAMPLE_HIT);
    }
    shadow_window_end(s, no_hits);
    double today = 1 - KEYS / (double)READS; /* all but the first read of each key */
    prediction_make(s, &k, (double)(PAGES * MIB), today, today, &t);
    shadow_destroy(&s);
    return t.enough && t.hit_ratio[PREDICTION_HALF] < 0.8 ? t.band[PREDICTION_HALF] : -1;
}

TEST(test_the_band_of_half_the_memory_is_wider_where_classes_keep_pages) {
    double alone = half_band_told(0), beside = half_band_told(7);
    ok(alone > 0 && alone < 0.1, "where one class has all pages, half of them are half the memory: %.4f", alone);
    ok(beside > 2 * alone, "where others keep a page each, how much less is left may be reckoned wrong: %.4f", beside);
}

TEST(test_the_band_of_a_policy_is_as_wide_as_its_mean_lags) {
    struct share_classes k;
    struct shadow *s = sample_of(64, 0, &k);
    struct shadow_counts t = {.reads = 10000, .own_misses = 5000, .better = 1000, .deviation = 100, .trend = -300};
    ok(prediction_policy_band(s, &t, 0.5) > 1.96 * 0.03, "a lead that shrinks: %.4f", prediction_policy_band(s, &t, 0.5));
    t.trend = 0;
    ok(prediction_policy_band(s, &t, 0.5) < 1.96 * 0.03, "one that stays: %.4f", prediction_policy_band(s, &t, 0.5));
    shadow_destroy(&s);
}

/* Half of the band of a prediction for so many times the memory, of a cache whose keys need four times its memory. Its LRU hits a quarter
 * of the reads, its policy so many. */
static double more_band_told(unsigned point, double hit_ratio) {
    enum { PAGES = 8, KEYS = 335, ITEM_BYTES = 100000, READS = 40000, WINDOWS = 8 };
    struct share_classes k;
    struct shadow *s = sample_of(PAGES, 0, &k);
    struct prediction t;
    const double hits[CURVE_CLASSES] = {[3] = READS / 4.0 / WINDOWS};
    for (uint64_t i = 0, x = 1; i < READS; i++) {
        uint64_t key = tap_random(&x) % KEYS;
        if (i % 4 != 0) {
            read_key(s, key, 0, SAMPLE_MISS);
        }
        read_key(s, key, ITEM_BYTES, i % 4 != 0 ? SAMPLE_STORE : SAMPLE_HIT);
        if (i % (READS / WINDOWS) == READS / WINDOWS - 1) {
            shadow_window_end(s, hits);
        }
    }
    prediction_make(s, &k, (double)(PAGES * MIB), hit_ratio, hit_ratio, &t);
    shadow_destroy(&s);
    return t.enough ? t.band[point] : -1;
}

TEST(test_the_band_of_more_memory_is_wider_where_the_policy_leads_the_lru) {
    double even = more_band_told(PREDICTION_NOW + 1, 0.25), ahead = more_band_told(PREDICTION_NOW + 1, 0.5);
    ok(even > 0 && ahead > 2 * even, "the lead with twice the memory may be reckoned wrong: %.3f, and without one %.3f", ahead, even);
    double no_miss = more_band_told(PREDICTION_POINTS - 1, 0.5);
    ok(no_miss > 0 && no_miss < even, "where no key is evicted neither policy leads: %.3f", no_miss);
}

int main(void) {
    return tap_main();
}
