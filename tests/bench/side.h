/* A cache with the server's defaults and a tuner, played by one thread without a network; shared by foresight.c and flip.c. */
#ifndef SIDE_H
#define SIDE_H
#include <stdio.h>
#include <stdlib.h>

#include "cache/cache.h"
#include "control/sampling/whatif.h"
#include "control/tuner.h"
#include "mem/slab.h"
#include "server/settings_change.h"

struct side {
    struct cache        *cache;
    struct cache_thread *ct;
    struct tuner        *tuner; /* by hand: side_tend */
    uint64_t             reads, hits;
};

/* Samples keys at that rate (0: none). fits_sizes: chunk sizes adapt as in slated; off where a
 * comparison needs fixed ones. Ends the program when there is no memory. */
static inline struct side side_make(double mebibytes, const struct evict_policy *policy, double sample_rate, bool fits_sizes) {
    static struct settings defaults;
    settings_init(&defaults);
    struct side s = {.cache = cache_create(&(struct cache_config){
        .limit_bytes = (size_t)(mebibytes * 1048576),
        .slab = {.chunk_bytes_min = (uint32_t)defaults.chunk_size + SLAB_HEADER_ROOM, .growth_factor = defaults.factor,
                 .chunk_bytes_max = (uint32_t)defaults.slab_chunk_max, .class_most = (unsigned)defaults.slab_classes},
        .item_bytes_max = (uint32_t)defaults.item_size_max, .cas = defaults.cas, .evict = true, .steal_pages = true,
        .alloc_wait_us = CACHE_ALLOC_WAIT_US,
        .policy = policy, .settings = settings_of_cache(&defaults),
    })};
    s.ct = s.cache != NULL ? cache_thread_create(s.cache) : NULL;
    struct tuner_config config = {.automove = defaults.slab_automove, .reassign = defaults.slab_reassign, .worker_count = 1, .by_hand = true,
                                 .settings = settings_of_tuner(&defaults)};
    config.settings.sample_rate = sample_rate;
    config.settings.sample_follow = false;
    config.settings.geometry.follow = fits_sizes && defaults.slab_geometry_auto;
    s.tuner = s.ct == NULL ? NULL : tuner_create(s.cache, &config);
    if (s.tuner == NULL) {
        fprintf(stderr, "out of memory\n");
        exit(EXIT_FAILURE);
    }
    return s;
}

static inline void side_tend(struct side *s, uint64_t now_us) { tuner_tend_at(s->tuner, 1 + now_us); }

static inline void side_end(struct side *s) {
    tuner_destroy(&s->tuner);
    cache_thread_destroy(&s->ct);
    cache_destroy(&s->cache);
}

/* A get and, on a miss, a set that expires then (0: never). Returns whether the get hit. */
static inline bool side_play(struct side *s, const struct key *key, const char *value, uint32_t value_bytes, uint32_t expires_s) {
    struct cache_view view;
    cache_turn_begin(s->ct);
    bool hit = cache_fetch(s->ct, key, &(struct cache_fetch){.want_value = false}, NULL, &view) == CACHE_OK;
    if (!hit) {
        cache_store(s->ct, key, &(struct cache_store){.mode = CACHE_SET, .value = value, .value_bytes = value_bytes, .exptime_s = expires_s}, NULL);
    }
    cache_turn_end(s->ct);
    s->reads++;
    s->hits += hit;
    return hit;
}
#endif
