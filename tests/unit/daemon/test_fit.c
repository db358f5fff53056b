/* Chunk sizes that fit: as good as the best of all choices on small cases, bounded on all, quick on large ones. */
#include "tap.h"

#include <math.h>

#include "mem/fit.h"

static const struct size_rules rules = {.least_bytes = 32, .most_bytes = 512 << 10, .unit_bytes = 8, .count_most = 40};

static uint64_t next_random(uint64_t *x) {
    *x ^= *x << 13, *x ^= *x >> 7, *x ^= *x << 17;
    return *x;
}

/* The least memory of every way to choose `left` more sizes from `from` on; the largest chunk is always there. */
static double best_of(const struct size_histogram *h, const uint32_t *ends, unsigned count, unsigned from, unsigned left,
                      struct size_list *chosen) {
    unsigned mark = chosen->count;
    chosen->bytes[chosen->count++] = rules.most_bytes;
    double least = fit_memory(h, chosen, 0, PAGE_BYTES);
    chosen->count = mark;
    for (unsigned i = from; left > 0 && i < count; i++) {
        chosen->bytes[chosen->count++] = ends[i];
        double bytes = best_of(h, ends, count, i + 1, left - 1, chosen);
        chosen->count = mark;
        least = bytes < least ? bytes : least;
    }
    return least;
}

static void test_no_choice_of_sizes_is_better(uint64_t x) {
    double worst = 0;
    for (unsigned round = 0; round < 60; round++) {
        static struct size_histogram h;
        struct size_rules few = rules;
        struct size_list sizes, chosen = {.count = 0};
        uint32_t ends[9];
        few.count_most = 2 + (unsigned)(next_random(&x) % 4);
        size_histogram_init(&h, 1);
        for (unsigned i = 0; i < 9; i++) { /* ascending, far enough apart to be steps of their own */
            uint32_t before = i > 0 ? ends[i - 1] : 40;
            ends[i] = (before + 8 + (uint32_t)(next_random(&x) % (before * 2))) / 8 * 8;
            for (uint64_t n = 1 + next_random(&x) % 50; n > 0; n--) {
                size_histogram_add(&h, ends[i] - (uint32_t)(next_random(&x) % 4), rules.most_bytes);
            }
        }
        if (ends[8] > rules.most_bytes) {
            continue;
        }
        fit_sizes(&h, &few, 1u << 20, &sizes);
        double ours = fit_memory(&h, &sizes, 0, PAGE_BYTES), best = best_of(&h, ends, 9, 0, few.count_most - 1, &chosen);
        worst = ours / best > worst ? ours / best : worst;
    }
    ok(worst < 1.0 + 1.0 / 1000, "what is found takes at most a thousandth more than the best of all choices (%.6f)", worst);
}

static void fill_spread(struct size_histogram *h, uint64_t *x, unsigned items) {
    size_histogram_init(h, 1);
    for (unsigned i = 0; i < items; i++) {
        double octaves = (double)(next_random(x) % 100000) / 100000 * 12;
        uint32_t bytes = (uint32_t)(64 * exp2(octaves));
        size_histogram_add(h, bytes, rules.most_bytes);
    }
}

/* How many classes need less than a page when the cache is full. */
static unsigned minimums(const struct size_histogram *h, const struct size_list *sizes, uint32_t pages) {
    double scale = 1;
    unsigned n = 0;
    for (int round = 0; round < 60; round++) { /* so many items that all pages are taken */
        double taken = 0;
        n = 0;
        for (unsigned i = 0; i < sizes->count; i++) {
            double need = fit_memory(h, sizes, i > 0 ? sizes->bytes[i - 1] : 0, sizes->bytes[i]) / PAGE_BYTES * scale;
            n += need > 0 && need < 0.99;
            taken += need > 0 ? fmax(need, 1) : 0;
        }
        scale *= pages / taken;
    }
    return n;
}

/* Whole pages count: a list of many sizes holds less in few pages, and no more than its memory in many. */
static void test_classes_cost_their_pages(uint64_t x) {
    static struct size_histogram h;
    struct size_list few, many;
    size_histogram_init(&h, 1);
    for (unsigned i = 0; i < 100000; i++) {
        size_histogram_add(&h, 56 + (uint32_t)(next_random(&x) % 2048), rules.most_bytes);
    }
    struct size_rules wide = rules;
    wide.count_most = 200;
    size_list_by_factor(&few, 96, 1.25, &wide);
    size_list_by_factor(&many, 96, 1.08, &wide);
    double small = fit_items(&h, &many, 32) / fit_items(&h, &few, 32), large = fit_items(&h, &many, 65536) / fit_items(&h, &few, 65536);
    double memory = fit_memory(&h, &few, 0, PAGE_BYTES) / fit_memory(&h, &many, 0, PAGE_BYTES);
    ok(small < 0.8, "in 32 pages a factor of 1.08 holds %.0f %% of what 1.25 holds", small * 100);
    ok(large > 1.05 && large < memory * 1.01, "in 65536 pages %.1f %%, and its memory says %.1f %%", large * 100, memory * 100);
    size_histogram_init(&h, 1);
    ok(!(fit_items(&h, &few, 64) > 0), "without items none is predicted");
}

static void test_every_list_keeps_the_rules(uint64_t x) {
    unsigned bad = 0, crowded = 0;
    for (unsigned round = 0; round < 20; round++) {
        static struct size_histogram h;
        struct size_rules r = rules;
        struct size_list sizes;
        r.unit_bytes = 8u << (round % 3);
        uint32_t pages = 8u << (round % 8);
        fill_spread(&h, &x, 1u << (round % 14));
        fit_sizes(&h, &r, pages, &sizes);
        for (unsigned i = 0; i < sizes.count; i++) {
            bad += sizes.bytes[i] % r.unit_bytes != 0 || sizes.bytes[i] < r.least_bytes || (i > 0 && sizes.bytes[i] <= sizes.bytes[i - 1]);
        }
        bad += sizes.count == 0 || sizes.count > r.count_most || sizes.bytes[sizes.count - 1] != r.most_bytes;
        crowded += sizes.count > 2 && minimums(&h, &sizes, pages) > pages / 4 + 1; /* their count of items may differ a little */
    }
    is(bad, 0, "sizes ascend in units, within their limits, and end with the largest chunk");
    is(crowded, 0, "classes that need less than their one page have a quarter of the pages at most");
}

static void test_an_empty_cache_has_one_class(void) {
    static struct size_histogram h;
    struct size_list sizes;
    size_histogram_init(&h, 1);
    ok(fit_sizes(&h, &rules, 64, &sizes) && sizes.count == 1 && sizes.bytes[0] == rules.most_bytes,
       "without items there is nothing to fit but the largest chunk");
}

static void test_steps_are_fine(void) {
    static struct size_histogram h;
    unsigned coarse = 0;
    size_histogram_init(&h, 1);
    for (uint32_t bytes = 1; bytes <= PAGE_BYTES; bytes += bytes < 5000 ? 1 : 37) {
        size_histogram_init(&h, 1);
        size_histogram_add(&h, bytes, PAGE_BYTES);
        size_histogram_add(&h, bytes + bytes / 128 + 9 < PAGE_BYTES ? bytes + bytes / 128 + 9 : PAGE_BYTES, PAGE_BYTES);
        unsigned used = 0;
        for (unsigned i = 0; i < FIT_STEPS; i++) {
            used += h.steps[i].items > 0;
        }
        coarse += used != 2 && bytes + bytes / 128 + 9 < PAGE_BYTES;
    }
    is(coarse, 0, "sizes that differ by nine bytes or a hundredth are told apart, up to a page");
}

static void test_fitted_sizes_waste_less_than_a_factor(uint64_t x) {
    static struct size_histogram h;
    struct size_list by_factor, fitted;
    fill_spread(&h, &x, 200000);
    size_list_by_factor(&by_factor, 96, 1.25, &rules);
    struct size_rules as_many = rules;
    as_many.count_most = by_factor.count;
    fit_sizes(&h, &as_many, 100000, &fitted);
    double factor = 1 - (double)h.item_bytes / fit_memory(&h, &by_factor, 0, PAGE_BYTES);
    double fit = 1 - (double)h.item_bytes / fit_memory(&h, &fitted, 0, PAGE_BYTES);
    ok(fit < factor, "%u fitted classes waste %.1f %%, %u by a factor of 1.25 %.1f %%", fitted.count, fit * 100, by_factor.count,
       factor * 100);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    test_no_choice_of_sizes_is_better(seed);
    test_classes_cost_their_pages(seed);
    test_every_list_keeps_the_rules(seed);
    test_an_empty_cache_has_one_class();
    test_steps_are_fine();
    test_fitted_sizes_waste_less_than_a_factor(seed);
    return tap_done();
}
