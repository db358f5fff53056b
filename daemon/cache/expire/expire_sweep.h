/* Frees dead items where they lie: a part of the contract, beside cache.h.
 *
 * A queue tells what goes next, not what has expired: behind one live item any number of dead ones
 * may wait. So a pass goes over the pages in the order of memory. A look takes no lock and one
 * cache line, which is asked for ahead, so some 10 ns; only what looks dead costs the lock of its
 * partition, some 500 ns with all that follows. A heap has no chunks that one could go over: there
 * a pass walks the index, some 100 ns an item. Freed items count as reclaimed, as those do that a
 * store finds at a queue's end.
 *
 * Threading: as of cache.h; within a turn. */
#ifndef SLATE_CACHE_EXPIRE_EXPIRE_SWEEP_H
#define SLATE_CACHE_EXPIRE_EXPIRE_SWEEP_H
#include "cache/cache.h"

struct cache_sweep { /* a pass; all zeroes: one that has not begun */
    uint64_t place;         /* where it goes on: of a page, or of a partition's index */
    uint32_t page;          /* the page where it goes on, or the partition */
    /* when the first of the live items that it saw expires; 0: none of them will */
    uint32_t earliest_s;
    uint64_t examined, freed; /* items */
};
/* Goes on for some microseconds. False: the pass has ended. It may miss what is stored, touched or
 * moved meanwhile. */
bool cache_sweep_step(struct cache_thread *, struct cache_sweep *);

/* A number that changes with each store and touch. While it stays the same, no item has come that
 * could expire before those that a pass saw. Cost: some microseconds; no partition's lock. */
uint64_t cache_sweep_changes(struct cache *);
#endif
