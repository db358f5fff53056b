/* What more memory brings: the classes that get it, the misses that it saves, and those that none saves. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "sample/growth.h"

enum { PAGE = 1 << 20, ITEM_BYTES = 1024, PAGES = 4, SHORT = 3, ENOUGH = 4, READS = 100000 };

static uint64_t hash_of(uint64_t n) { return key_hash((const char *)&n, sizeof n); }

/* Reads of as many equally popular keys as fill so many pages. */
static void read_uniform(struct curve *c, unsigned class_id, unsigned pages, uint64_t *x) {
    for (unsigned i = 0; i < READS; i++) {
        uint64_t key = tap_random(x) % ((uint64_t)pages * PAGE / ITEM_BYTES) | (uint64_t)class_id << 32;
        curve_read(c, (struct curve_use){.hash = hash_of(key), .class_id = class_id, .bytes = ITEM_BYTES}, false, 1);
    }
}

/* SHORT has a quarter of the pages that its keys need, ENOUGH as many as its keys need. */
static struct curve *curve_of_two(struct share_classes *k) {
    struct curve *c = curve_create(1 << 16, 8);
    uint64_t x = 1;
    *k = (struct share_classes){.page_bytes = PAGE};
    k->bytes[SHORT] = k->bytes[ENOUGH] = PAGES * PAGE;
    read_uniform(c, SHORT, 4 * PAGES, &x);
    read_uniform(c, ENOUGH, PAGES / 2, &x);
    curve_fade(c, 0); /* with all keys known */
    read_uniform(c, SHORT, 4 * PAGES, &x);
    read_uniform(c, ENOUGH, PAGES / 2, &x);
    return c;
}

TEST(test_the_class_that_evicts_gets_the_memory) {
    struct share_classes k;
    struct curve *c = curve_of_two(&k);
    double to[CURVE_CLASSES];
    growth_divide(c, &k, 4.0 * PAGES * PAGE, to);
    ok(fabs(to[SHORT] / PAGE - 3 * PAGES) < 1 && fabs(to[ENOUGH] / PAGE - PAGES) < 1, "twice the memory: %.1f and %.1f pages of %u each", to[SHORT] / PAGE,
       to[ENOUGH] / PAGE, PAGES);
    growth_divide(c, &k, 1.0 * PAGES * PAGE, to);
    ok(fabs(to[SHORT] - to[ENOUGH]) < 1 && fabs(to[SHORT] / PAGE - PAGES / 2.0) < 0.01, "with half of it both shrink alike");
    growth_divide(c, &k, 1.0 * PAGE, to);
    ok(fabs(to[SHORT] - PAGE) < 1 && fabs(to[ENOUGH] - PAGE) < 1, "but each keeps a page");
    struct growth twice = growth_saved(c, &k, 2.0 * PAGES * PAGE, 4.0 * PAGES * PAGE);
    ok(fabs(twice.saved - 2 / 3.0) < 0.1, "three quarters of the keys have room, two thirds of the misses are saved: %.3f", twice.saved);
    ok(twice.error > 0.1 && twice.error < 0.3, "were memory divided as it is, a third would be: %.3f of doubt", twice.error);
    struct growth enough = growth_saved(c, &k, 2.0 * PAGES * PAGE, 8.0 * PAGES * PAGE);
    ok(enough.saved > 0.99 && enough.error < 0.3, "with enough memory all are: %.3f +- %.3f", enough.saved, enough.error);
    curve_destroy(&c);
}

TEST(test_compulsory_misses_are_not_saved) {
    struct curve *c = curve_create(1 << 16, 8);
    double error;
    ok(fabs(curve_compulsory_ratio(c, &error) - 0.5) < 1e-9 && error > 0.4, "before a miss nothing is known");
    for (uint64_t i = 0; i < 20000; i++) { /* of four misses one is of a new key, and one of a key that has expired */
        uint64_t key = i % 4 == 0 ? 1000 + i : i / 4 % 100 * 4 + i % 4;
        curve_read(c, (struct curve_use){.hash = hash_of(key), .class_id = SHORT, .bytes = ITEM_BYTES, .expires_s = i % 4 == 1 ? 3 + (uint32_t)i : 0},
                   false, 2 + (uint32_t)i);
    }
    double ratio = curve_compulsory_ratio(c, &error);
    ok(fabs(ratio - 0.5) < 0.02, "half of the misses are compulsory: %.3f", ratio);
    ok(error > 0 && error <= 0.5, "but for an error: %.3f", error);
    ok(curve_miss_ratio(c) > 0.99, "by its sampled reads the cache misses all");
    double gain_error, gain = growth_gain(c, &(struct growth){.saved = 0.6, .error = 0.1}, 0.2, &gain_error);
    ok(fabs(gain - 0.2 * (1 - ratio) * 0.6) < 1e-9 && gain_error > 0.2 * (1 - ratio) * 0.1 - 1e-9, "a gain is of the others: %.4f +- %.4f", gain,
       gain_error);
    curve_destroy(&c);
}

int main(void) { return tap_main(); }
