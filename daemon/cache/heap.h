/* Where memory comes from in the heap store, and its limit. No lock held. */
#ifndef SLATE_CACHE_HEAP_H
#define SLATE_CACHE_HEAP_H
#include "cache/partition.h"

/* 0: there is none to be had */
uint32_t heap_obtain(struct cache_thread *, struct partition *, size_t bytes, bool large);
/* whether less memory is held, after what can be given back was */
bool     heap_within(const struct cache *, size_t limit_bytes);
/* the limit was changed: stores go on with what is used until it is given back */
void     heap_lowered(struct cache *);
/* chunks are 16 bytes of memory that is held */
void     heap_class_facts(const struct cache *, struct slab_class_facts *);
#endif
