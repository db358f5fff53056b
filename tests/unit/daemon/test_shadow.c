/* What-if on a sample of the keys against full simulations of every policy and size. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "sample/shadow.h"

enum { KEYS = 30000, REQUESTS = 300000, CACHE_KEYS = 6000, ITEM_BYTES = 500, CLASS = 3, POLICIES = 14 };
static const double no_hits[CURVE_CLASSES]; /* the curve's counts are test_curve's */
static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};

/* The salt decides the keys in the sample: another salt, another sample of the same requests. */
static uint64_t salt;

static uint64_t hash_of(uint64_t n) {
    n ^= salt << 56;
    return key_hash((const char *)&n, sizeof n);
}

/* Half of the requests are for popular keys, a tenth for keys that never come again, the others for random keys. */
static uint64_t next_key(uint64_t *x, uint64_t i) {
    double u = (double)(tap_random(x) >> 11) / 9007199254740992.0;
    switch (tap_random(x) % 10) {
    case 0: return (uint64_t)1 << 40 | i;
    case 1:
    case 2:
    case 3:
    case 4: return tap_random(x) % 10000;
    default: return (uint64_t)1 << 50 | (uint64_t)(KEYS * u * u * u);
    }
}

#define RECORD(what, of) \
    (struct sample_record) { .hash = (of), .bytes = (what) == SAMPLE_MISS ? 0 : ITEM_BYTES, .class_id = (what) == SAMPLE_MISS ? 0 : CLASS, .verb = (what) }

/* One class has all memory, and so much of it is idle. */
static void set(struct shadow *s, uint64_t bytes, uint64_t idle, const struct evict_policy *running, uint32_t below) {
    struct share_classes k = {.page_bytes = 1 << 20};
    k.bytes[CLASS] = (double)bytes;
    k.idle[CLASS] = (double)idle;
    shadow_set(s, bytes, &k, running, below);
}

/* The cache's event for a request. */
static void tell(struct shadow *s, uint64_t hash, bool hit) {
    struct sample_record get = RECORD(hit ? SAMPLE_HIT : SAMPLE_MISS, hash), set = RECORD(SAMPLE_STORE, hash);
    shadow_record(s, &get, 0);
    if (!hit) {
        shadow_record(s, &set, 0);
    }
}

/* So many reads of keys that miss, of so many different ones. */
static void tell_misses(struct shadow *s, uint64_t reads, uint64_t keys) {
    for (uint64_t n = 0; n < reads; n++) {
        tell(s, hash_of(n % keys), false);
    }
}

/* A shadow at the rate 1 of a cache with room for so many items. */
static struct shadow *watching(const struct evict_policy *running, double items, double idle_items) {
    struct shadow *s = shadow_create(running, &tuning, 1 << 20);
    set(s, (uint64_t)(items * ITEM_BYTES), (uint64_t)(idle_items * ITEM_BYTES), running, UINT32_MAX);
    return s;
}

static unsigned place_of(const struct evict_policy *policy) {
    unsigned i = 0;
    while (evict_policies[i] != policy) {
        i++;
    }
    return i;
}

static double miss_ratio(const struct evict_policy *policy, double factor, uint64_t seed) {
    uint32_t keys = (uint32_t)(CACHE_KEYS * factor);
    struct mini *m = mini_create(policy, &tuning, keys, 0);
    uint64_t x = seed, misses = 0;
    for (uint64_t i = 0; i < REQUESTS; i++) {
        bool hit = mini_request(m, (struct mini_item){hash_of(next_key(&x, i)), 1, 0}, 0);
        misses += i >= REQUESTS / 2 && !hit;
    }
    mini_destroy(&m);
    return (double)misses / (REQUESTS / 2.0);
}

/* The cache itself is a full simulation of its policy; its sampled events go to the shadow. */
static struct shadow *run(const struct evict_policy *running, double rate, size_t memory_bytes, uint64_t seed) {
    struct shadow *s = shadow_create(running, &tuning, memory_bytes);
    struct mini *real = mini_create(running, &tuning, CACHE_KEYS, 0);
    uint64_t x = seed;
    uint32_t below = sample_hash_below(rate);
    set(s, (uint64_t)CACHE_KEYS * ITEM_BYTES, 0, running, below);
    for (uint64_t i = 0; i < REQUESTS; i++) {
        uint64_t hash = hash_of(next_key(&x, i));
        bool hit = mini_request(real, (struct mini_item){hash, 1, 0}, 0);
        if (sample_takes(hash, below)) {
            tell(s, hash, hit);
        }
        if (shadow_window_due(s)) {
            shadow_window_end(s, no_hits);
        }
    }
    mini_destroy(&real);
    return s;
}

/* One sample depends on its keys; the claim is about the estimate, so the mean of a few samples is compared. */
static void test_near_full_simulations(uint64_t seed) {
    enum { SAMPLES = 4 };
    const struct evict_policy *running = &evict_s3fifo;
    double real = miss_ratio(running, 1, seed), policy_missed[POLICIES] = {0}, half_missed = 0;
    for (salt = 0; salt < SAMPLES; salt++) {
        struct shadow *s = run(running, 0.2, 16 << 20, seed);
        for (unsigned i = 0; i < POLICIES; i++) {
            struct shadow_counts t = shadow_policy(s, i);
            policy_missed[i] += (1 - shadow_hit_ratio(&t, 1 - real)) / SAMPLES;
        }
        struct shadow_counts half = shadow_half(s);
        half_missed += (1 - shadow_hit_ratio(&half, 1 - real)) / SAMPLES;
        if (salt == 0) {
            struct shadow_counts whole = shadow_policy(s, 0),
                                 in_class = shadow_class_policy(s, CLASS, 0);
            ok(in_class.reads > whole.reads / 5 && in_class.own_misses > 0, "reads are counted for their class, where it is known, too");
        }
        shadow_destroy(&s);
    }
    salt = 0;
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        if (evict_policies[i]->victim == NULL) {
            continue; /* the policy retains the first keys, which no sample can show */
        }
        double truth = miss_ratio(evict_policies[i], 1, seed);
        ok(fabs(policy_missed[i] - truth) <= 0.02, "%s: predicted to miss %.4f, misses %.4f", evict_policies[i]->name, policy_missed[i], truth);
    }
    double truth = miss_ratio(running, 0.5, seed);
    ok(fabs(half_missed - truth) <= 0.03, "half the memory: predicted to miss %.4f, misses %.4f", half_missed, truth);
}

TEST(test_own_is_the_measure) {
    struct shadow *s = run(&evict_lru, 0.1, 16 << 20, 99);
    unsigned lru = place_of(&evict_lru);
    struct shadow_counts t = shadow_policy(s, lru);
    ok(t.better <= 0 && t.worse <= 0 && t.reads > 0, "today's policy differs from itself by nothing");
    unsigned same = 0;
    for (unsigned i = 0; i < 1000; i++) {
        same += !(shadow_hit_ratio(&t, i / 1000.0) - i / 1000.0 < 0) && !(shadow_hit_ratio(&t, i / 1000.0) - i / 1000.0 > 0);
    }
    is(same, 1000, "and its prediction is exactly its present ratio");
    set(s, (uint64_t)CACHE_KEYS * ITEM_BYTES, 0, &evict_fifo, sample_hash_below(0.1));
    t = shadow_policy(s, lru);
    ok(t.reads <= 0, "after a change of policy nothing is known, until it is counted against that");
    shadow_destroy(&s);
}

/* Pages in the wrong classes make a cache miss a third; its miniature, without classes, misses 2 % of the reads. */
TEST(test_misses_that_are_no_policys_do_not_multiply_a_difference) {
    const struct shadow_counts t = {.reads = 1000, .own_misses = 20, .worse = 60, .deviation = 8},
                               half = {.reads = 1000, .own_misses = 200, .worse = 20};
    double told = shadow_hit_ratio(&t, 0.666);
    ok(told > 0.54 && told < 0.55, "a policy that missed 6 points more is predicted to miss 12 points more, and not all: %.3f", told);
    ok(shadow_error(&t, 0.666) < 0.017, "and its doubt is as little");
    told = shadow_hit_ratio(&half, 0.7);
    ok(told > 0.669 && told < 0.671, "less than twice as much counts in proportion: %.3f", told);
}

/* One key comes again and again among keys that never do: the LRU retains that key, first in, first out drops it with the others. */
TEST(test_doubt_counts_keys_not_reads) {
    struct shadow *s = watching(&evict_lru, 50, 0);
    unsigned fifo = place_of(&evict_fifo);
    for (uint64_t n = 0; n < 5000; n++) {
        tell(s, hash_of(n % 5 == 0 ? 1 << 20 : n), n % 5 == 0 && n > 0);
    }
    shadow_window_end(s, no_hits);
    struct shadow_counts t = shadow_policy(s, fifo);
    ok(t.worse > 50 && t.better <= 0, "first in, first out misses the key %.0f times that the LRU has it", t.worse);
    ok(fabs(t.deviation - t.worse) < 1e-6, "and all of it is in doubt, for another sample would not have that key");
    shadow_destroy(&s);
}

/* `none` retains the first keys for ever: it misses new keys twice where the LRU misses once, and hits keys that come back late. */
TEST(test_earlier_misses_do_not_count_against_a_rise) {
    enum { HELD = 50, NEW = 500, ROUNDS = 4 };
    struct shadow *s = watching(&evict_lru, HELD, 0);
    unsigned none = place_of(&evict_none);
    tell_misses(s, HELD, UINT64_MAX);
    for (uint64_t n = 0; n < 2 * NEW; n++) {
        tell(s, hash_of(1000 + n / 2), n % 2 == 1);
    }
    shadow_window_end(s, no_hits);
    struct shadow_counts all = shadow_policy(s, none), rising = shadow_rising(s, none);
    ok(all.worse > NEW - 1 && rising.worse <= 0 && rising.reads <= 0, "a policy that is worse does not rise, %.0f misses more", all.worse);
    for (uint64_t n = 0; n < ROUNDS * HELD; n++) {
        tell(s, hash_of(n % HELD), false);
        tell(s, hash_of(10000 + n), false);
    }
    shadow_window_end(s, no_hits);
    all = shadow_policy(s, none), rising = shadow_rising(s, none);
    ok(all.worse > all.better, "it is behind still, all in all: %.0f misses more, %.0f fewer", all.worse, all.better);
    ok(rising.better > ROUNDS * HELD - 1 && rising.worse <= 0, "but since the keys changed it rises: %.0f fewer, %.0f more", rising.better, rising.worse);
    set(s, HELD * ITEM_BYTES, 0, &evict_fifo, UINT32_MAX);
    ok(shadow_rising(s, none).reads <= 0, "the rise against another policy is forgotten");
    shadow_destroy(&s);
}

TEST(test_memory_and_rate) {
    struct shadow *s = shadow_create(&evict_s3fifo, &tuning, 200 << 10);
    set(s, (uint64_t)1 << 30, 0, &evict_s3fifo, sample_hash_below(0.5));
    for (uint64_t n = 0; n < 200000; n++) {
        tell(s, hash_of(n), n % 3 == 0);
    }
    struct shadow_fill f = shadow_fill(s);
    ok(shadow_memory(s) <= 200 << 10 && shadow_memory(s) > 190 << 10, "%zu bytes of %d", shadow_memory(s), 200 << 10);
    is(f.nodes, f.nodes_max, "it holds as many keys as it has room for");
    set(s, (uint64_t)1 << 30, 0, &evict_s3fifo, sample_hash_below(0.25));
    uint32_t fewer = shadow_fill(s).nodes;
    ok(fewer > f.nodes / 4 && fewer < f.nodes * 3 / 4, "at half the rate it holds about half of them: %u of %u", fewer, f.nodes);
    shadow_destroy(&s);
}

TEST(test_a_deleted_key_misses_everywhere) {
    struct shadow *s = watching(&evict_lru, 2000, 0);
    struct sample_record gone = RECORD(SAMPLE_GONE, hash_of(1));
    tell(s, hash_of(1), false);
    tell(s, hash_of(1), true);
    shadow_record(s, &gone, 0);
    is(shadow_fill(s).nodes, 0, "it is not held");
    tell(s, hash_of(1), false);
    shadow_window_end(s, no_hits);
    ok(shadow_policy(s, 0).own_misses > 1.5 && shadow_fill(s).nodes == 1, "and the next read of it missed, as the first did, and brought it in again");
    shadow_destroy(&s);
}

TEST(test_windows_count_alike_at_any_rate) {
    struct shadow *s = watching(&evict_lru, 100, 0);
    tell_misses(s, 8000, 300);
    shadow_window_end(s, no_hits);
    struct shadow_counts before = shadow_half(s), policy = shadow_policy(s, 0),
                         in_class = shadow_class_policy(s, CLASS, 0);
    set(s, 100 * ITEM_BYTES, 0, &evict_lru, sample_hash_below(0.125));
    struct shadow_counts after = shadow_half(s);
    ok(before.reads > 0 && fabs(after.reads - before.reads / 8) < 1 && fabs(after.own_misses - before.own_misses / 8) < 1,
       "at an eighth of the rate %.0f reads count as %.0f would, had it been so from the start", before.reads, after.reads);
    ok(fabs(shadow_policy(s, 0).own_misses - policy.own_misses / 8) < 1 && fabs(shadow_class_policy(s, CLASS, 0).reads - in_class.reads / 8) < 1,
       "likewise for policies, and by class");
    shadow_destroy(&s);
}

/* Another policy hits so many more of a thousand reads than today's, and in each window so many more again. */
static void add_windows(struct mini_counts *past, unsigned count, double lead, double growth) {
    for (unsigned i = 0; i < count; i++) {
        const struct mini_counts now = {.reads = 1000, .own_misses = 500, .better = lead + i * growth};
        mini_counts_add(past, &now, SHADOW_FADE);
    }
}

TEST(test_a_lead_that_grows_evenly_is_ahead_of_its_mean_by_the_lag) {
    struct mini_counts past = {0};
    add_windows(&past, 30, 0, 10);
    struct shadow_counts grown = mini_counts_result(&past);
    double behind = 0.5 + 0.29 - shadow_hit_ratio(&grown, 0.5);
    ok(behind > 0.02 && fabs(shadow_lag(&grown, 0.5) - behind) < 0.001, "the mean is %.4f behind the last window: %.4f", behind, shadow_lag(&grown, 0.5));
    mini_counts_scale(&past, 0.125);
    struct shadow_counts fewer = mini_counts_result(&past);
    ok(fabs(shadow_lag(&fewer, 0.5) - behind) < 0.001, "at any rate: %.4f", shadow_lag(&fewer, 0.5));
    add_windows(&past, 30, 290, 0);
    struct shadow_counts even = mini_counts_result(&past);
    ok(shadow_lag(&even, 0.5) < 0.001, "but not once the lead stays: %.4f", shadow_lag(&even, 0.5));
}

/* A hundredth of the keys says nothing about a class with ten items. */
TEST(test_a_class_apart_counts_as_at_present) {
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    uint32_t below = sample_hash_below(0.01);
    k.bytes[CLASS] = 1 << 20;
    k.chunk_bytes[CLASS] = 100 << 10;
    shadow_set(s, 2 << 20, &k, &evict_lru, below);
    unsigned told = 0;
    for (uint64_t n = 0; told < 600; n++) {
        if (sample_takes(hash_of(n), below)) {
            tell(s, hash_of(n), false);
            tell(s, hash_of(n), true);
            told++;
        }
    }
    shadow_window_end(s, no_hits);
    struct shadow_counts half = shadow_half(s);
    is(shadow_fill(s).nodes, 0, "its items take no memory from others");
    ok(half.better <= 0 && half.worse <= 0 && half.reads > 0 && fabs(half.own_misses - half.reads / 2) < 1, "its reads hit and miss as in the cache, at any size");
    shadow_destroy(&s);
}

TEST(test_other_chunks_begin_the_curves_anew) {
    struct shadow *s = shadow_create(&evict_lru, &tuning, 1 << 20);
    struct share_classes k = {.page_bytes = 1 << 20};
    k.bytes[CLASS] = 1 << 20;
    k.chunk_bytes[CLASS] = 1000;
    shadow_set(s, 1 << 20, &k, &evict_lru, UINT32_MAX);
    tell_misses(s, 600, 150);
    ok(curve_reads(shadow_curve(s), CLASS) > 0 && shadow_has_classes(s, &k), "reads are counted for the class that has them");
    k.chunk_bytes[CLASS] = 0;
    k.chunk_bytes[CLASS + 1] = 900;
    ok(!shadow_has_classes(s, &k), "when items get other chunks, these are no reads of their class");
    shadow_set(s, 1 << 20, &k, &evict_lru, UINT32_MAX);
    ok(curve_reads(shadow_curve(s), CURVE_ALL) <= 0 && shadow_has_classes(s, &k), "and they are forgotten");
    shadow_destroy(&s);
}

TEST(test_another_tuning_is_counted_anew) {
    struct evict_tuning own = {20, 40, 20, 200, 10, 90, 2, 0};
    struct shadow *s = shadow_create(&evict_s3fifo, &own, 1 << 20);
    set(s, 100 * ITEM_BYTES, 0, &evict_s3fifo, UINT32_MAX);
    tell_misses(s, 600, 150);
    shadow_window_end(s, no_hits);
    ok(shadow_policy(s, 0).reads > 0 && shadow_half(s).reads > 0, "reads are counted");
    ok(!shadow_note_tuning(s) && shadow_policy(s, 0).reads > 0, "and kept while the tuning is the same");
    own.promote_hits = 1;
    ok(shadow_note_tuning(s), "a change of the tuning is noted");
    struct shadow_counts policy = shadow_policy(s, 0), rising = shadow_rising(s, 0),
                         size = shadow_half(s);
    ok(policy.reads <= 0 && rising.reads <= 0 && size.reads <= 0, "earlier counts are forgotten");
    ok(!shadow_note_tuning(s), "once");
    shadow_destroy(&s);
}

/* A miss and the following set of a key with this time to live; or a hit. */
static void tell_mortal(struct shadow *s, uint64_t hash, bool hit, uint32_t expires_s, uint32_t now_s) {
    struct sample_record get = RECORD(hit ? SAMPLE_HIT : SAMPLE_MISS, hash), store = RECORD(SAMPLE_STORE, hash);
    get.expires_s = hit ? expires_s : 0;
    store.expires_s = expires_s;
    shadow_record(s, &get, now_s);
    if (!hit) {
        shadow_record(s, &store, now_s);
    }
}

/* One and a half times as many keys as the cache holds come in a round, each every 150 s: the LRU misses all, twice the memory misses none.
 * */
static double hits_of_twice_the_memory_in_rounds(uint32_t ttl_s, bool touched) {
    enum { HELD = 100, ROUND = 150, ROUNDS = 6 };
    struct shadow *s = watching(&evict_lru, HELD, 0);
    for (uint32_t n = 0; n < ROUNDS * ROUND; n++) {
        uint32_t now_s = 1000 + n;
        uint64_t hash = hash_of(n % ROUND);
        tell_mortal(s, hash, false, ttl_s > 0 ? now_s + ttl_s : 0, now_s);
        if (touched) {
            struct sample_record touch = {.hash = hash, .verb = SAMPLE_TOUCH, .expires_s = now_s + 10 * ttl_s};
            shadow_record(s, &touch, now_s);
        }
    }
    shadow_window_end(s, no_hits);
    double hit_ratio = curve_hit_ratio(shadow_curve(s), CLASS, 2 * HELD * ITEM_BYTES);
    shadow_destroy(&s);
    return hit_ratio;
}

TEST(test_more_memory_keeps_nothing_that_expires) {
    static const struct {
        uint32_t    ttl_s;
        bool        touched;
        double      least, most; /* bounds, as shares of the reads */
        const char *claim;
    } rows[] = {{0, false, 0.8, 1, "twice the memory has what does not expire"},
                {2000, false, 0.8, 1, "and what expires late"},
                {200, false, 0.45, 0.55, "every other time what expires in the second round"},
                {100, false, 0, 0, "but nothing of what expires before"},
                {100, true, 0.8, 1, "unless a touch has it live longer"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double hit_ratio = hits_of_twice_the_memory_in_rounds(rows[i].ttl_s, rows[i].touched);
        ok(hit_ratio >= rows[i].least && hit_ratio <= rows[i].most, "%s: %.3f of the reads", rows[i].claim, hit_ratio);
    }
}

/* A read notes the remaining time to live, so an item that a miniature stores after it lives no shorter. */
TEST(test_a_read_does_not_shorten_a_life) {
    struct shadow *s = watching(&evict_lru, 2000, 0);
    tell_mortal(s, hash_of(1), false, 1100, 1000);
    tell_mortal(s, hash_of(1), true, 1100, 1090);
    struct sample_record gone = {.hash = hash_of(1), .verb = SAMPLE_GONE, .expires_s = 1100}, miss = RECORD(SAMPLE_MISS, hash_of(1));
    shadow_record(s, &gone, 1100);
    shadow_record(s, &miss, 1100);
    tell_mortal(s, hash_of(1), true, 1200, 1199);
    shadow_record(s, &miss, 1200);
    shadow_window_end(s, no_hits);
    is(shadow_policy(s, 0).own_misses, 3, "stored again at 1100 s it is there at 1199 s, and not at 1200 s");
    shadow_destroy(&s);
}

TEST(test_the_dead_keep_no_living_out) {
    enum { NODES = 200 };
    for (unsigned i = 0; evict_policies[i] != NULL; i++) {
        struct mini *m = mini_create(evict_policies[i], &tuning, NODES, 0);
        unsigned kept = 0;
        for (uint64_t n = 0; n < NODES; n++) {
            mini_request(m, (struct mini_item){hash_of(n), 1, n % 2 == 0 ? 110 : 0}, 100);
        }
        for (uint64_t n = 0; n < NODES / 2; n++) {
            mini_request(m, (struct mini_item){hash_of(1000 + n), 1, 0}, 120);
        }
        for (uint64_t n = 1; n < NODES; n += 2) {
            kept += mini_read(m, hash_of(n), 120);
        }
        is(kept, NODES / 2, "%s: as many new keys as have expired push out none that has not", evict_policies[i]->name);
        ok(!mini_read(m, hash_of(0), 120) && mini_nodes(m) == NODES, "and take the places of those");
        mini_destroy(&m);
    }
}

int main(void) {
    uint64_t seed = tap_sample_seed() | 1;
    test_near_full_simulations(seed);
    return tap_main();
}
