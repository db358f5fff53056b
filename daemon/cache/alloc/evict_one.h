/* Eviction. */
#ifndef SLATE_CACHE_ALLOC_EVICT_ONE_H
#define SLATE_CACHE_ALLOC_EVICT_ONE_H
#include "cache/partition.h"

/* Evicts from this partition's queue if the queue is long enough to be a fair sample. Returns the
 * freed chunk, or 0. */
uint32_t evict_chunk_locked(struct cache_thread *, struct partition *, unsigned class_id);
/* Evicts the oldest item of the class for an item that is worth more. Returns the freed chunk; 0:
 * there is no item, or another thread was faster. No lock held. */
uint32_t evict_for_chunk(struct cache_thread *, unsigned class_id);
/* Evicts an item of the class, from this partition if its queue is long enough to be a fair sample.
 * False: the class has no item. */
bool     evict_any(struct cache_thread *, struct partition *, unsigned class_id);
/* Marks the class for the tuner: the class has no free memory, or evicts. */
void     evict_note_starved(struct cache *, unsigned class_id);
/* Evicts the oldest victim of several partitions. False: the class has no item to evict. *ref gets
 * a chunk from the magazine to which the victim's chunk went, before other threads find it; 0: the
 * chunk went elsewhere. *draining: the victim lay in a page on the move. No lock held. */
bool     evict_somewhere(struct cache_thread *, unsigned class_id, uint32_t *ref, bool *draining);
#endif
