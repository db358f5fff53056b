/* Storing values that are large or chained. */
#ifndef SLATE_CACHE_LARGE_H
#define SLATE_CACHE_LARGE_H
#include "cache/partition.h"

/* Only while the key's chain is as `look` saw it, CACHE_EXISTS: it is not; with NULL whatever the
 * chain, and counted as a set. */
enum cache_status store_large(struct cache_thread *, const struct key *, const struct cache_store *,
                              const struct index_look *look, struct cache_view *);
#endif
