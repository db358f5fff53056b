/* Hot keys against exact counts. */
#include "tap.h"

#include "base/key.h"
#include "sample/hot.h"

enum { KEYS = 20000, REQUESTS = 300000 };

static uint64_t counts[KEYS];
static struct hot hot;

static void add(uint64_t n, uint32_t requests) {
    char name[32];
    int len = snprintf(name, sizeof name, "key:%" PRIu64, n);
    hot_add(&hot, key_hash(name, (size_t)len), name, (uint8_t)len, requests);
}

/* Popularity falls steeply with a key's number. */
static void fill(uint64_t x) {
    memset(&hot, 0, sizeof hot);
    memset(counts, 0, sizeof counts);
    for (unsigned i = 0; i < REQUESTS; i++) {
        tap_random(&x);
        double u = (double)(x >> 11) / 9007199254740992.0;
        uint64_t n = (uint64_t)(KEYS * u * u * u * u * u * u * u * u);
        add(n, 1);
        counts[n]++;
    }
}

static uint64_t number_of(const struct hot_key *k) { return strtoull(k->key + 4, NULL, 10); }

static void test_counts_within_their_error(void) {
    struct hot_key sorted[HOT_KEYS];
    unsigned n = hot_sorted(&hot, hot.requests, sorted, HOT_KEYS), low = 0, high = 0, unordered = 0, frequent = 0, found = 0;
    for (unsigned i = 0; i < n; i++) {
        uint64_t truth = counts[number_of(&sorted[i])];
        high += sorted[i].count < truth;
        low += sorted[i].count - sorted[i].error > truth;
        unordered += i > 0 && sorted[i - 1].count < sorted[i].count;
        found += truth > REQUESTS / HOT_KEYS;
    }
    for (uint64_t k = 0; k < KEYS; k++) {
        frequent += counts[k] > REQUESTS / HOT_KEYS;
    }
    ok(n == HOT_KEYS && hot.requests == REQUESTS, "all counters are in use, and all requests counted");
    ok(high == 0 && low == 0, "no count is too low, nor too high by more than its error");
    ok(frequent >= 5 && found == frequent, "each of the %u keys with more than one in %d requests is there", frequent, HOT_KEYS);
    is(unordered, 0, "the hottest come first");
    is_str(sorted[0].key, "key:0", "with their text");
}

static void test_the_past_fades(void) {
    struct hot_key sorted[HOT_KEYS];
    hot_sorted(&hot, hot.requests, sorted, HOT_KEYS);
    uint64_t before = sorted[0].count;
    hot_fade(&hot);
    hot_sorted(&hot, hot.requests, sorted, HOT_KEYS);
    ok(sorted[0].count == before / 2 && hot.requests == REQUESTS / 2, "counts are halved, and so are all requests");
    for (unsigned i = 0; i < 64; i++) {
        hot_fade(&hot);
    }
    is(hot_sorted(&hot, hot.requests, sorted, HOT_KEYS), 0, "until none is left");
}

enum { EVERY = 16, TENTH = 10, NOTED = 4000, RUNS = 50, ASKED_MORE = 3 };

/* One request in EVERY is noted for all of them; every tenth is for one key. */
static void fill_sampled(uint64_t *x) {
    memset(&hot, 0, sizeof hot);
    for (unsigned i = 0; i < NOTED; i++) {
        tap_random(x);
        add(*x % TENTH == 0 ? 0 : (unsigned)(*x >> 20) % KEYS + 1, EVERY);
    }
}

static void test_chance_is_reported(uint64_t x) {
    struct hot_key sorted[HOT_KEYS];
    const double truth = (double)NOTED * EVERY / TENTH;
    unsigned within = 0, narrow = 0;
    for (unsigned i = 0; i < RUNS; i++) {
        fill_sampled(&x);
        hot_sorted(&hot, hot.requests, sorted, 1);
        double least = (double)sorted[0].count - (double)sorted[0].error - (double)sorted[0].doubt;
        within += least <= truth && truth <= (double)(sorted[0].count + sorted[0].doubt);
        narrow += (double)sorted[0].doubt < truth / 4;
    }
    ok(within >= RUNS * 8 / 10, "a sampled key's true count is within its doubt: %u times of %d", within, RUNS);
    is(narrow, RUNS, "which is less than a quarter of it after %d notes", NOTED / TENTH);
    uint64_t count = sorted[0].count, doubt = sorted[0].doubt;
    is(hot.noted, NOTED, "the size of the sample is known");
    hot_sorted(&hot, ASKED_MORE * hot.requests, sorted, 1);
    ok(sorted[0].count == ASKED_MORE * count && sorted[0].doubt >= ASKED_MORE * (doubt - 1), "where requests were missed, counts are as of all");
    memset(&hot, 0, sizeof hot);
    hot_add(&hot, 1, "one", 3, EVERY);
    hot_sorted(&hot, hot.requests, sorted, 1);
    is(sorted[0].doubt, 0, "a key that has all requests leaves no doubt");
    hot_add(&hot, 2, "two", 3, EVERY);
    hot_sorted(&hot, hot.requests, sorted, 1);
    ok(sorted[0].doubt >= EVERY, "one that was noted once may have had none but that");
}

/* A burst with a tenth of its requests noted, and then as many notes without a miss. */
static void test_missed_requests_go_to_keys_noted_then(void) {
    struct hot_key sorted[HOT_KEYS];
    memset(&hot, 0, sizeof hot);
    for (unsigned i = 0; i < TENTH; i++) {
        hot_add(&hot, 1, "burst", 5, EVERY);
    }
    hot_end_part(&hot, TENTH * TENTH * EVERY, 0, true);
    for (unsigned i = 0; i < TENTH; i++) {
        hot_add(&hot, 2, "calm", 4, EVERY);
    }
    hot_end_part(&hot, 0, 0, false);
    hot_end_part(&hot, 1000000, 0, true); /* no request was noted in this second */
    ok(hot_sorted(&hot, hot.requests, sorted, HOT_KEYS) == 2 && sorted[0].count == TENTH * TENTH * EVERY && sorted[1].count == TENTH * EVERY, "misses in the burst count for the burst's key alone");
    is(hot.requests, TENTH * TENTH * EVERY + TENTH * EVERY, "and for all requests");
    ok(sorted[0].doubt > sorted[1].doubt, "whose count is less sure by that");
}

/* Notes are taken while requests go on: some are of requests that were counted only later. */
static void test_requests_that_came_meanwhile_count_once(void) {
    struct hot_key sorted[HOT_KEYS];
    memset(&hot, 0, sizeof hot);
    for (unsigned i = 0; i < 3 * TENTH; i++) {
        hot_add(&hot, 1, "burst", 5, EVERY);
    }
    hot_end_part(&hot, TENTH * EVERY, 2 * TENTH * EVERY, false); /* by then only a third was counted */
    hot_add(&hot, 1, "burst", 5, EVERY);
    hot_end_part(&hot, 9 * TENTH * EVERY, 0, true);
    ok(hot.requests == TENTH * TENTH * EVERY && hot_sorted(&hot, hot.requests, sorted, HOT_KEYS) == 1 && sorted[0].count == hot.requests,
       "requests are as many as were asked, though most were missed, and all the one key's");
    hot_add(&hot, 1, "burst", 5, EVERY);
    hot_end_part(&hot, 0, 0, false);
    hot_add(&hot, 1, "burst", 5, EVERY);
    hot_end_part(&hot, TENTH * EVERY, 0, true);
    is(hot.requests, TENTH * TENTH * EVERY + EVERY + TENTH * EVERY, "a note that came late is none that came early");
    hot_sorted(&hot, hot.requests / 2, sorted, 1);
    is(sorted[0].count, hot.requests / 2, "a key has no more requests than there were in all");
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    fill(seed);
    test_counts_within_their_error();
    test_the_past_fades();
    test_chance_is_reported(seed);
    test_missed_requests_go_to_keys_noted_then();
    test_requests_that_came_meanwhile_count_once();
    return tap_done();
}
