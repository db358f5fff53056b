/* Moves pages between classes while everybody goes on reading and writing.
 *
 *     drain begins (its chunks only become free) -> every chunk is emptied -> all threads leave their turn -> it changes hands
 *
 * Pages of one move are emptied one after the other and change hands together, because waiting for the turns is what costs.
 * Live items are copied into other chunks of their class while there are any, and dropped when there are none and memory is
 * used up. A chunk that is being filled, or sent to a client, is tried again for MOVER_PATIENCE_US; then the page goes back
 * as it is and the move counts as given up. Threading: the owner's thread alone, through its cache_thread, outside a turn;
 * the counters may be read by anyone. Cost: 0.2 to 1 us a chunk, plus the longest turn of a worker. */
#ifndef SLATE_TUNE_MOVER_H
#define SLATE_TUNE_MOVER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum {
    MOVER_PATIENCE_US = 100 * 1000,
    MOVER_AVOIDED = 8,     /* pages lately given up that are not tried again at once */
    MOVER_PAGES_MAX = 8,   /* in one move */
};

struct mover {
    struct cache        *cache;
    struct cache_thread *ct;
    struct { uint32_t page; uint64_t until_us; } avoided[MOVER_AVOIDED];
    unsigned             avoided_at;
    _Atomic uint64_t pages_moved, rescues, chunk_rescues, reclaimed, evictions, busy_items, no_room, given_up;
    _Atomic(const char *) last_busy; /* none, draft, reader, no room, turn: why the last chunk or page could not move */
};

void mover_init(struct mover *, struct cache *, struct cache_thread *);
/* Up to `pages` (at most MOVER_PAGES_MAX) from a class, or SLAB_CLASS_NONE, the pool, to another, or to the pool. Returns how
 * many moved; a class keeps its last page. */
unsigned mover_move(struct mover *, unsigned from_class, unsigned to_class, unsigned pages);
#endif
