/* Counting of hits and misses, for reads with a lock and without one. */
#ifndef SLATE_CACHE_ITEMS_GET_LOCKFREE_H
#define SLATE_CACHE_ITEMS_GET_LOCKFREE_H
#include "cache/partition.h"

void get_count_hit(struct cache_thread *, unsigned class_id, const struct item *);
void get_count_miss(struct cache_thread *, uint64_t hash);
/* Counts the miss for the measure of pages: whether more memory would have kept the item. */
void get_measure_miss(struct cache_thread *, uint64_t hash);
#endif
