/* Sums of counters. */
#ifndef SLATE_CACHE_ADMIN_CACHE_STATS_H
#define SLATE_CACHE_ADMIN_CACHE_STATS_H
#include "cache/partition.h"

/* Adds the ending thread's counters to the cache's sums. The caller holds threads_lock. */
void cache_stats_retire_locked(struct cache_thread *);
/* The caller holds threads_lock. */
void cache_stats_sum_class_locked(struct cache *, unsigned class_id,
                                  struct cache_class_values *sum);
#endif
