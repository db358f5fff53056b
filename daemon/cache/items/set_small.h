/* Storing values. */
#ifndef SLATE_CACHE_ITEMS_SET_SMALL_H
#define SLATE_CACHE_ITEMS_SET_SMALL_H
#include "cache/partition.h"

/* Stores a value only if the key's chain is still as `look` saw it; CACHE_EXISTS: it is not. With
 * NULL it stores in any case. */
enum cache_status set_if_unchanged(struct cache_thread *, const struct key *,
                                   const struct cache_store *, const struct index_lookup *look,
                                   struct cache_view *);
#endif
