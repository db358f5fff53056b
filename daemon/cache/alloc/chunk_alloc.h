/* Allocates a chunk by any means. */
#ifndef SLATE_CACHE_ALLOC_CHUNK_ALLOC_H
#define SLATE_CACHE_ALLOC_CHUNK_ALLOC_H
#include "cache/partition.h"

/* As store_ops.alloc. */
uint32_t chunk_alloc(struct cache_thread *, struct partition *, unsigned class_id,
                     size_t total_bytes, bool large);
#endif
