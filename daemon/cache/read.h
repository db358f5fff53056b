/* Counting that reads with a lock and without one have in common. */
#ifndef SLATE_CACHE_READ_H
#define SLATE_CACHE_READ_H
#include "cache/partition.h"

void read_count_hit(struct cache_thread *, unsigned class_id, const struct item *);
void read_count_miss(struct cache_thread *, uint64_t hash);
void read_measure_miss(struct cache_thread *, uint64_t hash); /* whether more memory had kept it */
#endif
