/* The stream of samples from the cache, and its results: rates, drops, and the policy s3auto. */
#include "tap.h"

#include <malloc.h>
#include <math.h>

#include "cache/admin/signals.h"
#include "cache_fixture.h"
#include "control/sampling/whatif.h"

enum { MIB = 1 << 20, VALUE_BYTES = 1000, VALUE_BYTES_MAX = 2048, PAGES = 4, THREADS = 4 };

enum { ITEMS = PAGES * MIB / 1200 }; /* items that fit */

struct setup {
    struct cache        *cache;
    struct cache_thread *ct;
    struct whatif       *whatif;
};

static char value[VALUE_BYTES_MAX];
static _Thread_local char out[VALUE_BYTES_MAX + 8];

/* Time passes by requests, or as a test sets it: with the real clock the rate of sampling would depend on the machine's speed. */
enum { REQUEST_US = 100 };
static uint64_t now_us = 1;

static struct setup fresh(const struct evict_policy *policy, double rate, bool follow) {
    struct cache_config cfg = fixture_config((size_t)PAGES * MIB);
    cfg.policy = policy;
    cfg.slab.sizes = (const uint32_t[]){1200};
    cfg.slab.size_count = 1;
    struct setup s = {.cache = cache_create(&cfg)};
    s.ct = cache_thread_create(s.cache);
    s.whatif = whatif_create(s.cache, cfg.limit_bytes, THREADS);
    whatif_set(s.whatif, rate, follow);
    whatif_tend_at(s.whatif, now_us);
    return s;
}

static void end(struct setup *s) {
    whatif_destroy(&s->whatif);
    fixture_end(&s->cache, &s->ct);
}

static bool ask(struct setup *s, uint64_t n) {
    cache_turn_begin(s->ct);
    bool hit = fixture_get(s->ct, n, out) >= 0;
    if (!hit) {
        fixture_set(s->ct, n, value, VALUE_BYTES);
    }
    cache_turn_end(s->ct);
    return hit;
}

/* Lets time pass, and processes the samples. */
static void tend(struct setup *s, uint64_t us) { whatif_tend_at(s->whatif, now_us += us); }

/* --- the stream --- */

/* Counts the records of each verb; *last: the last of each. */
static unsigned take(struct setup *s, unsigned by_verb[SAMPLE_KEY + 1], struct sample_record last[SAMPLE_KEY + 1]) {
    struct cache_samples samples;
    unsigned all = 0;
    memset(by_verb, 0, (SAMPLE_KEY + 1) * sizeof *by_verb);
    memset(last, 0, (SAMPLE_KEY + 1) * sizeof *last);
    for (unsigned t = 0; cache_take_samples(s->cache, t, &samples); t++) {
        for (; samples.used > 0; cache_take_samples(s->cache, t, &samples)) {
            for (const struct sample_record *r = NULL; (r = cache_sample_next(&samples, r)) != NULL; all++) {
                by_verb[r->verb]++;
                last[r->verb] = *r;
            }
        }
    }
    return all;
}
static unsigned n[SAMPLE_KEY + 1]; /* counts of the last take */
static struct sample_record last[SAMPLE_KEY + 1];

/* The expiry time in the last record of a verb. */
static uint32_t told(struct setup *s, enum sample_verb verb) {
    take(s, n, last);
    return last[verb].expires_s;
}

TEST(test_samples_have_times_to_live) {
    struct setup s = fresh(&evict_s3fifo, 1, false);
    struct cache_view view;
    struct key key = FIXTURE_KEY(1);
    uint32_t at_s = clock_now_s();
    cache_turn_begin(s.ct);
    struct cache_store store = {.mode = CACHE_SET, .value = value, .value_bytes = 10, .exptime_s = at_s + 1000};
    cache_store(s.ct, &key, &store, NULL);
    fixture_get(s.ct, 1, out);
    ok(told(&s, SAMPLE_STORE) == at_s + 1000 && last[SAMPLE_HIT].expires_s == at_s + 1000, "samples of a store and a read have the item's expiry time");
    store.mode = CACHE_APPEND;
    store.exptime_s = 0;
    cache_store(s.ct, &key, &store, NULL);
    is(told(&s, SAMPLE_STORE), at_s + 1000, "an append that of the item it appends to");
    cache_touch(s.ct, &key, at_s + 2000);
    is(told(&s, SAMPLE_TOUCH), at_s + 2000, "a touch its new time");
    cache_fetch(s.ct, &key, &(struct cache_fetch){.touch = true, .exptime_s = at_s + 5, .want_value = true}, out, &view);
    is(told(&s, SAMPLE_TOUCH), at_s + 5, "and a read that touches");
    fixture_next_turn(s.ct, 10);
    fixture_get(s.ct, 1, out);
    ok(told(&s, SAMPLE_GONE) == at_s + 5 && last[SAMPLE_MISS].hash == last[SAMPLE_GONE].hash, "a read of an expired item has its expiry time");
    store.mode = CACHE_SET;
    cache_store(s.ct, &key, &store, NULL);
    cache_delete(s.ct, &key, &(struct cache_delete){0});
    ok(told(&s, SAMPLE_GONE) == 0 && last[SAMPLE_GONE].hash != 0, "a delete has no expiry time");
    cache_turn_end(s.ct);
    clock_shift(-10);
    end(&s);
}

TEST(test_off_costs_nothing) {
    struct setup s = fresh(&evict_s3fifo, 0, false);
    struct whatif_facts f;
    for (uint64_t i = 0; i < 1000; i++) {
        ask(&s, i);
    }
    whatif_facts(s.whatif, &f);
    ok(take(&s, n, last) == 0 && !f.on && f.memory_bytes == 0, "nothing is noted, and no memory taken");
    is_str(f.why, "nothing is sampled: sample_rate is 0", "the status says why there is nothing to see");
    whatif_set(s.whatif, 0, true);
    whatif_facts(s.whatif, &f);
    is_str(f.why, "nothing is sampled: sample_rate is 0, and s3auto keeps the policy there is", "also under s3auto");
    ok(whatif_tend_at(s.whatif, now_us) == UINT64_MAX, "and nobody is woken");
    for (int on = 1; on >= 0; on--) {
        whatif_set(s.whatif, on, false);
        tend(&s, 0);
        ask(&s, 1);
        is(take(&s, n, last) > 0, on, "until it is turned on, and off again");
    }
    end(&s);
}

/* Each noted key costs a worker time: after a rest a burst is noted no longer than for one second. */
TEST(test_a_second_of_many_noted_keys_has_the_next_note_some_thousand) {
    enum { NOTED = 20000, A_TURN = 20, LEAST_EVERY = NOTED / 2000 };
    struct setup s = fresh(&evict_s3fifo, 0.001, false);
    char name[64];
    struct key key = fixture_key(name, 1);
    while (cache_sample_key_every(s.cache) > 1) {
        tend(&s, CLOCK_SECOND_US);
    }
    for (unsigned i = 0; i < NOTED / A_TURN; i++) {
        for (unsigned k = 0; k < A_TURN; k++) {
            cache_sample_key(s.ct, &key, 1, 0);
        }
        tend(&s, 1);
    }
    is(cache_sample_key_every(s.cache), 1, "at rest every key is noted");
    tend(&s, CLOCK_SECOND_US);
    ok(cache_sample_key_every(s.cache) >= LEAST_EVERY, "and after %d one in %u", NOTED, cache_sample_key_every(s.cache));
    end(&s);
}

/* With other numbers of its policy the cache is another one, without any counts yet. */
TEST(test_a_hit_ratio_is_reported_once_counted) {
    struct setup s = fresh(&evict_s3fifo, 1, false);
    struct cache_settings settings = fixture_config(1).settings;
    struct whatif_facts f;
    whatif_facts(s.whatif, &f);
    ok(isnan(f.hit_ratio), "no hit ratio is reported at the start");
    for (uint64_t i = 0; i < 8 * ITEMS; i++) {
        ask(&s, i < 4 * ITEMS ? i % (ITEMS / 2) : i);
        tend(&s, REQUEST_US);
    }
    whatif_facts(s.whatif, &f);
    ok(f.windows > 0 && f.hit_ratio >= 0 && f.hit_ratio < 1, "one is after %" PRIu64 " windows: %.4f", f.windows, f.hit_ratio);
    settings.s3fifo.small_pct = 30;
    cache_set(s.cache, &settings);
    whatif_set(s.whatif, 0.9, false); /* so that the samples are processed at once */
    whatif_tend_at(s.whatif, now_us);
    whatif_facts(s.whatif, &f);
    ok(isnan(f.hit_ratio), "and none when the policy goes by other numbers");
    end(&s);
}

/* Nobody reads the ring meanwhile, which has room for an eighth of the records. */
TEST(test_a_late_reader_has_complete_records_of_fewer_keys) {
    enum { KEYS = 2000 };
    struct setup s = fresh(&evict_s3fifo, 1, false);
    struct cache_samples samples;
    struct whatif_facts f;
    char name[64];
    uint64_t found = 0, asked = 0;
    for (uint64_t i = 0; i < KEYS; i++) {
        ask(&s, i);
    }
    uint32_t below = cache_sample_complete_below(s.cache);
    for (uint64_t i = 0; i < KEYS; i++) {
        asked += sample_takes(fixture_key(name, i).hash, below);
    }
    while (cache_take_samples(s.cache, 0, &samples) && samples.used > 0) {
        for (const struct sample_record *r = NULL; (r = cache_sample_next(&samples, r)) != NULL;) {
            found += sample_takes(r->hash, below);
        }
    }
    ok(asked > 0 && asked < KEYS / 4 && found == 2 * asked, "of %" PRIu64 " in %d keys the miss and the store are there", asked, KEYS);
    is(cache_sample_complete_below(s.cache), UINT32_MAX, "from then on the sample is complete again");
    for (uint64_t i = 0; i < KEYS; i++) {
        ask(&s, KEYS + i);
    }
    tend(&s, REQUEST_US);
    whatif_facts(s.whatif, &f);
    ok(f.rate > 0 && f.rate < 0.25 && f.dropped == 0, "the rate falls to such keys: %.4f", f.rate);
    end(&s);
}

/* --- hot keys --- */

enum { BURST_NOTES = 5000, NOTE_EVERY = 16, A_SECOND_US = 1000000 };

/* A burst fills the ring before its samples are processed: the keys of most requests are lost, their number is not. */
TEST(test_requests_count_that_were_not_noted) {
    struct setup s = fresh(&evict_s3fifo, 1, false);
    struct hot_key keys[HOT_KEYS];
    struct hot_totals asked;
    char name[64];
    struct key key = fixture_key(name, 1);
    const uint64_t all = (uint64_t)BURST_NOTES * NOTE_EVERY;
    tend(&s, A_SECOND_US);
    for (unsigned i = 0; i < BURST_NOTES; i++) {
        cache_count_key_requests(s.ct, NOTE_EVERY);
        cache_sample_key(s.ct, &key, NOTE_EVERY, 0);
    }
    for (unsigned i = 0; i < 9; i++) {
        tend(&s, A_SECOND_US);
    }
    unsigned found = whatif_hot(s.whatif, now_us, &asked, keys, HOT_KEYS);
    ok(asked.noted < BURST_NOTES / 2 && asked.requests == all, "all requests are counted, nine seconds later too, though the keys of %" PRIu64 " in %d were noted", asked.noted, BURST_NOTES);
    ok(found == 1 && keys[0].requests.count == all && keys[0].requests.doubt == 0, "and all are the one key's");
    ok(asked.bytes == 0 && keys[0].bytes.count == 0, "which read no bytes");
    tend(&s, 3 * A_SECOND_US);
    whatif_hot(s.whatif, now_us, &asked, keys, HOT_KEYS);
    is(asked.requests, 0, "after ten seconds they are forgotten");
    whatif_set(s.whatif, 0, false);
    tend(&s, A_SECOND_US);
    cache_count_key_requests(s.ct, NOTE_EVERY);
    tend(&s, A_SECOND_US);
    whatif_hot(s.whatif, now_us, &asked, keys, HOT_KEYS);
    is(asked.requests, 0, "none is counted while sampling is off");
    end(&s);
}

/* --- memory --- */

enum { MANY_CLASSES = 255, MANY_THREADS = 129, FEW_THREADS = 5 };

/* Bytes of all blocks together, by malloc's statistics; 0: unknown, as with a sanitizer. */
static size_t malloc_used(void) {
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

/* A cache of as many classes as there can be, all of them used, and of `thread_count` threads. */
static void test_memory_is_as_reported_and_bounded(size_t limit_bytes, unsigned thread_count) {
    uint32_t sizes[MANY_CLASSES];
    struct cache_thread *threads[MANY_THREADS];
    struct cache_config cfg = fixture_config(limit_bytes);
    for (unsigned i = 0; i < MANY_CLASSES; i++) {
        sizes[i] = 128 + 8 * i;
    }
    cfg.slab.sizes = sizes;
    cfg.slab.size_count = MANY_CLASSES - 1; /* the largest chunk is the last */
    cfg.slab.class_most = MANY_CLASSES;
    struct setup s = {.cache = cache_create(&cfg)};
    for (unsigned i = 0; i < thread_count; i++) {
        threads[i] = cache_thread_create(s.cache);
    }
    struct whatif_facts f;
    size_t used = malloc_used();
    s.whatif = whatif_create(s.cache, limit_bytes, thread_count);
    whatif_set(s.whatif, 1, false);
    whatif_tend_at(s.whatif, now_us);
    size_t first = malloc_used() - used;
    struct cache_thread *late = cache_thread_create(s.cache);
    for (uint64_t i = 0; i < 40000; i++) {
        struct key key = FIXTURE_KEY(i % 20000);
        s.ct = i % 7 == 0 ? late : threads[i % thread_count];
        cache_turn_begin(s.ct);
        fixture_get(s.ct, i % 20000, out);
        fixture_store_key(s.ct, &key, value, i % 5000 % (MANY_CLASSES - 4) * 8, NULL);
        cache_turn_end(s.ct);
        if (i % 16 == 0) {
            tend(&s, 16 * REQUEST_US);
        }
        if (i % 4096 == 0) {
            cache_set_policy(s.cache, evict_policies[i / 4096 % 10], SLAB_CLASS_NONE);
        }
    }
    whatif_facts(s.whatif, &f);
    struct cache_sample_facts samples;
    cache_sample_facts(s.cache, &samples);
    used = malloc_used();
    whatif_destroy(&s.whatif);
    size_t at_last = used - malloc_used() + samples.ring_bytes, told = (size_t)f.memory_bytes;
    ok(f.windows > 0 && told <= f.memory_most_bytes, "%u threads and %d classes: %zu bytes of at most %" PRIu64, thread_count, MANY_CLASSES, told,
       f.memory_most_bytes);
    ok(used == 0 || (first <= f.memory_most_bytes && at_last <= f.memory_most_bytes && at_last <= told + told / 64),
       "by malloc's own count no more, and what is told is all there is: %zu at first, %zu at last", first, at_last);
    cache_thread_destroy(&late);
    for (unsigned i = 0; i < thread_count; i++) {
        cache_thread_destroy(&threads[i]);
    }
    cache_destroy(&s.cache);
}

TEST(test_a_small_cache_has_a_sample_too) {
    static const unsigned limit_mb[] = {8, 32, 64, 1024}, most_kb[] = {640, 1280, 1280, 5499};
    for (unsigned i = 0; i < 4; i++) {
        struct cache_config cfg = fixture_config((size_t)limit_mb[i] << 20);
        struct setup s = {.cache = cache_create(&cfg)};
        struct whatif_facts f;
        s.whatif = whatif_create(s.cache, cfg.limit_bytes, THREADS);
        whatif_set(s.whatif, 1, false);
        tend(&s, 0);
        whatif_facts(s.whatif, &f);
        ok(f.memory_most_bytes >> 10 == most_kb[i] && f.memory_bytes <= f.memory_most_bytes, "%u MB may take %u KiB for their sample, and take no more", limit_mb[i], most_kb[i]);
        whatif_destroy(&s.whatif);
        cache_destroy(&s.cache);
    }
}

/* --- the rate: how many keys a sample has, and how many records a second takes --- */

/* Reads at one pace, of one and a half times as many keys as the cache holds; missing keys are stored. */
static void test_the_rate_comes_to_rest(uint64_t requests_a_s, uint64_t keys_least, uint64_t records_most, uint64_t x) {
    enum { BEGIN_S = 5, LAST_S = 3 };
    struct setup s = fresh(&evict_s3fifo, 1, false);
    struct whatif_facts f, before = {.rate = 0};
    uint64_t most = 0, changes = 0;
    for (uint64_t second = 0; second < BEGIN_S + LAST_S; second++) {
        for (uint64_t i = 0; i < requests_a_s; i++) {
            ask(&s, tap_random(&x) % (ITEMS * 3 / 2));
            if (i % 64 == 0) {
                tend(&s, 64 * CLOCK_SECOND_US / requests_a_s);
            }
        }
        whatif_facts(s.whatif, &f);
        bool counts = second >= BEGIN_S;
        most = counts && f.records - before.records > most ? f.records - before.records : most;
        changes += counts && (f.rate < before.rate || f.rate > before.rate);
        before = f;
    }
    ok(f.keys >= keys_least, "at %" PRIu64 " requests a second enough keys are sampled for a prediction: %" PRIu64, requests_a_s, f.keys);
    ok(most <= records_most, "and no second takes more than %" PRIu64 " records: %" PRIu64, records_most, most);
    is(changes, 0, "and the rate has come to rest");
    end(&s);
}

/* --- s3auto --- */

static uint64_t recent(uint64_t *x, uint64_t i) { return i + tap_random(x) % (ITEMS * 9 / 10); }
static uint64_t loop(uint64_t i) { return ((uint64_t)1 << 40) + i % (ITEMS * 13 / 10); }
static uint64_t zipf_or_once(uint64_t *x, uint64_t i) {
    double u = (double)(tap_random(x) >> 11) / 9007199254740992.0;
    return tap_random(x) % 2 ? ((uint64_t)2 << 40) + i : ((uint64_t)3 << 40) + (uint64_t)((double)ITEMS * 4 * u * u * u);
}

enum phase { RECENT, LOOP, ZIPF };
static uint64_t changed_after; /* insertions of a phase until the first change by auto; 0: no change */

/* So many requests of a phase; returns the misses of its last half. */
static uint64_t phase(struct setup *s, enum phase which, uint64_t requests, uint64_t seed) {
    uint64_t x = seed, misses = 0, insertions = 0;
    const struct evict_policy *before = cache_policy(s->cache);
    changed_after = 0;
    for (uint64_t i = 0; i < requests; i++) {
        uint64_t key = which == RECENT ? recent(&x, i / 4) : which == LOOP ? loop(i) : zipf_or_once(&x, i);
        bool miss = !ask(s, key);
        insertions += miss;
        misses += miss && i >= requests / 2;
        if (i % 64 == 0) {
            tend(s, 64 * REQUEST_US);
        }
        if (changed_after == 0 && cache_policy(s->cache) != before) {
            changed_after = insertions;
        }
    }
    return misses;
}

/* Each second has A_SECOND keys that come four times at once and never again, and as many reads of keys that come again after a while: a
 * policy that counts hits soon after the store retains the former. */
static void test_s3auto_takes_the_record_that_skips(uint64_t seed) {
    enum { A_SECOND = 140, READS = 4, SECONDS = 400 };
    struct setup s = fresh(&evict_s3fifo, 1, true);
    struct whatif_facts f;
    uint64_t x = seed, requests = 0;
    for (uint64_t i = 0; i < (uint64_t)A_SECOND * SECONDS; i++) {
        clock_shift(i % A_SECOND == 0);
        for (unsigned j = 0; j <= READS; j++) {
            ask(&s, j < READS ? ((uint64_t)1 << 40) + i : tap_random(&x) % (ITEMS * 85 / 100));
            if (++requests % 64 == 0) {
                tend(&s, 64 * REQUEST_US);
            }
        }
    }
    clock_shift(-SECONDS);
    whatif_facts(s.whatif, &f);
    is_str(cache_policy(s.cache)->name, "s3skip", "where keys come four times at once s3auto goes to the record that skips those hits: %s",
           f.changed);
    ok(strncmp(f.changed, "s3skip would miss ", 18) == 0, "and says why");
    end(&s);
}

/* The sampled keys of a loop pass in the same order again and again, and each record has others of them. s3loop keeps a part of the loop. */
static void test_s3auto_stays_with_its_structure(uint64_t seed) {
    struct setup s = fresh(&evict_s3fifo, 1, true);
    struct whatif_facts f;
    uint64_t requests = ITEMS * (TAP_SLOWER > 1 ? 10 : 30);
    cache_set_policy(s.cache, &evict_clock, 1);
    phase(&s, LOOP, requests, seed);
    whatif_facts(s.whatif, &f);
    ok(f.changes == 1 && f.running == &evict_s3loop, "in a loop s3auto goes to s3loop, and not back: %u changes, %s", (unsigned)f.changes, f.changed);
    cache_set_policy(s.cache, &evict_s3fifo, SLAB_CLASS_NONE);
    tend(&s, 2 * CLOCK_SECOND_US);
    whatif_facts(s.whatif, &f);
    is_str(f.why, "nothing was counted since the change from s3loop", "after a change of the policy no reason is of the one before");
    phase(&s, RECENT, ITEMS * 16, seed);
    whatif_facts(s.whatif, &f);
    ok(evict_same_structure(f.running, &evict_s3fifo),
       "where another structure would miss least it stays with its own, %s: %s", f.running->name,
       f.why);
    end(&s);
}

/* Of the predictions: what the sample lacks for them; empty: nothing. */
static const char *lack_told(struct setup *s) {
    static struct prediction_log log;
    whatif_predictions(s->whatif, &log);
    return log.made.lacks;
}

TEST(test_no_prediction_is_of_the_cache_before_a_change) {
    static const char *const since = "no quarter of a turnover was seen since the last change";
    struct setup s = fresh(&evict_s3fifo, 1, false);
    phase(&s, RECENT, ITEMS * 30, 1);
    is_str(lack_told(&s), "", "a cache that was seen for long has predictions");
    cache_set_limit(s.cache, (size_t)(PAGES - 1) * MIB);
    is_str(lack_told(&s), since, "after a change of the limit it has none, also before the next window ends");
    cache_set_limit(s.cache, (size_t)PAGES * MIB);
    is_str(lack_told(&s), "", "unless the limit is changed back before");
    cache_set_policy(s.cache, &evict_lru, SLAB_CLASS_NONE);
    is_str(lack_told(&s), since, "nor has it any after a change of the policy");
    end(&s);
}

/* Why auto_choose chooses. The keys come again soon; the sampled cache holds `times` as many of them as the miniature of its policy. */
static void why_told(bool follow, unsigned times, char why[AUTO_WHY_BYTES]) {
    enum { CACHE_BYTES = 32 * MIB, HELD = 300, REQUESTS = 20000, WINDOW = 1000 };
    static const struct evict_tuning tuning = {20, 40, 20, 200, 10, 90, 2, 0};
    static const double no_hits[CURVE_CLASSES];
    struct share_classes classes = {.bytes[3] = CACHE_BYTES, .page_bytes = MIB};
    struct shadow *s = shadow_create(&evict_s3fifo, &tuning, MIB);
    struct mini *cache = mini_create(&evict_s3fifo, &tuning, 2 * HELD * times, (uint64_t)times * CACHE_BYTES);
    shadow_set(s, CACHE_BYTES, &classes, &evict_s3fifo, UINT32_MAX);
    for (uint64_t i = 0, x = 1; i < REQUESTS; i++) {
        uint64_t key = i / 4 + tap_random(&x) % (HELD * 3 / 2);
        struct mini_item item = {.hash = key_hash((const char *)&key, sizeof key), .bytes = CACHE_BYTES / HELD};
        struct sample_record r = {.hash = item.hash, .bytes = item.bytes, .class_id = 3, .verb = SAMPLE_HIT};
        if (!mini_request(cache, item, 0)) {
            shadow_record(s, &(struct sample_record){.hash = item.hash, .verb = SAMPLE_MISS}, 0);
            r.verb = SAMPLE_STORE;
        }
        shadow_record(s, &r, 0);
        if (i % WINDOW == WINDOW - 1) {
            shadow_window_end(s, no_hits);
        }
    }
    auto_choose(s, follow, AUTO_HOLD_WINDOWS, why);
    mini_destroy(&cache);
    shadow_destroy(&s);
}

TEST(test_a_reason_doubts_miniatures_that_miss_what_the_cache_hits) {
    char why[AUTO_WHY_BYTES];
    why_told(false, 1, why);
    ok(strstr(why, "less than s3fifo") != NULL && strchr(why, ',') == strrchr(why, ','), "a miniature with the cache's hits is believed: %s", why);
    why_told(false, 4, why);
    ok(strstr(why, "which is not sure enough") != NULL, "one with fewer is not: %s", why);
    why_told(true, 4, why);
    ok(strstr(why, "which is not sure enough") == NULL, "but the records of one structure have its error alike: %s", why);
}

TEST(test_which_policies_may_follow) {
    ok(auto_follows("s3auto") && !auto_follows("s3fifo"), "s3auto follows, no other does");
    ok(auto_policy("s3auto", NULL) == &evict_s3fifo && auto_policy("s3auto", &evict_s3wide) == &evict_s3wide && auto_policy("s3auto", &evict_lru) == &evict_s3fifo,
       "s3auto begins with s3fifo, and goes on with a record of its structure, not with another policy");
}

int main(void) {
    uint64_t seed = tap_sample_seed() | 1;
    clock_start();
    tap_run_tests();
    test_memory_is_as_reported_and_bounded((size_t)64 * MIB, FEW_THREADS);
    test_memory_is_as_reported_and_bounded((size_t)8 * MIB, MANY_THREADS);
    test_the_rate_comes_to_rest(100000, PREDICTION_KEYS_MIN, WHATIF_RECORDS_FEW_KEYS, seed);
    test_the_rate_comes_to_rest(10000, 2 * PREDICTION_KEYS_MIN, WHATIF_RECORDS_A_S, seed);
    test_s3auto_takes_the_record_that_skips(seed);
    test_s3auto_stays_with_its_structure(seed);
    return tap_done();
}
