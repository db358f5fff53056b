/* Stores values. */
#ifndef SLATE_CACHE_ITEMS_SET_SMALL_H
#define SLATE_CACHE_ITEMS_SET_SMALL_H
#include "cache/partition.h"

/* Stores a value only if the key's chain is still in the state `seen`; CACHE_EXISTS: the chain
 * changed. NULL: stores in any case. */
enum cache_status set_if_unchanged(struct cache_thread *, const struct key *,
                                   const struct cache_store *, const struct index_lookup *seen,
                                   struct cache_view *);
#endif
