/* Storing values that are large or chained. */
#ifndef SLATE_CACHE_LARGE_H
#define SLATE_CACHE_LARGE_H
#include "cache/partition.h"

/* Publishes the draft only if the key's chain is as `look` saw it; CACHE_EXISTS: it is not. With
 * NULL it publishes in any case and counts a set. */
enum cache_status store_large(struct cache_thread *, const struct key *, const struct cache_store *,
                              const struct index_look *look, struct cache_view *);
#endif
