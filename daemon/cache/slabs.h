/* What the stores of chunks in pages have in common: slabs, and blocks, which are the slabs of one
 * size. As in cache/store_ops.h. */
#ifndef SLATE_CACHE_SLABS_H
#define SLATE_CACHE_SLABS_H
#include "cache/partition.h"

void     slabs_unmake(struct cache *);
void     slabs_thread_end(struct cache_thread *);
size_t   slabs_takes(const struct cache *, unsigned class_id, size_t total_bytes);
size_t   slabs_chunk_takes(const struct cache *, uint32_t ref);
uint32_t slabs_value_takes(const struct cache *, unsigned class_id, uint32_t value_bytes);
void     slabs_give(struct cache_thread *, const uint32_t *refs, unsigned count);
bool     slabs_set_limit(struct cache *, size_t limit_bytes);
uint32_t slabs_pages_out(const struct cache *);
void     slabs_class_facts(const struct cache *, unsigned class_id, struct slab_class_facts *);
#endif
