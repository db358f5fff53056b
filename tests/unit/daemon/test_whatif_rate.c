/* The rate of sampling, by a clock that the suite sets: how many keys a sample has, and how many records a second takes. */
#include "tap.h"

#include "cache_fixture.h"
#include "tune/whatif/whatif.h"

enum { MIB = 1 << 20, VALUE_BYTES = 1000, CHUNK_BYTES = 1200, PAGES = 8, ITEMS = PAGES * MIB / CHUNK_BYTES };
enum { TEND_EVERY = 64, BEGIN_S = 6, LAST_S = 6 };

static char value[VALUE_BYTES];

struct lasting {
    uint64_t records_most; /* of the last seconds */
    unsigned changes;      /* of the rate, in the last seconds */
    struct whatif_facts facts;
};

/* Reads at one pace, of one and a half times as many keys as a cache of 8 MB holds; what was missed is stored. */
static struct lasting play(uint64_t requests_a_s, uint64_t seed) {
    struct cache_config cfg = fixture_config((size_t)PAGES * MIB);
    cfg.policy = &evict_s3fifo;
    cfg.slab.sizes = (const uint32_t[]){CHUNK_BYTES};
    cfg.slab.size_count = 1;
    struct cache *cache = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(cache);
    struct whatif *w = whatif_create(cache, cfg.limit_bytes, 4);
    struct lasting l = {0};
    char out[VALUE_BYTES + 8];
    uint64_t now_us = 1, x = seed, records = 0;
    double rate = 0;
    whatif_set(w, 1, AUTO_NONE);
    for (uint64_t i = 0; i < requests_a_s * (BEGIN_S + LAST_S); i++) {
        uint64_t n = tap_random(&x) % (ITEMS * 3 / 2);
        cache_turn_begin(ct);
        if (fixture_get(ct, n, out) < 0) {
            fixture_set(ct, n, value, VALUE_BYTES);
        }
        cache_turn_end(ct);
        if (i % TEND_EVERY == 0) {
            whatif_tend_at(w, now_us += TEND_EVERY * CLOCK_SECOND_US / requests_a_s);
        }
        if ((i + 1) % requests_a_s == 0) {
            whatif_facts(w, &l.facts);
            uint64_t in_second = l.facts.records - records;
            records = l.facts.records;
            if (i >= requests_a_s * BEGIN_S) {
                l.records_most = in_second > l.records_most ? in_second : l.records_most;
                l.changes += l.facts.rate < rate || l.facts.rate > rate;
            }
            rate = l.facts.rate;
        }
    }
    whatif_destroy(&w);
    fixture_end(&cache, &ct);
    return l;
}

static void test_few_keys_that_are_asked_for_often(uint64_t seed) {
    struct lasting l = play(200000, seed);
    ok(l.facts.keys >= PREDICTION_KEYS_MIN, "of %d items at 200,000 requests a second enough are sampled for a prediction: %" PRIu64, ITEMS, l.facts.keys);
    ok(l.records_most <= WHATIF_RECORDS_FEW_KEYS, "and no second takes more than %d records: %" PRIu64, WHATIF_RECORDS_FEW_KEYS, l.records_most);
    is(l.changes, 0, "and the rate has come to rest");
}

static void test_many_keys_in_the_sample(uint64_t seed) {
    struct lasting l = play(20000, seed);
    ok(l.facts.keys >= 2 * PREDICTION_KEYS_MIN && l.records_most <= WHATIF_RECORDS_A_S,
       "at 20,000 requests a second no second takes more than %d records: %" PRIu64 ", of %" PRIu64 " keys", WHATIF_RECORDS_A_S, l.records_most, l.facts.keys);
    is(l.changes, 0, "and the rate has come to rest");
}

int main(void) {
    uint64_t seed = tap_sample_seed() | 1;
    clock_start();
    test_few_keys_that_are_asked_for_often(seed);
    test_many_keys_in_the_sample(seed);
    return tap_done();
}
