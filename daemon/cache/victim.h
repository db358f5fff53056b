/* Eviction. */
#ifndef SLATE_CACHE_VICTIM_H
#define SLATE_CACHE_VICTIM_H
#include "cache/partition.h"

/* A chunk by evicting from this partition's queue, when that queue is long enough to be a fair
 * sample; 0: it is not. */
uint32_t chunk_evict_locked(struct cache_thread *, struct partition *, unsigned class_id);
/* A chunk of the class by evicting its oldest, for an item worth more; 0: none was to be had in a
 * few tries. No lock held. */
uint32_t chunk_by_eviction(struct cache_thread *, unsigned class_id);
/* Evicts an item of the class, from this partition when its queue is long enough to be a fair
 * sample. False: there is none. */
bool     evict_any(struct cache_thread *, struct partition *, unsigned class_id);
/* The class has nothing left, or evicts: the tuner hears of it. */
void     note_hunger(struct cache *, unsigned class_id);
/* Evicts the oldest victim among the partitions looked at. False: the class has no item to evict.
 * *ref gets a chunk of that partition's stock, where the victim's went, before others find it
 * there; 0 when it went elsewhere. *leaving: that was in a page on the move. No lock held. */
bool     evict_somewhere(struct cache_thread *, unsigned class_id, uint32_t *ref, bool *leaving);
#endif
