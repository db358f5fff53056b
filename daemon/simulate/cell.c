#include "simulate/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sample/mini.h"
#include "tune/whatif/whatif.h"

enum { TURN_REQUESTS = 32 }; /* the clock is set, and pages may change hands, so often */

struct simulate_cell {
    struct mini         *mini; /* one of mini and cache is NULL */
    struct cache        *cache;
    struct cache_thread *ct;
    struct tuner        *tuner;  /* of the cache */
    bool                 follows; /* the policy is auto */
    /* the mode of automove, and why; empty: none */
    char                 failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
    /* a value as large as may be; never written, so it takes no memory */
    char                *zeroes;
    const struct evict_policy *policy;
    uint32_t objects, requests_per_s;
    uint64_t requests, hits, play_us;
};

static int64_t shown_s; /* what the process's clock shows, since the trace began */

static void show_time(int64_t at_s) {
    if (at_s != shown_s) {
        clock_shift(at_s - shown_s);
        shown_s = at_s;
    }
}

void simulate_clock_stop(void) {
    static bool stopped; /* a second stop would let the time between the two show */
    if (!stopped) {
        clock_pause();
        stopped = true;
    }
    show_time(0);
}

struct simulate_cell *simulate_cell_objects(const struct evict_policy *policy,
                                            const struct evict_tuning *tuning, uint32_t objects,
                                            uint32_t requests_per_s) {
    struct simulate_cell *c = calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (struct simulate_cell){.mini = mini_create(policy, tuning, objects, 0),
                                    .policy = policy,
                                    .objects = objects,
                                    .requests_per_s = requests_per_s};
        if (c->mini == NULL) {
            simulate_cell_destroy(&c);
        }
    }
    return c;
}

static void note_failure(void *arg, const char *mode, const char *now, const char *why) {
    struct simulate_cell *c = arg;
    (void)now;
    if (c->failed[0] == '\0') {
        snprintf(c->failed, sizeof c->failed, "%s: %s", mode, why);
    }
}

struct simulate_cell *simulate_cell_memory(struct cache *taken, uint32_t requests_per_s,
                                           const struct tune_config *tune) {
    struct simulate_cell *c = taken != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        cache_destroy(&taken);
        return NULL;
    }
    struct tune_config by_hand = *tune;
    by_hand.by_hand = true;
    by_hand.crawler = false;
    by_hand.worker_count = 1;
    by_hand.on_failure = note_failure;
    by_hand.on_failure_arg = c;
    *c = (struct simulate_cell){.cache = taken,
                                .ct = cache_thread_create(taken),
                                .policy = cache_policy(taken),
                                .follows = tune->sample_follow,
                                .tuner = tuner_create(taken, &by_hand),
                                .zeroes = calloc(1, cache_item_bytes_max(taken)),
                                .requests_per_s = requests_per_s};
    if (c->ct == NULL || c->zeroes == NULL || c->tuner == NULL) {
        simulate_cell_destroy(&c);
    }
    return c;
}

void simulate_cell_destroy(struct simulate_cell **taken) {
    struct simulate_cell *c = *taken;
    if (c != NULL) {
        mini_destroy(&c->mini);
        tuner_destroy(&c->tuner);
        if (c->ct != NULL) {
            cache_thread_destroy(&c->ct);
        }
        cache_destroy(&c->cache);
        free(c->zeroes);
        free(c);
        *taken = NULL;
    }
}

/* As a server answers a get, but for the value's bytes, which nobody wants. */
static bool get(struct cache_thread *ct, const struct key *key) {
    struct cache_reader r;
    enum cache_read how;
    do {
        how = cache_read_begin(ct, key, (struct index_spot){0}, &r);
        if (how == CACHE_READ_SLOW) {
            struct cache_view view;
            return cache_fetch(ct, key, &(struct cache_fetch){.want_value = false}, NULL, &view) ==
                   CACHE_OK;
        }
    } while (!cache_read_end(ct, &r, true));
    return how == CACHE_READ_COPY;
}

static void play_cache(struct simulate_cell *c, const struct simulate_request *requests,
                       size_t count) {
    cache_turn_begin(c->ct);
    for (size_t i = 0; i < count; i++, c->requests++) {
        const struct simulate_request *q = &requests[i];
        if (c->requests % TURN_REQUESTS == 0) {
            cache_turn_end(c->ct);
            show_time((int64_t)(c->requests / c->requests_per_s));
            /* the trace begins at a second of the tuner's time, for 0 means never */
            tuner_tend_at(c->tuner, CLOCK_SECOND_US +
                                        c->requests * CLOCK_SECOND_US / c->requests_per_s);
            cache_turn_begin(c->ct);
        }
        if (get(c->ct, &q->key)) {
            c->hits++;
        } else { /* what is refused the cache counts */
            cache_store(c->ct, &q->key,
                        &(struct cache_store){
                            .mode = CACHE_SET, .value = c->zeroes, .value_bytes = q->value_bytes},
                        NULL);
        }
    }
    cache_turn_end(c->ct);
}

static void play_mini(struct simulate_cell *c, const struct simulate_request *requests,
                      size_t count) {
    for (size_t i = 0; i < count; i++, c->requests++) {
        uint32_t now_s = CLOCK_EPOCH_S + (uint32_t)(c->requests / c->requests_per_s);
        struct mini_item item = {.hash = requests[i].key.hash, .bytes = 1};
        c->hits += mini_request(c->mini, item, now_s);
    }
}

void simulate_cell_play(struct simulate_cell *c, const struct simulate_request *requests,
                        size_t count) {
    uint64_t begun_us = clock_mono_us();
    if (c->mini != NULL) {
        play_mini(c, requests, count);
    } else {
        show_time((int64_t)(c->requests / c->requests_per_s));
        play_cache(c, requests, count);
    }
    c->play_us += clock_mono_us() - begun_us;
}

void simulate_cell_result(struct simulate_cell *c, struct simulate_result *to) {
    uint64_t misses = c->requests - c->hits;
    *to = (struct simulate_result){.policy = c->policy->name,
                                   .objects = c->objects,
                                   .requests = c->requests,
                                   .hits = c->hits,
                                   .play_us = c->play_us};
    if (c->mini != NULL) { /* every miss was stored, unless the policy gives nothing away */
        uint64_t gone = misses - mini_nodes(c->mini);
        to->items = mini_nodes(c->mini);
        to->evictions = c->policy->victim != NULL ? gone : 0;
        to->refused = gone - to->evictions;
        return;
    }
    struct cache_facts facts;
    struct cache_class_values classes;
    cache_facts(c->cache, &facts);
    cache_classes_counters(c->cache, &classes);
    if (c->follows) {
        struct whatif_facts now;
        whatif_facts(tuner_whatif(c->tuner), &now);
        to->policy = "auto";
        to->policy_now = cache_policy(c->cache)->name;
        to->changes = now.changes;
    }
    struct tune_facts tuned;
    struct tune_words words;
    tuner_facts(c->tuner, &tuned);
    tuner_words(c->tuner, &words);
    memcpy(to->automove, words.mode, sizeof to->automove);
    to->pages_moved = tuned.pages_moved;
    to->lost = tuned.evictions_by_move;
    to->pages_stolen = facts.counters.page_steals;
    memcpy(to->failed, c->failed, sizeof to->failed);
    to->memory_bytes = facts.limit_bytes;
    to->held_bytes = (uint64_t)facts.pages_out * PAGE_BYTES;
    to->items = facts.items;
    to->evictions = classes.evicted;
    to->refused = facts.counters.store_too_large + facts.counters.store_no_memory;
}
