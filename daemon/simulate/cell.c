#include "simulate/cell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "control/sampling/whatif.h"
#include "sample/mini.h"
#include "simulate/trace_format.h"

/* Requests between two settings of the clock, which also let pages move; a new second sets the
 * clock as well. */
enum { TURN_REQUESTS = 32 };

struct simulate_cell {
    struct mini         *mini; /* either mini or cache is NULL */
    struct cache        *cache;
    struct cache_thread *ct;
    struct tuner        *tuner;  /* the cache's tuner */
    bool follows;                /* the policy is s3auto */
    /* the mode of automove, and why; empty: none */
    char                 failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
    /* the largest value; never written, so it takes no memory */
    char                *zeroes;
    const struct evict_policy *policy;
    uint32_t objects;
    unsigned twins;     /* keys played for each key of the trace */
    uint64_t played;    /* requests of the trace, twins apart */
    uint64_t reads, hits, stores, deletes, play_us;
    uint64_t inserted, deleted; /* keys; only a cell of objects counts them */
    struct simulate_result uncounted; /* of the requests that filled the cache */
};

static int64_t shown_s; /* seconds since the trace began, as the process's clock shows */

static void cell_show_time(int64_t at_s) {
    if (at_s != shown_s) {
        clock_shift(at_s - shown_s);
        shown_s = at_s;
    }
}

void simulate_cell_stop_clock(void) {
    static bool stopped; /* a second stop would let the time between the two show */
    if (!stopped) {
        clock_pause();
        stopped = true;
    }
    cell_show_time(0);
}

struct simulate_cell *simulate_cell_objects(const struct evict_policy *policy,
                                            const struct evict_tuning *tuning, uint32_t objects) {
    struct simulate_cell *c = calloc(1, sizeof *c);
    if (c != NULL) {
        *c = (struct simulate_cell){.mini = mini_create(policy, tuning, objects, 0),
                                    .policy = policy,
                                    .objects = objects,
                                    .twins = 1};
        if (c->mini == NULL) {
            simulate_cell_destroy(&c);
        }
    }
    return c;
}

static void cell_note_failure(void *arg, const char *mode, const char *now, const char *why) {
    struct simulate_cell *c = arg;
    (void)now;
    if (c->failed[0] == '\0') {
        snprintf(c->failed, sizeof c->failed, "%s: %s", mode, why);
    }
}

struct simulate_cell *simulate_cell_memory(struct cache *taken, const struct tuner_config *tune) {
    struct simulate_cell *c = taken != NULL ? calloc(1, sizeof *c) : NULL;
    if (c == NULL) {
        cache_destroy(&taken);
        return NULL;
    }
    struct tuner_config by_hand = *tune;
    by_hand.by_hand = true;
    by_hand.settings.crawler = false;
    by_hand.worker_count = 1;
    by_hand.on_failure = cell_note_failure;
    by_hand.on_failure_arg = c;
    *c = (struct simulate_cell){.cache = taken,
                                .ct = cache_thread_create(taken),
                                .policy = cache_policy(taken),
                                .follows = tune->settings.sample_follow,
                                .tuner = tuner_create(taken, &by_hand),
                                .zeroes = calloc(1, cache_item_bytes_max(taken)),
                                .twins = 1};
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

/* Answers a get as a server does, but without copying the value. */
static bool cell_get(struct cache_thread *ct, const struct key *key) {
    struct cache_reader r;
    enum cache_read how;
    do {
        how = cache_read_begin(ct, key, (struct index_hint){0}, &r);
        if (how == CACHE_READ_SLOW) {
            struct cache_view view;
            return cache_fetch(ct, key, &(struct cache_fetch){.want_value = false}, NULL, &view) ==
                   CACHE_OK;
        }
    } while (!cache_read_end(ct, &r, true));
    return how == CACHE_READ_COPY;
}

static void cell_store(struct simulate_cell *c, const struct simulate_request *q,
                       const struct key *key) {
    /* Not by clock_expiry_s: a client's seconds beyond a month are a date, a trace's are not. */
    uint32_t now_s = cache_now_s(c->ct);
    uint32_t exptime_s = q->ttl_s == 0 || q->ttl_s > INT32_MAX ? 0 : now_s + q->ttl_s;
    cache_store(c->ct, key, /* the cache counts refused values */
                &(struct cache_store){.mode = CACHE_SET,
                                      .value = c->zeroes,
                                      .value_bytes = q->value_bytes,
                                      .exptime_s = exptime_s},
                NULL);
}

static void cell_play_key(struct simulate_cell *c, const struct simulate_request *q,
                          const struct key *key) {
    switch ((enum trace_verb)q->verb) {
    case TRACE_GET:
        c->reads++;
        if (cell_get(c->ct, key)) {
            c->hits++;
        } else if (q->fills) {
            cell_store(c, q, key);
        }
        break;
    case TRACE_SET:
        c->stores++;
        cell_store(c, q, key);
        break;
    case TRACE_DELETE:
        c->deletes++;
        cache_delete(c->ct, key, &(struct cache_delete){0});
        break;
    }
}

/* A twin's key: the key with three more characters, or with its last three replaced if the key is
 * too long. */
static struct key cell_twin_key(const struct key *key, unsigned twin, char to[KEY_BYTES_MAX]) {
    static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    enum { LETTERS = sizeof letters - 1, ADDED = 3 };
    size_t bytes = key->len + ADDED <= KEY_BYTES_MAX ? key->len : KEY_BYTES_MAX - ADDED;
    memcpy(to, key->ptr, bytes);
    to[bytes] = letters[twin % LETTERS];
    to[bytes + 1] = letters[twin / LETTERS % LETTERS];
    to[bytes + 2] = letters[twin / LETTERS / LETTERS % LETTERS];
    return key_make(to, bytes + ADDED);
}

static void cell_play_request(struct simulate_cell *c, const struct simulate_request *q) {
    char text[KEY_BYTES_MAX];
    cell_play_key(c, q, &q->key);
    for (unsigned twin = 1; twin < c->twins; twin++) {
        struct key key = cell_twin_key(&q->key, twin, text);
        cell_play_key(c, q, &key);
    }
}

static void cell_play_cache(struct simulate_cell *c, const struct simulate_request *requests,
                            size_t count) {
    cache_turn_begin(c->ct);
    for (size_t i = 0; i < count; i++, c->played++) {
        const struct simulate_request *q = &requests[i];
        int64_t at_s = (int64_t)(q->at_us / CLOCK_SECOND_US);
        if (at_s != shown_s || c->played * c->twins % TURN_REQUESTS < c->twins) {
            cache_turn_end(c->ct);
            cell_show_time(at_s);
            /* the trace begins at a second of the tuner's time, for 0 means never */
            tuner_tend_at(c->tuner, CLOCK_SECOND_US + q->at_us);
            cache_turn_begin(c->ct);
        }
        cell_play_request(c, q);
    }
    cache_turn_end(c->ct);
}

static void cell_play_mini(struct simulate_cell *c, const struct simulate_request *requests,
                           size_t count) {
    for (size_t i = 0; i < count; i++, c->played++) {
        const struct simulate_request *q = &requests[i];
        uint32_t now_s = CLOCK_EPOCH_S + (uint32_t)(q->at_us / CLOCK_SECOND_US);
        uint32_t before = mini_nodes(c->mini);
        if (q->verb == TRACE_DELETE) {
            mini_delete(c->mini, q->key.hash);
            c->deletes++;
            c->deleted += before - mini_nodes(c->mini);
            continue;
        }
        struct mini_item item = {.hash = q->key.hash, .bytes = 1};
        bool there = mini_request(c->mini, item, now_s);
        c->inserted += !there;
        if (q->verb == TRACE_GET) {
            c->reads++;
            c->hits += there;
        } else {
            c->stores++;
        }
    }
}

void simulate_cell_set_twins(struct simulate_cell *c, unsigned twins) { c->twins = twins; }

void simulate_cell_play(struct simulate_cell *c, const struct simulate_request *requests,
                        size_t count) {
    uint64_t begun_us = clock_mono_us();
    if (c->mini != NULL) {
        cell_play_mini(c, requests, count);
    } else if (count > 0) {
        cell_show_time((int64_t)(requests[0].at_us / CLOCK_SECOND_US));
        cell_play_cache(c, requests, count);
    }
    c->play_us += clock_mono_us() - begun_us;
}

static void cell_result_of_all(struct simulate_cell *c, struct simulate_result *to) {
    *to = (struct simulate_result){.policy = c->policy->name,
                                   .objects = c->objects,
                                   .requests = c->reads,
                                   .hits = c->hits,
                                   .stores = c->stores,
                                   .deletes = c->deletes,
                                   .play_us = c->play_us};
    if (c->mini != NULL) { /* every miss was stored, unless the policy never evicts */
        uint64_t gone = c->inserted - c->deleted - mini_nodes(c->mini);
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
        to->policy = "s3auto";
        to->policy_now = cache_policy(c->cache)->name;
        to->changes = now.changes;
    }
    struct tuner_facts tuned;
    struct tuner_words words;
    tuner_facts(c->tuner, &tuned);
    tuner_words(c->tuner, &words);
    memcpy(to->automove, words.mode, sizeof to->automove);
    to->pages_moved = tuned.moved.pages;
    to->lost = tuned.moved.did.evicted;
    to->pages_stolen = facts.counters.page_steals;
    memcpy(to->failed, c->failed, sizeof to->failed);
    to->memory_bytes = facts.limit_bytes;
    to->held_bytes = (uint64_t)facts.pages_out * PAGE_BYTES;
    to->items = facts.items;
    to->evictions = classes.evicted;
    to->refused = facts.counters.store_too_large + facts.counters.store_no_memory;
}

void simulate_cell_count_from_here(struct simulate_cell *c) {
    cell_result_of_all(c, &c->uncounted);
}

void simulate_cell_result(struct simulate_cell *c, struct simulate_result *to) {
    cell_result_of_all(c, to);
    const struct simulate_result *first = &c->uncounted;
    to->requests -= first->requests;
    to->hits -= first->hits;
    to->stores -= first->stores;
    to->deletes -= first->deletes;
    to->evictions -= first->evictions;
    to->refused -= first->refused;
    to->changes -= first->changes;
    to->pages_moved -= first->pages_moved;
    to->lost -= first->lost;
    to->pages_stolen -= first->pages_stolen;
}
