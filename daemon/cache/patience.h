/* How long a store waits for memory that others hold for a moment. */
#ifndef SLATE_CACHE_PATIENCE_H
#define SLATE_CACHE_PATIENCE_H
#include "cache/partition.h"

/* Rests outside the turn, so that drafts, values on their way to clients and pages on the move may
 * become free; the caller then tries again. `give_up_us` is 0 before the first call for a store.
 * False, at once: the store waited for the cache's patience, or another did lately, and is to be
 * refused. No lock held, and no reference. */
bool rest_for_memory(struct cache_thread *, uint64_t *give_up_us);
#endif
