/* Memory of values that were replaced, removed or evicted while they were being sent. It stays
 * taken until their readers are done, and a reader may be as slow as it likes.
 *
 * While such memory is more than an eighth of the pages, memory is short because of readers, and
 * more pages would not help. So no class takes another class's page then, and evictions do not
 * count as hunger. Where all values share their memory (heap, blocks), large values are refused,
 * because only those can be pinned. Without these rules 63 clients that read nothing had all items
 * of other clients evicted.
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
/* The bound is the same as that of values that are still coming (cache/items/upload_quota.c). */
static inline bool pinned_are_much(const struct cache *c) {
    return pinned_bytes(c) > cache_uploads_max_bytes(c);
}
#endif
