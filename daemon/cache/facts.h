/* Sums of what is counted. */
#ifndef SLATE_CACHE_FACTS_H
#define SLATE_CACHE_FACTS_H
#include "cache/partition.h"

/* What a thread has counted goes to the cache, for it ends. threads_lock is held. */
void facts_retire_locked(struct cache_thread *);
/* threads_lock is held */
void cache_sum_class_locked(struct cache *, unsigned class_id, struct cache_class_values *sum);
#endif
