/* Chunk sizes that fit: as good as the best of all choices on small cases, bounded on all, with a ladder for sizes yet to come. */
#include "tap.h"

#include <math.h>
#include <string.h>

#include "mem/fit.h"

static const struct size_rules rules = {.least_bytes = 32, .first_bytes = 96, .most_bytes = 512 << 10, .unit_bytes = 8, .count_most = 40};

/* Fits with as many classes as the rules allow. */
static bool fit(const struct fit_histogram *h, const struct size_rules *r, uint32_t pages,
                struct size_list *sizes) {
    struct fit_limits limits = {.classes_most = r->count_most, .used_classes_most = r->count_most, .pages = pages};
    return fit_sizes(h, r, &limits, sizes);
}

/* Neighbours further apart than the ladder's factor, rounded up, where a page holds two chunks more of the smaller size. */
static unsigned holes(const struct size_list *l, const struct size_rules *r) {
    unsigned n = l->bytes[0] > r->first_bytes && l->bytes[0] > r->least_bytes + r->unit_bytes;
    for (unsigned i = 1; i < l->count; i++) {
        double most = ceil(l->bytes[i - 1] * FIT_LADDER_FACTOR / r->unit_bytes) * r->unit_bytes;
        n += l->bytes[i] > most && PAGE_BYTES / l->bytes[i - 1] > PAGE_BYTES / l->bytes[i] + 1;
    }
    return n;
}

/* The same for neighbours without items between them, and the factor that holds there; a step is 0.4 % wide. */
static unsigned bare_holes(const struct fit_histogram *h, const struct size_list *l,
                           const struct size_rules *r) {
    unsigned n = 0;
    for (unsigned i = 1; i < l->count; i++) {
        double most = ceil(l->bytes[i - 1] * FIT_BARE_FACTOR * 1.01 / r->unit_bytes) * r->unit_bytes;
        n += !(fit_memory(h, l, l->bytes[i - 1], l->bytes[i]) > 0) && l->bytes[i] > most &&
             PAGE_BYTES / l->bytes[i - 1] > PAGE_BYTES / l->bytes[i] + 1;
    }
    return n;
}

/* The least memory of all lists with a ladder and no more sizes: tries each set of 16 chunk sizes. */
static double best_of(const struct fit_histogram *h, const struct size_rules *r) {
    double least = INFINITY;
    for (unsigned set = 1; set < 1u << 16; set++) {
        struct size_list l = {.count = 0};
        for (unsigned i = 0; i < 16; i++) {
            if (set >> i & 1) {
                l.bytes[l.count++] = (i + 1) * r->unit_bytes;
            }
        }
        if (l.bytes[l.count - 1] == r->most_bytes && l.count <= r->count_most && holes(&l, r) == 0) {
            least = fmin(least, fit_memory(h, &l, 0, PAGE_BYTES));
        }
    }
    return least;
}

static void test_no_choice_of_sizes_is_better(uint64_t x) {
    double worst = 0;
    unsigned gaps = 0;
    for (unsigned round = 0; round < 20; round++) {
        static struct fit_histogram h;
        struct size_rules few = {.least_bytes = 128, .first_bytes = 256, .most_bytes = 2048, .unit_bytes = 128};
        struct size_list sizes;
        few.count_most = 7 + (unsigned)(tap_random(&x) % 6);
        fit_histogram_init(&h, 1);
        for (uint32_t end = 128; end <= few.most_bytes; end += 128) {
            for (uint64_t n = tap_random(&x) % 3 == 0 ? 0 : tap_random(&x) % 50; n > 0; n--) {
                fit_histogram_add(&h, end - (uint32_t)(tap_random(&x) % 4), few.most_bytes);
            }
        }
        fit(&h, &few, 1u << 20, &sizes);
        gaps += holes(&sizes, &few);
        worst = fmax(worst, fit_memory(&h, &sizes, 0, PAGE_BYTES) / best_of(&h, &few));
    }
    is(gaps, 0, "lists of few sizes have a ladder");
    ok(worst < 1.0 + 1.0 / 1000, "the list found takes at most a thousandth more than the best list that has one (%.6f)", worst);
}

/* Classes that have items. */
static unsigned used_classes(const struct fit_histogram *h, const struct size_list *l) {
    unsigned used = 0;
    for (unsigned i = 0; i < l->count; i++) {
        used += fit_memory(h, l, i > 0 ? l->bytes[i - 1] : 0, l->bytes[i]) > 0;
    }
    return used;
}

static void fill_spread(struct fit_histogram *h, uint64_t *x, unsigned items) {
    fit_histogram_init(h, 1);
    for (unsigned i = 0; i < items; i++) {
        double octaves = (double)(tap_random(x) % 100000) / 100000 * 12;
        uint32_t bytes = (uint32_t)(64 * exp2(octaves));
        fit_histogram_add(h, bytes, rules.most_bytes);
    }
}

/* The number of classes that need less than a page when the cache is full. */
static unsigned minimums(const struct fit_histogram *h, const struct size_list *sizes,
                         uint32_t pages) {
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

/* Whole pages count: a list of many sizes holds fewer items in few pages, and no more than its memory in many. */
static void test_classes_cost_their_pages(uint64_t x) {
    static struct fit_histogram h;
    struct size_list few, many;
    fit_histogram_init(&h, 1);
    for (unsigned i = 0; i < 100000; i++) {
        fit_histogram_add(&h, 56 + (uint32_t)(tap_random(&x) % 2048), rules.most_bytes);
    }
    struct size_rules wide = rules;
    wide.count_most = 200;
    size_list_by_factor(&few, 96, 1.25, &wide);
    size_list_by_factor(&many, 96, 1.08, &wide);
    double small = fit_items(&h, &many, 32) / fit_items(&h, &few, 32), large = fit_items(&h, &many, 65536) / fit_items(&h, &few, 65536);
    double memory = fit_memory(&h, &few, 0, PAGE_BYTES) / fit_memory(&h, &many, 0, PAGE_BYTES);
    ok(small < 0.8, "in 32 pages a factor of 1.08 holds %.0f %% of the items of 1.25", small * 100);
    ok(large > 1.05 && large < memory * 1.01, "in 65536 pages %.1f %%, and its memory says %.1f %%", large * 100, memory * 100);
    fit_histogram_init(&h, 1);
    ok(!(fit_items(&h, &few, 64) > 0), "without items none is predicted");
}

static void test_every_list_keeps_the_rules(uint64_t x) {
    unsigned bad = 0, crowded = 0;
    for (unsigned round = 0; round < 20; round++) {
        static struct fit_histogram h;
        struct size_rules r = rules;
        struct size_list sizes;
        r.unit_bytes = 8u << (round % 3);
        uint32_t pages = 8u << (round % 8);
        fill_spread(&h, &x, 1u << (round % 14));
        fit(&h, &r, pages, &sizes);
        for (unsigned i = 0; i < sizes.count; i++) {
            bad += sizes.bytes[i] % r.unit_bytes != 0 || sizes.bytes[i] < r.least_bytes || (i > 0 && sizes.bytes[i] <= sizes.bytes[i - 1]);
        }
        bad += sizes.count == 0 || sizes.count > r.count_most || sizes.bytes[sizes.count - 1] != r.most_bytes;
        crowded += sizes.count > 2 && minimums(&h, &sizes, pages) > pages / 4 + 1; /* their count of items may differ a little */
    }
    is(bad, 0, "sizes ascend in units, within their limits, and end with the largest chunk");
    is(crowded, 0, "classes that need less than their one page have a quarter of the pages at most");
}

/* Sizes in a few lumps at random places: a fit without a ladder leaves holes between them. */
static void fill_lumps(struct fit_histogram *h, uint64_t *x) {
    fit_histogram_init(h, 1);
    for (uint64_t lumps = tap_random(x) % 6; lumps > 0; lumps--) {
        uint32_t bytes = (uint32_t)(40 * exp2((double)(tap_random(x) % 1000) / 1000 * 13));
        for (uint64_t n = 1 + tap_random(x) % 3000; n > 0; n--) {
            fit_histogram_add(h, bytes + (uint32_t)(tap_random(x) % (bytes / 20 + 1)),
                              rules.most_bytes);
        }
    }
}

static void test_a_ladder_stays_around_the_fitted_sizes(uint64_t x) {
    unsigned gaps = 0, bare = 0, many = 0, dear = 0;
    for (unsigned round = 0; round < 30; round++) {
        static struct fit_histogram h;
        struct size_rules r = rules;
        struct size_list sizes, in_use = {.count = 0};
        r.unit_bytes = 8u << (round % 4);
        r.count_most = 30 + (unsigned)(tap_random(&x) % 40);
        uint32_t pages = 100u << (round % 7);
        round % 5 == 0 ? fill_spread(&h, &x, 20000) : fill_lumps(&h, &x);
        fit(&h, &r, pages, &sizes);
        gaps += holes(&sizes, &r);
        bare += sizes.count < r.count_most ? bare_holes(&h, &sizes, &r) : 0;
        many += sizes.count > r.count_most;
        for (unsigned i = 0; i < sizes.count; i++) {
            bool is_used = fit_memory(&h, &sizes, i > 0 ? sizes.bytes[i - 1] : 0, sizes.bytes[i]) > 0;
            if (is_used || i + 1 == sizes.count) {
                in_use.bytes[in_use.count++] = sizes.bytes[i];
            }
        }
        dear += fit_items(&h, &sizes, pages) < fit_items(&h, &in_use, pages);
    }
    is(gaps, 0, "of sizes in lumps or spread, no neighbours are further apart than the ladder's factor");
    is(bare, 0, "where there are no items, and may be more sizes, no further than its finer factor");
    is(many, 0, "and they are no more than there may be");
    is(dear, 0, "rungs without items cost no item");
}

static void test_sizes_that_give_way(uint64_t x) {
    static struct fit_histogram h;
    struct size_list last = {.count = 0};
    unsigned more_holes = 0, too_many = 0;
    for (unsigned most = 60; most >= 2; most -= most > 26 ? 2 : 1) {
        struct size_rules r = rules;
        struct size_list sizes;
        fill_spread(&h, &x, 20000);
        r.count_most = most;
        fit(&h, &r, 1000, &sizes);
        too_many += sizes.count > most;
        more_holes += most > 24 && holes(&sizes, &r) > 0;
        last = sizes;
    }
    is(too_many, 0, "a limit of classes is kept to, down to two");
    is(more_holes, 0, "fitted sizes give way before the ladder does");
    ok(last.count == 2 && last.bytes[1] == rules.most_bytes, "of two sizes one is fitted, without a ladder");
    struct fit_limits limits = {.classes_most = 63, .used_classes_most = 30, .pages = 1000};
    struct size_list sizes;
    fit_sizes(&h, &rules, &limits, &sizes);
    ok(used_classes(&h, &sizes) <= 30, "a limit of classes with items is kept to: %u", used_classes(&h, &sizes));
}

/* In a search that expects other sizes, a class must be worth at least a page. */
TEST(test_the_wary_make_fewer_classes) {
    static struct fit_histogram h;
    struct fit_limits limits = {.classes_most = 63, .used_classes_most = FIT_CLASSES_MOST, .pages = 64};
    struct size_list sizes;
    unsigned used[2] = {0, 0};
    fit_histogram_init(&h, 1);
    for (unsigned i = 0; i < 100000; i++) {
        fit_histogram_add(&h, 150 + i % 150, rules.most_bytes);
    }
    for (unsigned cautious = 0; cautious < 2; cautious++) {
        limits.cautious = cautious;
        fit_sizes(&h, &rules, &limits, &sizes);
        used[cautious] = used_classes(&h, &sizes);
    }
    ok(used[1] > 1 && used[1] * 2 <= used[0], "sizes of 64 pages that may change have %u classes, not %u", used[1], used[0]);
}

/* Other threads wait for the fitting thread no longer than one step. */
static void test_a_search_takes_small_steps(uint64_t x) {
    static struct fit_histogram h;
    struct fit_limits limits = {.classes_most = 63, .used_classes_most = FIT_CLASSES_MOST, .pages = 1000};
    struct size_list whole, sizes;
    unsigned steps = 1;
    fill_spread(&h, &x, 20000);
    fit_sizes(&h, &rules, &limits, &whole);
    struct fit_search *search = fit_begin(&h, &rules, &limits);
    for (; fit_step(search); steps++) {
    }
    fit_end(&search, &sizes);
    ok(steps > 5 * sizes.count, "a search for %u sizes takes many steps: %u", sizes.count, steps);
    ok(search == NULL && sizes.count == whole.count && memcmp(sizes.bytes, whole.bytes, sizes.count * sizeof sizes.bytes[0]) == 0,
       "and finds what a search at once does");
}

TEST(test_an_empty_cache_has_the_ladder_alone) {
    static struct fit_histogram h;
    struct size_list sizes;
    struct size_rules few = rules, many = rules;
    fit_histogram_init(&h, 1);
    few.count_most = 24;
    many.count_most = 63;
    ok(fit(&h, &few, 64, &sizes) && holes(&sizes, &few) == 0, "without items there is the ladder: %u sizes", sizes.count);
    ok(fit(&h, &many, 64, &sizes) && sizes.count < 50 && bare_holes(&h, &sizes, &many) == 0, "or the finer one: %u sizes", sizes.count);
}

TEST(test_the_waste_of_unseen_sizes) {
    static struct fit_histogram h;
    const struct size_list octave = {.count = 2, .bytes = {1024, 2048}};
    struct fit_absent_sizes unseen;
    fit_histogram_init(&h, 1);
    fit_absent_sizes(&h, &octave, &unseen);
    ok(fabs(unseen.mean_pct - 27.9) < 0.2 && fabs(unseen.most_pct - 50) < 0.1,
       "in an octave without items they waste %.1f %% on average and %.1f %% at most", unseen.mean_pct, unseen.most_pct);
    for (uint32_t bytes = 1025; bytes <= 1536; bytes++) {
        fit_histogram_add(&h, bytes, 2048);
    }
    fit_absent_sizes(&h, &octave, &unseen);
    ok(fabs(unseen.most_pct - 25) < 0.1, "sizes that have items are not counted: %.1f %% at most", unseen.most_pct);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    test_no_choice_of_sizes_is_better(seed);
    test_classes_cost_their_pages(seed);
    test_every_list_keeps_the_rules(seed);
    test_a_ladder_stays_around_the_fitted_sizes(seed);
    test_sizes_that_give_way(seed);
    tap_run_tests();
    test_a_search_takes_small_steps(seed);
    return tap_done();
}
