/* Frees dead items in place: a part of the contract, beside cache.h.
 *
 * A queue predicts the next victim, not the next expiry: behind one live item any number of dead
 * ones may wait. So a pass goes over the pages in order of memory. To examine an item takes no lock
 * and one prefetched cache line, some 10 ns; only an item that seems dead costs the lock of its
 * partition, some 500 ns with the removal. A heap has no chunks in order: there a pass walks the
 * index, some 100 ns an item. Freed items count as reclaimed, as items do that a store finds dead
 * at a queue's end.
 *
 * Threading: as of cache.h; within a turn. */
#ifndef SLATE_CACHE_EXPIRE_EXPIRE_SWEEP_H
#define SLATE_CACHE_EXPIRE_EXPIRE_SWEEP_H
#include "cache/cache.h"

struct cache_sweep { /* a pass; all zeroes before the pass begins */
    uint64_t place;         /* next chunk of the page, or bucket of the partition */
    uint32_t page;          /* current page, or partition */
    /* earliest expiry time of the live items seen; 0: none expires */
    uint32_t earliest_s;
    uint64_t examined, freed; /* items */
};
/* A step of some microseconds. False: the pass has ended. The pass may miss items that are stored,
 * touched or moved meanwhile. */
bool cache_sweep_step(struct cache_thread *, struct cache_sweep *);

/* Changes with each store and touch. While the number stays the same, no new item can expire before
 * those that a pass saw. Cost: some microseconds; no partition's lock. */
uint64_t cache_sweep_changes(struct cache *);
#endif
