/* What a page of a class is worth. */
#ifndef SLATE_CACHE_MEASURE_H
#define SLATE_CACHE_MEASURE_H
#include "cache/partition.h"

/* Nodes of a part of the tail of one queue of the class: a page's worth over all partitions. 0:
 * nothing is measured. */
uint32_t measured_tail(const struct cache *, unsigned class_id);
/* A missed key was evicted from a class: counts it there. */
void measure_miss(struct cache_thread *, const struct ghost *, uint64_t hash);
/* A hit on an item that is in the tail, `where` as it was. */
void measure_tail_hit(struct cache_thread *, unsigned class_id, const struct item *,
                      unsigned where);
#endif
