/* What the passes of an adoption share. */
#ifndef SLATE_CACHE_ADOPT_ADOPTION_H
#define SLATE_CACHE_ADOPT_ADOPTION_H
#include "base/crash.h"
#include "cache/adopt/bins.h"
#include "cache/adopt/claim.h"

enum { AHEAD = 12 /* so many items are prefetched ahead of the one that is looked at */ };

struct tally {
    uint64_t items, dead, torn, drafts, twins, pieces, left_out;
};

struct adoption {
    struct cache      *c;
    struct item_clock  clock;
    uint32_t           now_s;
    struct recall      recall;
    struct claims      claims;
    struct bins        bins;
    /* the partitions of this round: `count` of them from `first` on. With one round, all of them */
    unsigned           first, count;
    _Atomic uint32_t   next_look, next_link, next_free;
    _Atomic uint64_t   linked;
    _Atomic bool       no_memory;
    unsigned           thread_count;
    struct adopter    *threads;
    /* by class: the policy to whose lists the items' marks refer */
    const struct evict_policy *policies[SLAB_CLASSES_MAX];
    uint64_t           start_us, said_us;
};
struct adopter {
    struct adoption *a;
    struct tally     n;
    pthread_t        thread;
    bool             started;
    unsigned         number;
    void           (*pass)(struct adopter *);
};

/* The passes. All threads make each pass together. */
void adopt_look(struct adopter *);
void adopt_link(struct adopter *);
void adopt_free(struct adopter *);

/* Takes the next number for this thread. False: there is none below `end`. */
static inline bool adoption_next(_Atomic uint32_t *next, uint32_t end, uint32_t *i) {
    *i = atomic_fetch_add_explicit(next, 1, memory_order_relaxed);
    return *i < end;
}
static inline bool adoption_fails(const struct adoption *a) {
    return atomic_load_explicit(&a->no_memory, memory_order_relaxed);
}
static inline void adoption_fail(struct adoption *a) {
    atomic_store_explicit(&a->no_memory, true, memory_order_relaxed);
}
/* Any thread calls it. Only the first thread, which waits for the others at the end, logs how far
 * the pass is. */
void adoption_say_progress(struct adopter *, const char *what, uint32_t done, uint32_t all);
#endif
