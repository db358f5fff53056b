/* Miss-ratio curves against exact stack distances. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "evict/evict.h"
#include "sample/curve.h"
#include "sample/mini.h"
#include "sample/stream.h"

enum { KEYS = 20000, REQUESTS = 200000, CLASS = 7, OTHER = 9, SIZES = 9, TODAY = 5 };

static const double none[CURVE_CLASSES];
static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};

static uint64_t hash_of(uint64_t n) { return key_hash((const char *)&n, sizeof n); }
static void key_read_as(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes, bool hit) {
    curve_read(c, (struct curve_use){.hash = hash, .class_id = class_id, .bytes = bytes}, hit, 1);
}
static void key_read(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes) {
    key_read_as(c, hash, class_id, bytes, false);
}
static double uniform(uint64_t *x) { return (double)(tap_random(x) >> 11) / 9007199254740992.0; }
static uint32_t bytes_of(uint64_t n) { return (uint32_t)(64 + n * 2654435761u % 1000); }

/* A Fenwick tree over the requests: the exact distance is the sum of bytes of the keys whose last use came later. */
static uint64_t tree[REQUESTS + 1];
static void add(uint32_t at, uint64_t bytes) { /* wraps to subtract */
    for (at++; at <= REQUESTS; at += at & -at) {
        tree[at] += bytes;
    }
}
static uint64_t sum_to(uint32_t at) {
    uint64_t sum = 0;
    for (; at > 0; at -= at & -at) {
        sum += tree[at];
    }
    return sum;
}

struct truth {
    uint64_t reads, within[SIZES]; /* reads with a distance of at most size << i */
};
static uint32_t last[KEYS];

/* Returns whether the cache of today hits. */
static bool exact(struct truth *t, uint32_t now, uint64_t n, uint64_t least) {
    uint64_t total = sum_to(REQUESTS), hits = t->within[TODAY];
    t->reads++;
    if (last[n] != 0) {
        uint64_t distance = total - sum_to(last[n]) + bytes_of(n);
        for (unsigned i = 0; i < SIZES; i++) {
            t->within[i] += distance <= least << i;
        }
        add(last[n] - 1, -(uint64_t)bytes_of(n));
    }
    add(now, bytes_of(n));
    last[n] = now + 1;
    return t->within[TODAY] > hits;
}

static double run(struct curve *c, double rate, uint64_t seed, double skew, double *worst) {
    struct truth t = {0};
    uint64_t x = seed | 1, total = (uint64_t)KEYS * 564, least = total >> SIZES;
    uint32_t below = sample_hash_below(rate);
    memset(tree, 0, sizeof tree);
    memset(last, 0, sizeof last);
    curve_set_below(c, below);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint64_t n = (uint64_t)(KEYS * pow(uniform(&x), skew));
        bool hit = exact(&t, i, n, least);
        if (sample_takes(hash_of(n), below)) {
            key_read_as(c, hash_of(n), CLASS, bytes_of(n), hit);
        }
    }
    curve_expect(c, (double[CURVE_CLASSES]){[CLASS] = (double)t.within[TODAY]});
    double error = 0, bytes[CURVE_CLASSES] = {0};
    *worst = 0;
    for (unsigned i = 0; i < SIZES; i++) {
        bytes[CLASS] = (double)(least << i);
        double e = fabs(curve_all_hit_ratio(c, bytes, 1) - (double)t.within[i] / (double)t.reads);
        error += e / SIZES;
        *worst = e > *worst ? e : *worst;
    }
    return error;
}

static void test_near_the_exact_distances(uint64_t seed) {
    static const struct {
        double rate, skew, mean, worst;
        uint32_t keys_max;
    } cases[] = {
        {1, 3, 0.01, 0.03, KEYS}, {1, 1, 0.01, 0.03, KEYS}, {0.2, 3, 0.05, 0.12, KEYS}, {0.2, 1, 0.02, 0.06, KEYS}, {1, 3, 0.06, 0.15, 2048},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct curve *c = curve_create(cases[i].keys_max, 255);
        double worst, mean = run(c, cases[i].rate, seed, cases[i].skew, &worst);
        ok(mean <= cases[i].mean && worst <= cases[i].worst,
           "rate %.2f, at most %u keys, skew %.0f: off by %.4f in the mean (at most %.2f), %.4f at worst (%.2f)", cases[i].rate,
           cases[i].keys_max, cases[i].skew, mean, cases[i].mean, worst, cases[i].worst);
        curve_destroy(&c);
    }
}

/* Other samples of the keys, of the same requests: each ratio within its bounds of 95 %, from half of today's memory on. */
static void test_errors_are_those_of_other_samples(uint64_t seed) {
    enum { SAMPLES = 30, FROM = TODAY - 1, BELOW = 1 << 27 };
    static bool hit[REQUESTS];
    for (double skew = 1; skew <= 3; skew += 2) {
        uint64_t x = seed | 1, least = (uint64_t)KEYS * 564 >> SIZES;
        struct truth t = {0};
        unsigned within = 0;
        memset(tree, 0, sizeof tree);
        memset(last, 0, sizeof last);
        for (uint32_t i = 0; i < REQUESTS; i++) {
            hit[i] = exact(&t, i, (uint64_t)(KEYS * pow(uniform(&x), skew)), least);
        }
        for (uint64_t sample = 1; sample <= SAMPLES; sample++) {
            struct curve *c = curve_create(KEYS, 255);
            curve_set_below(c, BELOW);
            x = seed | 1;
            for (uint32_t i = 0; i < REQUESTS; i++) {
                uint64_t n = (uint64_t)(KEYS * pow(uniform(&x), skew)), hash = hash_of(sample << 32 | n);
                if (sample_takes(hash, BELOW)) {
                    key_read_as(c, hash, CLASS, bytes_of(n), hit[i]);
                }
            }
            curve_expect(c, (double[CURVE_CLASSES]){[CLASS] = (double)t.within[TODAY]});
            for (unsigned i = FROM; i < SIZES; i++) {
                double today = (double)(least << TODAY), size = (double)(least << i);
                double off = fabs(curve_hit_ratio(c, CLASS, size) - (double)t.within[i] / (double)t.reads);
                within += off <= 1.96 * curve_error(c, CLASS, today, size / today);
            }
            curve_destroy(&c);
        }
        double share = within / (double)(SAMPLES * (SIZES - FROM));
        ok(share >= 0.93, "skew %.0f, one key of 32 sampled: %.0f %% of the ratios lie within two errors", skew, share * 100);
    }
}

TEST(test_a_loop_hits_only_when_it_fits) {
    struct curve *c = curve_create(1000, 255);
    for (unsigned round = 0; round < 20; round++) {
        for (uint64_t n = 0; n < 1000; n++) {
            key_read(c, hash_of(n), CLASS, 1024);
        }
    }
    ok(curve_hit_ratio(c, CLASS, 500 << 10) < 0.01, "half of the loop: no hits");
    ok(curve_hit_ratio(c, CLASS, 2000 << 10) > 0.94, "twice the loop: all but the first round");
    ok(curve_hit_ratio(c, OTHER, 2000 << 10) <= 0, "a class without reads: no hits");
    curve_destroy(&c);
}

TEST(test_classes_do_not_mix) {
    struct curve *c = curve_create(4000, 255);
    double bytes[CURVE_CLASSES] = {[CLASS] = 200 << 10, [OTHER] = 2000 << 10};
    for (unsigned round = 0; round < 20; round++) {
        for (uint64_t n = 0; n < 1000; n++) {
            key_read(c, hash_of(n), n % 10 == 0 ? CLASS : OTHER, 1024);
        }
    }
    ok(curve_hit_ratio(c, CLASS, 200 << 10) > 0.9, "the reads of other classes make no distance");
    ok(curve_all_hit_ratio(c, bytes, 1) > 0.9 && curve_all_hit_ratio(c, bytes, 0.25) < 0.01,
       "the whole is its classes, growing alike");
    curve_destroy(&c);
}

TEST(test_keys_that_move_to_another_class_keep_their_distances) {
    enum { LOOP = 100, ROUNDS = 20 };
    struct curve *c = curve_create(4000, 255);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint64_t n = 0; n < LOOP; n++) {
            key_read(c, hash_of(n), round < ROUNDS - 1 ? CLASS : OTHER, 1024);
        }
    }
    ok(curve_hit_ratio(c, OTHER, LOOP / 4 << 10) < 0.01, "the first round in the new class: no hits with a quarter of the loop, as before");
    ok(curve_hit_ratio(c, OTHER, LOOP << 11) > 0.99, "and with twice of it all hit");
    curve_restart(c);
    ok(curve_reads(c, CURVE_ALL) <= 0, "a restart forgets the reads");
    key_read(c, hash_of(1), OTHER, 1024);
    ok(curve_first_reads(c, OTHER) <= 0, "but no key");
    curve_destroy(&c);
}

TEST(test_deleted_and_old_keys) {
    struct curve *c = curve_create(100, 255);
    curve_store(c, (struct curve_use){.hash = hash_of(1), .class_id = CLASS, .bytes = 100}, 1);
    is(curve_reads(c, CLASS), 0, "a store is no read");
    key_read(c, hash_of(1), CLASS, 100);
    ok(curve_hit_ratio(c, CLASS, 1 << 20) > 0.99, "but the read after it hits");
    curve_gone(c, hash_of(1));
    key_read(c, hash_of(1), CLASS, 100);
    is(curve_first_reads(c, CLASS), 0, "the read of a deleted key is no first read");
    ok(fabs(curve_hit_ratio(c, CLASS, 1 << 20) - 0.5) < 0.01, "a read after the key was deleted misses");
    curve_fade(c, 0.5);
    is(curve_reads(c, CLASS), 1, "old reads count less");
    key_read(c, hash_of(2), CLASS, 100);
    is(curve_first_reads(c, CLASS), 1, "the read of a key that was never used is a first read");
    for (uint64_t n = 0; n < 200; n++) {
        key_read(c, hash_of(n), CLASS, 100);
        curve_gone(c, hash_of(n));
    }
    ok(curve_first_reads(c, CLASS) < 0, "first reads are not known where dead keys had to be forgotten");
    is(curve_reads(c, CLASS), 202, "which lowers no rate");
    curve_destroy(&c);
}

/* Caches under the LRU, each with the same requests, and the curve. Keys expire: some soon, some late, some never. */
static void test_near_caches_whose_items_expire(uint64_t seed) {
    static const struct {
        uint32_t ttl_s[3]; /* of a key, by its number */
        bool     writes;   /* half of the requests store a value */
    } cases[] = {{{20, 20, 20}, false}, {{5, 40, 0}, false}, {{10, 10, 0}, true}};
    enum { A_SECOND = 500, ITEM = 512, CACHES = 6, OF_KEYS = 4096 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct curve *c = curve_create(OF_KEYS, 255);
        struct mini *cache[CACHES];
        unsigned reads = 0, hits[CACHES] = {0};
        for (unsigned s = 0; s < CACHES; s++) {
            cache[s] = mini_create(evict_find("lru"), &tuning, OF_KEYS, (uint64_t)ITEM * OF_KEYS >> (CACHES - 1 - s));
        }
        uint64_t x = seed | 1;
        for (uint32_t r = 0; r < REQUESTS; r++) {
            uint64_t n = (uint64_t)(OF_KEYS * pow(uniform(&x), 3));
            uint32_t now_s = 1 + r / A_SECOND, ttl_s = cases[i].ttl_s[n % 3], expires_s = ttl_s != 0 ? now_s + ttl_s : 0;
            struct mini_item item = {.hash = hash_of(n), .bytes = ITEM, .expires_s = expires_s};
            struct curve_use use = {.hash = item.hash, .class_id = CLASS, .bytes = ITEM, .expires_s = expires_s};
            bool store = cases[i].writes && tap_random(&x) % 2 == 0, counts = r >= REQUESTS / 4;
            reads += counts && !store;
            for (unsigned s = 0; s < CACHES; s++) {
                if (store) {
                    mini_store(cache[s], item, now_s);
                } else {
                    hits[s] += mini_request(cache[s], item, now_s) && counts;
                }
            }
            if (r == REQUESTS / 4) {
                curve_fade(c, 0);
            }
            if (store) {
                curve_store(c, use, now_s);
            } else {
                curve_read(c, use, false, now_s);
            }
        }
        double worst = 0;
        for (unsigned s = 0; s < CACHES; s++) {
            double size = (double)mini_bytes_max(cache[s]), e = curve_hit_ratio(c, CLASS, size) - (double)hits[s] / reads;
            printf("# %.0f KiB: %.4f, really %.4f\n", size / 1024, curve_hit_ratio(c, CLASS, size), (double)hits[s] / reads);
            worst = fabs(e) > worst ? fabs(e) : worst;
            mini_destroy(&cache[s]);
        }
        ok(worst < 0.02, "times to live of %u, %u and %u s%s: off by %.4f at most", cases[i].ttl_s[0], cases[i].ttl_s[1],
           cases[i].ttl_s[2], cases[i].writes ? ", and writes" : "", worst);
        curve_destroy(&c);
    }
}

static void test_a_rate_that_was_lowered_is_raised_again(uint64_t seed) {
    struct curve *c = curve_create(8192, 255);
    double worst, error;
    run(c, 0.2, seed, 3, &worst);
    run(c, 0.001, seed, 3, &worst);
    ok(curve_reads(c, CLASS) < 1000, "at a low rate there are few reads (%.0f)", curve_reads(c, CLASS));
    error = run(c, 0.2, seed, 3, &worst);
    ok(curve_reads(c, CLASS) > 20000, "at one that is raised again there are many (%.0f)", curve_reads(c, CLASS));
    ok(error < 0.05 && worst < 0.12, "and the predictions are right: %.4f in the mean, %.4f at worst", error, worst);
    double reads = curve_reads(c, CLASS);
    curve_set_below(c, sample_hash_below(0.4));
    ok(reads <= curve_reads(c, CLASS), "it is not begun anew for a rate little higher");
    curve_destroy(&c);
    c = curve_create(1000, 255);
    for (uint64_t n = 0; n < 100000; n++) {
        key_read(c, hash_of(n), CLASS, 100);
    }
    reads = curve_reads(c, CLASS);
    curve_set_below(c, UINT32_MAX);
    ok(reads <= curve_reads(c, CLASS), "nor for one at which its keys would have no room");
    curve_destroy(&c);
}

/* Many classes and room for three: the first three hold the room until another class has more than twice the reads. */
TEST(test_the_busiest_classes_have_curves) {
    enum { ROOM = 3, CLASSES = 255 };
    struct curve *c = curve_create(5000, ROOM);
    unsigned shown = 0;
    for (uint64_t n = 0; n < 4 * CLASSES; n++) {
        key_read(c, hash_of(n), (unsigned)(1 + n % CLASSES), 1024);
    }
    curve_expect(c, none);
    for (unsigned i = 1; i <= CLASSES; i++) {
        shown += curve_place(c, i) >= 0;
    }
    ok(shown == ROOM && curve_place(c, 1) >= 0 && curve_place(c, ROOM) >= 0, "of classes that are read alike the first have a curve");
    is(curve_reads(c, CURVE_ALL), ROOM * 4, "and the whole is of these");
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t n = 0; n < 100; n++) {
            key_read(c, hash_of(1 << 20 | n), 200, 1024);
            key_read(c, hash_of(2 << 20 | n), 2, 1024);
        }
        curve_expect(c, none);
    }
    ok(curve_place(c, 200) >= 0 && curve_place(c, 2) >= 0, "a class that is read more often gets one, another keeps its own");
    ok(curve_place(c, 1) < 0 || curve_place(c, 3) < 0, "and the one with the fewest reads has none any more");
    ok(curve_hit_ratio(c, 200, 1 << 20) > 0.99, "its keys were known before: all its reads hit");
    curve_destroy(&c);
}

int main(void) {
    uint64_t seed = tap_sample_seed();
    test_near_the_exact_distances(seed);
    test_errors_are_those_of_other_samples(seed);
    test_near_caches_whose_items_expire(seed);
    test_a_rate_that_was_lowered_is_raised_again(seed);
    return tap_main();
}
