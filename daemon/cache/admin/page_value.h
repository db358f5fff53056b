/* What a page of a class is worth. */
#ifndef SLATE_CACHE_ADMIN_PAGE_VALUE_H
#define SLATE_CACHE_ADMIN_PAGE_VALUE_H
#include "cache/partition.h"

/* How many nodes of one queue make up a part of the class's tail: a page's worth over all
 * partitions. 0: nothing is measured. */
uint32_t page_value_tail_nodes(const struct cache *, unsigned class_id);
/* Counts the miss in the class that evicted the key, if one did lately. */
void page_value_count_miss(struct cache_thread *, const struct ghost *, uint64_t hash);
/* Counts a hit on an item in the tail. `where` is the item's place before the hit. */
void page_value_count_tail_hit(struct cache_thread *, unsigned class_id, const struct item *,
                               unsigned where);
#endif
