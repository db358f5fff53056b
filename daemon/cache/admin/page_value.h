/* The value of a class's pages. */
#ifndef SLATE_CACHE_ADMIN_PAGE_VALUE_H
#define SLATE_CACHE_ADMIN_PAGE_VALUE_H
#include "cache/partition.h"

/* Nodes of one queue in a part of the class's tail: one page, divided by the number of partitions.
 * 0: page values are not measured. */
uint32_t page_value_tail_nodes(const struct cache *, unsigned class_id);
/* Counts the miss in the class that lately evicted the key, if there is one. */
void page_value_count_miss(struct cache_thread *, const struct ghost *, uint64_t hash);
/* Counts a hit on an item in the tail. `where` is the item's place before the hit. */
void page_value_count_tail_hit(struct cache_thread *, unsigned class_id, const struct item *,
                               unsigned where);
#endif
