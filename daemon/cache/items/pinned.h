/* Pinned memory: values that were replaced, removed or evicted while they were being sent. The
 * memory stays in use until the readers are done, and a reader may be arbitrarily slow.
 *
 * While pinned memory exceeds an eighth of the pages, memory is short because of readers, and more
 * pages would not help. So no class takes another class's page, and evictions do not starve a
 * class. Where all values share their memory (heap, blocks), large values are refused, because only
 * large values can be pinned. Without these rules 63 clients that read nothing caused the eviction
 * of all items of other clients.
 *
 * Threading: any thread. The sum may be below zero for a moment. */
#ifndef SLATE_CACHE_ITEMS_PINNED_H
#define SLATE_CACHE_ITEMS_PINNED_H
#include "cache/partition.h"

static inline void pinned_add(struct cache *c, int64_t bytes) {
    atomic_fetch_add_explicit(&c->pinned_bytes, bytes, memory_order_relaxed);
}
static inline size_t pinned_bytes(const struct cache *c) {
    int64_t bytes = atomic_load_explicit(&c->pinned_bytes, memory_order_relaxed);
    return bytes > 0 ? (size_t)bytes : 0;
}
/* The bound is the upload quota (cache/items/upload_quota.c). */
static inline bool pinned_are_much(const struct cache *c) {
    return pinned_bytes(c) > cache_uploads_max_bytes(c);
}
#endif
