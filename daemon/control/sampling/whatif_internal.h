/* The inside of what-if, for whatif_memory.c, whatif_results.c and whatif.c only. */
#ifndef SLATE_CONTROL_SAMPLING_WHATIF_INTERNAL_H
#define SLATE_CONTROL_SAMPLING_WHATIF_INTERNAL_H
#include "base/lock.h"
#include "cache/admin/signals.h"
#include "control/sampling/whatif.h"

struct reads {
    double hits, misses;
};

struct whatif {
    struct cache *cache;
    size_t        limit_bytes;
    unsigned      threads;

    struct lock    lock; /* guards the fields below */
    double         rate;
    bool follow;
    struct shadow *shadow; /* NULL: sampling was never on */
    struct hot    *hot;
    uint32_t       below;
    /* the cache's own reads, faded as the shadow fades counts of policies and of sizes */
    struct reads lately, longer;
    const struct evict_policy *running;
    uint64_t       changed_window, changes;
    struct prediction_log predictions;
    uint64_t       sized_bytes; /* the cache's memory when counting for sizes began */
    char           why[AUTO_WHY_BYTES], changed[AUTO_WHY_BYTES];

    /* What follows belongs to the thread that calls whatif_tend. */
    char compared[PREDICTION_WORDS_BYTES]; /* for on_prediction, which is called without the lock */
    void (*on_prediction)(void *, const char *);
    void  *on_prediction_arg;
    struct cache_samples samples;
    unsigned steps;              /* steps by which the rate is lower than the rate that was set */
    double   adopted;            /* the rate from which these steps count */
    uint32_t key_every;
    struct cache_read_counts reads_before; /* at the end of the last window */
    uint64_t wait_us, second_us;
    uint64_t records, keys;      /* in this second */
    /* when the rings were last read: records that they had dropped, and requests with a key */
    uint64_t dropped, key_requests;
};

static inline double reads_hit_ratio(const struct reads *r) {
    return r->hits + r->misses > 0 ? r->hits / (r->hits + r->misses) : 0;
}

/* --- whatif_memory.c --- */
size_t   whatif_ring_bytes(const struct whatif *);   /* of each thread's ring */
size_t   whatif_memory_most(const struct whatif *);  /* of all parts */
size_t   whatif_shadow_share(const struct whatif *); /* what the miniatures and curves may take */
uint64_t whatif_cache_bytes(const struct whatif *);  /* the cache's limit, in whole pages */
bool     whatif_is_resized(const struct whatif *);   /* since counting for sizes began */
void     whatif_classes_bytes(const struct whatif *, struct share_classes *);
#endif
