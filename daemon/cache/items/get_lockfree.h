/* Counts hits and misses, for reads with a lock and without one. */
#ifndef SLATE_CACHE_ITEMS_GET_LOCKFREE_H
#define SLATE_CACHE_ITEMS_GET_LOCKFREE_H
#include "cache/partition.h"

void get_count_hit(struct cache_thread *, unsigned class_id, const struct item *);
void get_count_miss(struct cache_thread *, uint64_t hash);
/* Counts the miss for page values: whether more memory would have saved the item. */
void get_measure_miss(struct cache_thread *, uint64_t hash);
#endif
