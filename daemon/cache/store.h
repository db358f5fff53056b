/* Storing small values. */
#ifndef SLATE_CACHE_STORE_H
#define SLATE_CACHE_STORE_H
#include "cache/partition.h"

/* Stores a small value only if the key's chain is still as `look` saw it; CACHE_EXISTS: it is not.
 * Does not count as a set. */
enum cache_status store_unchanged(struct cache_thread *, const struct key *,
                                  const struct cache_store *, const struct index_look *look,
                                  struct cache_view *);
#endif
