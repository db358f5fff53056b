/* Miss-ratio curves against exact stack distances. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "sample/curve.h"
#include "sample/stream.h"

enum { KEYS = 20000, REQUESTS = 200000, CLASS = 7, OTHER = 9, SIZES = 9 };

static uint64_t hash_of(uint64_t n) { return key_hash((const char *)&n, sizeof n); }
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

static void exact(struct truth *t, uint32_t now, uint64_t n, uint64_t least) {
    uint64_t total = sum_to(REQUESTS);
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
        exact(&t, i, n, least);
        if (sample_takes(hash_of(n), below)) {
            curve_read(c, hash_of(n), CLASS, bytes_of(n));
        }
    }
    curve_expect(c, REQUESTS);
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

TEST(test_a_loop_hits_only_when_it_fits) {
    struct curve *c = curve_create(1000, 255);
    for (unsigned round = 0; round < 20; round++) {
        for (uint64_t n = 0; n < 1000; n++) {
            curve_read(c, hash_of(n), CLASS, 1024);
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
            curve_read(c, hash_of(n), n % 10 == 0 ? CLASS : OTHER, 1024);
        }
    }
    ok(curve_hit_ratio(c, CLASS, 200 << 10) > 0.9, "the reads of other classes make no distance");
    ok(curve_all_hit_ratio(c, bytes, 1) > 0.9 && curve_all_hit_ratio(c, bytes, 0.25) < 0.01,
       "the whole is its classes, growing alike");
    curve_destroy(&c);
}

TEST(test_deleted_and_old_keys) {
    struct curve *c = curve_create(100, 255);
    curve_store(c, hash_of(1), CLASS, 100);
    is(curve_reads(c, CLASS), 0, "a store is no read");
    curve_read(c, hash_of(1), CLASS, 100);
    ok(curve_hit_ratio(c, CLASS, 1 << 20) > 0.99, "but the read after it hits");
    curve_gone(c, hash_of(1));
    curve_read(c, hash_of(1), CLASS, 100);
    ok(fabs(curve_hit_ratio(c, CLASS, 1 << 20) - 0.5) < 0.01, "a read after the key was deleted misses");
    curve_fade(c, 0.5);
    is(curve_reads(c, CLASS), 1, "old reads count less");
    curve_destroy(&c);
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
        curve_read(c, hash_of(n), CLASS, 100);
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
        curve_read(c, hash_of(n), (unsigned)(1 + n % CLASSES), 1024);
    }
    curve_expect(c, 4 * CLASSES);
    for (unsigned i = 1; i <= CLASSES; i++) {
        shown += curve_place(c, i) >= 0;
    }
    ok(shown == ROOM && curve_place(c, 1) >= 0 && curve_place(c, ROOM) >= 0, "of classes that are read alike the first have a curve");
    is(curve_reads(c, CURVE_ALL), ROOM * 4, "and the whole is of these");
    for (unsigned round = 0; round < 3; round++) {
        for (uint64_t n = 0; n < 100; n++) {
            curve_read(c, hash_of(1 << 20 | n), 200, 1024);
            curve_read(c, hash_of(2 << 20 | n), 2, 1024);
        }
        curve_expect(c, 200);
    }
    ok(curve_place(c, 200) >= 0 && curve_place(c, 2) >= 0, "a class that is read more often gets one, another keeps its own");
    ok(curve_place(c, 1) < 0 || curve_place(c, 3) < 0, "and the one with the fewest reads has none any more");
    ok(curve_hit_ratio(c, 200, 1 << 20) > 0.99, "its keys were known before: all its reads hit");
    curve_destroy(&c);
}

int main(void) {
    uint64_t seed = tap_sample_seed();
    test_near_the_exact_distances(seed);
    test_a_rate_that_was_lowered_is_raised_again(seed);
    return tap_main();
}
