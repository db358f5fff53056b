#include "control/sampling/whatif_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "watch/ring.h"

enum {
    TEND_MIN_US = 2000,
    TEND_MAX_US = 50000,
    KEYS_A_S = 1000,         /* requests a second whose keys are noted, for the hot keys */
    KEY_EVERY_MIN = 1,
    KEY_EVERY_FIRST = 16,
    KEY_EVERY_MAX = 1 << 16,
    STEPS_AN_OCTAVE = 4,     /* steps of the rate: by these the rate fits its room to a fifth */
    STEPS_MAX = 24 * STEPS_AN_OCTAVE,
    KEYS_FEW = 2 * PREDICTION_KEYS_MIN, /* below, more records; keys may leave the sample */
};

struct whatif *whatif_create(struct cache *cache, size_t limit_bytes, unsigned threads) {
    struct whatif *w = calloc(1, sizeof *w);
    if (w != NULL) {
        w->cache = cache;
        w->limit_bytes = limit_bytes;
        w->threads = threads;
        w->key_every = KEY_EVERY_FIRST;
        lock_init(&w->lock);
        snprintf(w->why, sizeof w->why, "nothing was counted yet");
    }
    return w;
}

void whatif_destroy(struct whatif **taken) {
    struct whatif *w = *taken;
    if (w == NULL) {
        return;
    }
    *taken = NULL;
    cache_set_sample(w->cache, 0, 0);
    shadow_destroy(&w->shadow);
    free(w->hot);
    lock_fini(&w->lock);
    free(w);
}

void whatif_on_prediction(struct whatif *w, void (*run)(void *, const char *), void *arg) {
    w->on_prediction = run;
    w->on_prediction_arg = arg;
}

void whatif_set(struct whatif *w, double rate, bool follow) {
    lock_take(&w->lock);
    w->rate = rate;
    w->follow = follow;
    lock_release(&w->lock);
}

/* --- memory --- */

static bool whatif_allocate(struct whatif *w) {
    if (w->shadow != NULL) {
        return true;
    }
    bool rings = cache_sample_start(w->cache, whatif_ring_bytes(w), w->threads);
    struct hot *hot = calloc(1, sizeof *hot);
    struct shadow *shadow =
        rings && hot != NULL
            ? shadow_create(cache_policy(w->cache), cache_tuning(w->cache), whatif_shadow_share(w))
            : NULL;
    if (shadow == NULL) {
        free(hot);
        return false;
    }
    lock_take(&w->lock);
    w->hot = hot;
    w->shadow = shadow;
    lock_release(&w->lock);
    return true;
}

/* --- the rate --- */

/* After a change of the policy or of the memory, counting for sizes begins anew. */
static void whatif_note_change(struct whatif *w, const struct evict_policy *running,
                               uint64_t bytes) {
    bool resized = whatif_is_resized(w);
    if (running == w->running && !resized) {
        return;
    }
    const struct prediction_change change = {.bytes_was = w->sized_bytes,
                                             .bytes_is = resized ? bytes : w->sized_bytes,
                                             .policy_was = w->running,
                                             .policy_is = running};
    if (prediction_log_overtaken(&w->predictions)) {
        prediction_change_words(&w->predictions.change, w->compared);
    }
    if (w->running != NULL) {
        prediction_log_changed(&w->predictions, &change);
    }
    if (w->running != NULL && running != w->running) { /* `why` was about the policy before */
        snprintf(w->why, sizeof w->why, "nothing was counted since the change from %s",
                 w->running->name);
    }
    if (resized) {
        shadow_forget_sizes(w->shadow);
        w->sized_bytes = bytes;
    }
    w->longer = (struct reads){0};
}

/* Keys with a hash below this are in the sample. */
static uint32_t whatif_rate_below(const struct whatif *w) {
    uint32_t below = sample_hash_below(w->adopted * exp2(-(double)w->steps / STEPS_AN_OCTAVE));
    return below > 0 ? below : 1;
}

/* Sets the rate, the policy and the memory of the shadow and the cache. */
static void whatif_settle_rate(struct whatif *w) {
    uint32_t below = whatif_rate_below(w);
    const struct evict_policy *running = cache_policy(w->cache);
    struct share_classes classes;
    whatif_classes_bytes(w, &classes);
    lock_take(&w->lock);
    whatif_note_change(w, running, whatif_cache_bytes(w));
    if (shadow_note_tuning(w->shadow)) {
        w->lately = w->longer = (struct reads){0};
    }
    shadow_set(w->shadow, whatif_cache_bytes(w), &classes, running, below);
    w->below = below;
    w->running = running;
    lock_release(&w->lock);
    cache_set_sample(w->cache, w->below, w->key_every);
    if (w->compared[0] != '\0' && w->on_prediction != NULL) {
        w->on_prediction(w->on_prediction_arg, w->compared);
    }
    w->compared[0] = '\0';
}

/* --- on and off --- */

/* Adopts the rate of the setting. Returns whether sampling is on. */
static bool whatif_adopt_rate(struct whatif *w) {
    lock_take(&w->lock);
    double rate = w->rate;
    lock_release(&w->lock);
    if (rate > 0 && !(w->adopted > 0)) {
        w->key_requests = cache_key_requests(w->cache);
        lock_take(&w->lock);
        if (w->hot != NULL) {
            *w->hot = (struct hot){0};
        }
        lock_release(&w->lock);
    }
    if (rate > 0 && !whatif_allocate(w)) {
        log_warn("sampling is off: no memory for it");
        whatif_set(w, 0, false);
        rate = 0;
    }
    if (rate < w->adopted || rate > w->adopted) {
        w->adopted = rate;
        w->steps = 0;
        if (rate > 0) {
            whatif_settle_rate(w);
            cache_reads(w->cache, &w->reads_before);
        } else {
            cache_set_sample(w->cache, 0, 0);
        }
    }
    return rate > 0;
}

/* How many records a second may have with so many keys in the sample. */
static uint64_t whatif_records_most(uint32_t keys, uint32_t keys_few) {
    return keys < keys_few ? WHATIF_RECORDS_FEW_KEYS : WHATIF_RECORDS_A_S;
}

/* Lowers the rate until a second has no more records than it may have. The counts are scaled as if
 * the lower rate had held from the start. A sample has few keys here if half of them would be few
 * for a rise of the rate: so no fall causes a rise, and no rise a fall. */
static void whatif_lower_rate(struct whatif *w) {
    unsigned steps = w->steps;
    double keys = shadow_fill(w->shadow).nodes, step = exp2(-1.0 / STEPS_AN_OCTAVE);
    while (w->records > whatif_records_most((uint32_t)keys, 2 * KEYS_FEW) && w->steps < STEPS_MAX) {
        w->steps++;
        w->records = (uint64_t)((double)w->records * step);
        keys *= step;
    }
    if (steps != w->steps) {
        whatif_settle_rate(w);
    }
}

/* Lowers the rate to the keys of which no record was left out. */
static void whatif_lower_to_complete(struct whatif *w) {
    uint32_t complete_below = cache_sample_complete_below(w->cache);
    unsigned steps = w->steps;
    while (whatif_rate_below(w) > complete_below && w->steps < STEPS_MAX) {
        w->steps++;
    }
    if (steps != w->steps) {
        whatif_settle_rate(w);
    }
}

/* Doubles the rate if a second then has less than half of the records that it may have. */
static void whatif_raise_rate(struct whatif *w) {
    struct shadow_fill fill = shadow_fill(w->shadow);
    if (w->steps > 0 && w->records < whatif_records_most(fill.nodes, KEYS_FEW) / 4 && fill.roomy) {
        w->steps -= w->steps < STEPS_AN_OCTAVE ? w->steps : STEPS_AN_OCTAVE;
    }
}

/* Whether the curves are of today's chunk sizes. */
static bool whatif_has_classes(const struct whatif *w) {
    struct share_classes classes;
    whatif_classes_bytes(w, &classes);
    return shadow_has_classes(w->shadow, &classes);
}

/* One request in how many is noted, after a second in which so many keys were. It rises at once,
 * because each noted key costs a worker time, and falls by halves. */
static uint32_t whatif_key_every(uint32_t every, uint64_t keys) {
    if (keys < KEYS_A_S / 2 && every > KEY_EVERY_MIN) {
        return every / 2;
    }
    for (; keys > 2 * KEYS_A_S && every < KEY_EVERY_MAX; keys /= 2) {
        every *= 2;
    }
    return every;
}

static void whatif_each_second(struct whatif *w, uint64_t now_us) {
    if (now_us < w->second_us) {
        return;
    }
    unsigned steps = w->steps;
    uint32_t every = w->key_every;
    if (w->second_us != 0) {
        whatif_raise_rate(w);
    }
    w->key_every = whatif_key_every(every, w->keys);
    if (steps != w->steps || every != w->key_every || w->running != cache_policy(w->cache) ||
        !whatif_has_classes(w)) {
        whatif_settle_rate(w);
    }
    w->records = w->keys = 0;
    w->second_us = now_us + CLOCK_SECOND_US;
}

/* --- the stream --- */

static const struct sample_record *whatif_next_record(const struct whatif *w,
                                                      const struct sample_record *r) {
    return r != NULL ? cache_sample_next(&w->samples, r) : NULL;
}

static bool whatif_is_event(const struct sample_record *r) {
    return r != NULL && r->verb != SAMPLE_KEY;
}

static void whatif_take_records(struct whatif *w, uint32_t now_s) {
    lock_take(&w->lock);
    const struct sample_record *r = cache_sample_next(&w->samples, NULL),
                               *next = whatif_next_record(w, r),
                               *later = whatif_next_record(w, next);
    for (; r != NULL; r = next, next = later, later = whatif_next_record(w, later)) {
        if (whatif_is_event(later)) {
            shadow_prefetch_later(w->shadow, later->hash);
        }
        if (whatif_is_event(next)) {
            shadow_prefetch_next(w->shadow, next->hash);
        }
        if (r->verb == SAMPLE_KEY) {
            hot_add(w->hot, r->hash, r->key, r->key_bytes, r->bytes, r->read_bytes);
            w->keys++;
        } else {
            shadow_record(w->shadow, r, now_s);
            w->records++;
        }
    }
    lock_release(&w->lock);
}

static void whatif_add_reads(struct reads *r, double fade, uint64_t hits, uint64_t misses) {
    r->hits = r->hits * fade + (double)hits;
    r->misses = r->misses * fade + (double)misses;
}

/* The cache's reads in a window. */
struct window_reads {
    double class_hits[CURVE_CLASSES];
    uint64_t hits, misses;
};

static void whatif_count_window(struct whatif *w, struct window_reads *to) {
    struct cache_read_counts now;
    cache_reads(w->cache, &now);
    *to = (struct window_reads){.misses = now.misses - w->reads_before.misses};
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        uint64_t hits = now.class_hits[i] - w->reads_before.class_hits[i];
        to->class_hits[i] = (double)hits;
        to->hits += hits;
    }
    w->reads_before = now;
}

static void whatif_end_window(struct whatif *w) {
    struct window_reads reads;
    struct share_classes classes;
    whatif_count_window(w, &reads);
    whatif_classes_bytes(w, &classes);
    lock_take(&w->lock);
    shadow_window_end(w->shadow, reads.class_hits);
    whatif_add_reads(&w->lately, SHADOW_FADE, reads.hits, reads.misses);
    whatif_add_reads(&w->longer, SHADOW_SIZES_FADE, reads.hits, reads.misses);
    prediction_make(w->shadow, &classes, (double)whatif_cache_bytes(w), reads_hit_ratio(&w->lately),
                    reads_hit_ratio(&w->longer), &w->predictions.made);
    if (prediction_log_window(&w->predictions, reads.hits, reads.misses)) {
        prediction_change_words(&w->predictions.change, w->compared);
    }
    uint64_t since = shadow_windows(w->shadow) - w->changed_window;
    const struct evict_policy *best = auto_choose(w->shadow, w->follow, since, w->why),
                              *was = w->running;
    if (best != NULL && w->follow) {
        memcpy(w->changed, w->why, sizeof w->changed);
        w->changed_window = shadow_windows(w->shadow);
        w->changes++;
    }
    lock_release(&w->lock);
    if (best != NULL && w->follow) {
        log_info("policy s3auto: from %s to %s: %s", was->name, best->name, w->changed);
        cache_change_policy(w->cache, best);
    }
    whatif_settle_rate(w);
}

/* If the rings were full, the keys noted since the last look also stand for the others.
 * key_requests is from before this look, because requests continue while the rings are read. */
static void whatif_make_up_for_drops(struct whatif *w, uint64_t key_requests) {
    struct cache_sample_facts samples;
    uint64_t more = cache_key_requests(w->cache) - key_requests;
    cache_sample_facts(w->cache, &samples);
    lock_take(&w->lock);
    hot_end_part(w->hot, key_requests - w->key_requests, more, samples.dropped > w->dropped);
    lock_release(&w->lock);
    w->dropped = samples.dropped;
    w->key_requests = key_requests;
}

uint64_t whatif_tend(struct whatif *w) { return whatif_tend_at(w, clock_mono_us()); }

uint64_t whatif_tend_at(struct whatif *w, uint64_t now_us) {
    if (!whatif_adopt_rate(w)) {
        return UINT64_MAX;
    }
    uint32_t now_s = clock_now_s();
    uint64_t key_requests = cache_key_requests(w->cache);
    lock_take(&w->lock);
    hot_turn(w->hot, now_us);
    lock_release(&w->lock);
    whatif_lower_to_complete(w);
    size_t fullest = 0;
    for (unsigned t = 0; cache_take_samples(w->cache, t, &w->samples); t++) {
        for (size_t taken = 0; w->samples.used > 0 && taken < whatif_ring_bytes(w);
             cache_take_samples(w->cache, t, &w->samples)) {
            taken += w->samples.used;
            fullest = taken > fullest ? taken : fullest;
            whatif_take_records(w, now_s);
            whatif_lower_rate(w);
            while (shadow_fill(w->shadow).crowded && w->steps < STEPS_MAX) {
                w->steps++;
                whatif_settle_rate(w);
            }
            if (shadow_window_due(w->shadow)) {
                whatif_end_window(w);
            }
        }
    }
    whatif_make_up_for_drops(w, key_requests);
    whatif_each_second(w, now_us);
    w->wait_us = fullest > whatif_ring_bytes(w) / 16   ? w->wait_us / 2
                 : fullest < whatif_ring_bytes(w) / 64 ? w->wait_us * 2
                                                       : w->wait_us;
    w->wait_us = w->wait_us < TEND_MIN_US   ? TEND_MIN_US
                 : w->wait_us > TEND_MAX_US ? TEND_MAX_US
                                            : w->wait_us;
    return w->wait_us;
}
