/* The value of a page as the cache measures it, against caches that really have a page more or less; and the sizes of items. */
#include "tap.h"

#include "cache/admin/signals.h"
#include "cache_fixture.h"
#include "mem/slab.h"

enum { MIB = 1 << 20, VALUE_BYTES = 400 };

struct setup {
    struct cache        *cache;
    struct cache_thread *ct;
    unsigned             class_id;
};

static struct setup fresh(unsigned pages, const struct evict_policy *policy) {
    struct cache_config cfg = fixture_config((size_t)pages * MIB);
    cfg.policy = policy;
    cfg.slab.sizes = (const uint32_t[]){512};
    cfg.slab.size_count = 1;
    struct setup s = {.cache = cache_create(&cfg)};
    s.ct = cache_thread_create(s.cache);
    s.class_id = slab_class_of(cache_slab(s.cache), VALUE_BYTES + 60);
    return s;
}

static void end(struct setup *s) {
    fixture_end(&s->cache, &s->ct);
}

static char value[VALUE_BYTES], out[VALUE_BYTES + 8];

/* Zipf-like: a key's popularity falls with its number. */
static uint64_t popular(uint64_t *x, uint64_t keys) {
    double u = (double)(tap_random(x) >> 11) / 9007199254740992.0;
    return (uint64_t)((double)keys * u * u * u);
}

/* `requests` gets, each miss stored; returns the hits. */
static uint64_t replay(struct setup *s, uint64_t seed, uint64_t keys, uint64_t requests) {
    uint64_t x = seed, hits = 0;
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t n = popular(&x, keys);
        cache_turn_begin(s->ct);
        if (fixture_get(s->ct, n, out) >= 0) {
            hits++;
        } else {
            fixture_set(s->ct, n, value, sizeof value);
        }
        cache_turn_end(s->ct);
    }
    return hits;
}

static struct cache_signal signal_of(struct setup *s) {
    struct cache_signals all;
    cache_signals(s->cache, &all);
    cache_signal_tails(s->cache, &all);
    return all.classes[s->class_id];
}

enum { KEYS = 36000, WARM = 90000, MEASURED = 200000, PAGES = 6 };

static uint64_t hits_with(unsigned pages, const struct evict_policy *policy, uint64_t seed) {
    struct setup s = fresh(pages, policy);
    replay(&s, seed, KEYS, WARM);
    uint64_t hits = replay(&s, seed + 2, KEYS, MEASURED);
    end(&s);
    return hits;
}

static void test_signals_measure_the_value_of_pages(const struct evict_policy *policy, uint64_t seed) {
    struct setup s = fresh(PAGES, policy);
    ok(cache_measure(s.cache, true), "%s: measuring starts", policy->name);
    replay(&s, seed, KEYS, WARM);
    struct cache_signal before = signal_of(&s);
    uint64_t hits = replay(&s, seed + 2, KEYS, MEASURED);
    struct cache_signal after = signal_of(&s);
    end(&s);

    double more = (double)hits_with(PAGES + 1, policy, seed) - (double)hits, more_4 = (double)hits_with(PAGES + 4, policy, seed) - (double)hits;
    double less = (double)hits - (double)hits_with(PAGES - 1, policy, seed);
    double page_items = MIB / 512;
    double gain = (double)(after.ghost_hits[0] - before.ghost_hits[0]) * after.ghost_weight, gain_4 = gain;
    for (unsigned d = 1; d <= 2; d++) {
        gain_4 += (double)(after.ghost_hits[d] - before.ghost_hits[d]) * after.ghost_weight;
    }
    double loss = (double)(after.tail_hits[0] - before.tail_hits[0]) * page_items / (double)after.tail_items[0];
    ok(gain > 0.7 * more && gain < 1.4 * more, "%s: a page more gains %.0f hits, the ghosts say %.0f", policy->name, more, gain);
    ok(gain_4 > 0.7 * more_4 && gain_4 < 1.4 * more_4, "%s: four pages more gain %.0f hits, the ghosts say %.0f", policy->name, more_4, gain_4);
    ok(loss > 0.7 * less && loss < 1.4 * less, "%s: a page less loses %.0f hits, the tail says %.0f", policy->name, less, loss);
}

TEST(test_nothing_is_counted_while_off) {
    struct setup s = fresh(4, &evict_slru);
    replay(&s, 1, KEYS, 100000);
    struct cache_signal never = signal_of(&s);
    ok(never.hits > 0 && never.tail_hits[1] == 0 && never.tail_items[1] == 0, "a cache that was never measured counts no tail");
    cache_measure(s.cache, true);
    struct cache_signal begun = signal_of(&s);
    is(begun.tail_items[0], 16 * (MIB / 512 / 16), "the tail is a page's worth at once");
    replay(&s, 2, KEYS, 100000);
    cache_measure(s.cache, false);
    struct cache_signal stopped = signal_of(&s);
    ok(stopped.tail_hits[0] > 0 && stopped.ghost_hits[0] > 0, "on, it counts");
    replay(&s, 3, KEYS, 100000);
    struct cache_signal later = signal_of(&s);
    ok(later.tail_hits[1] == stopped.tail_hits[1] && later.ghost_hits[0] == stopped.ghost_hits[0] && later.tail_items[1] == 0,
       "off again, it counts no more");
    cache_thread_destroy(&s.ct);
    s.ct = cache_thread_create(s.cache);
    is(signal_of(&s).ghost_hits[0], stopped.ghost_hits[0], "a thread's counts stay when it ends");
    end(&s);
}

TEST(test_only_evictions_of_live_items_leave_ghosts) {
    struct setup s = fresh(2, &evict_slru);
    cache_measure(s.cache, true);
    cache_turn_begin(s.ct);
    for (uint64_t n = 0; n < 1000; n++) {
        fixture_set(s.ct, n, value, sizeof value);
        fixture_delete(s.ct, n);
        fixture_get(s.ct, n, out);
    }
    cache_turn_end(s.ct);
    is(signal_of(&s).ghost_hits[0], 0, "a deleted item leaves no ghost");
    end(&s);
}

static void store_two_sizes(struct setup *s, uint64_t items, size_t other_bytes) {
    cache_turn_begin(s->ct);
    for (uint64_t n = 0; n < items; n++) {
        fixture_set(s->ct, n, value, n % 2 == 0 ? sizeof value : other_bytes);
    }
    cache_turn_end(s->ct);
}

TEST(test_sizes_count_every_item_once_and_a_sample_estimates) {
    enum { ALL_PAGES = 12, ITEMS = 20000, LOOKED = 4 };
    struct setup s = fresh(ALL_PAGES, &evict_lru);
    static struct fit_histogram all, some;
    struct cache_sizing sizing;
    store_two_sizes(&s, ITEMS, 100);
    unsigned steps = 1;
    for (cache_sizing_begin(s.cache, &sizing, &all, ALL_PAGES); cache_sizing_step(s.cache, &sizing); steps++) {
    }
    ok(steps > ALL_PAGES * 10, "the sizes of all items are looked at in many small steps: %u", steps);
    ok(all.every == 1 && all.items == ITEMS, "of every page, and each item is counted once");
    cache_sizes(s.cache, &some, ALL_PAGES);
    ok(memcmp(&all, &some, sizeof all) == 0, "in one go they are the same");
    cache_sizes(s.cache, &some, LOOKED);
    double told = (double)some.items * some.every;
    ok(some.every > 1 && told > ITEMS * 0.6 && told < ITEMS * 1.4, "a sample of few pages is one in %u, and estimates the number of items: %.0f", some.every, told);
    end(&s);
}

TEST(test_sizes_of_values_in_blocks_count_the_first_block) {
    struct cache_config cfg = fixture_config(4 * MIB);
    cfg.store = CACHE_STORE_BLOCKS;
    cfg.block_bytes = CACHE_BLOCK_DEFAULT;
    struct setup s = {.cache = cache_create(&cfg)};
    static struct fit_histogram h;
    struct cache_facts f;
    s.ct = cache_thread_create(s.cache);
    store_two_sizes(&s, 1000, 20);
    cache_sizes(s.cache, &h, 4);
    cache_facts(s.cache, &f);
    is(h.item_bytes, f.bytes, "of values in chains of blocks every byte is counted");
    end(&s);
}

/* Items that no request wanted show nothing of the value of one more page. */
static enum cache_moved refit_chunk(void *ct, uint32_t page, uint32_t chunk) {
    return cache_evacuate(ct, page, chunk, EVACUATE_BY_SIZE | EVACUATE_EVICTS, NULL);
}

TEST(test_a_change_of_sizes_leaves_no_ghosts) {
    struct setup s = fresh(4, &evict_slru);
    struct moving_page m;
    struct page_driver d = {.ct = s.ct, .step_bytes = PAGE_BYTES, .chunk = refit_chunk, .arg = s.ct};
    replay(&s, 1, KEYS, 100000);
    cache_measure(s.cache, true);
    struct slab *slab = cache_slab(s.cache);
    for (uint32_t page = 0; page < slab->arena->page_max; page++) {
        if (slab_page_class(slab, page) == s.class_id && page_move_begin(&m, s.ct, page, s.class_id, SLAB_CLASS_NONE, 0)) {
            cache_turn_begin(s.ct);
            page_move_step(&m, &d);
            cache_turn_end(s.ct);
            page_move_finish(&m, s.ct, clock_mono_us() + 1000000);
            break;
        }
    }
    ok(d.did.evicted > 0, "a page is emptied for other sizes, and drops %" PRIu64, d.did.evicted);
    cache_turn_begin(s.ct);
    for (uint64_t n = 0; n < KEYS; n++) {
        fixture_get(s.ct, n, out);
    }
    cache_turn_end(s.ct);
    is(signal_of(&s).ghost_hits[0], 0, "which leaves no ghosts");
    end(&s);
}

int main(void) {
    clock_start();
    tap_run_tests();
    uint64_t seed = tap_sample_seed() | 1;
    if (TAP_SLOWER == 1) { /* millions of requests in one thread: a slow build covers every line with one policy */
        test_signals_measure_the_value_of_pages(&evict_slru, seed);
    }
    test_signals_measure_the_value_of_pages(&evict_lru, seed);
    return tap_done();
}
