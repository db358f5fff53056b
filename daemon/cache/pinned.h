/* Memory of values that were replaced, removed or evicted while they were being sent: it stays
 * taken until their readers are done, and a reader may be as slow as it likes.
 *
 * While that is more than an eighth of the pages, readers are what memory is short of, not pages.
 * Then no class takes a page of another for it, evictions tell nothing of what stores want, and
 * where all values share their memory (heap, blocks) large ones, which alone can be pinned, are
 * refused. Without that, 63 clients that read nothing had all items of others evicted.
 * Threading: any; a sum that may be below zero for a moment. */
#ifndef SLATE_CACHE_PINNED_H
#define SLATE_CACHE_PINNED_H
#include "cache/partition.h"

static inline void pinned_add(struct cache *c, int64_t bytes) {
    atomic_fetch_add_explicit(&c->pinned_bytes, bytes, memory_order_relaxed);
}
static inline size_t pinned_bytes(const struct cache *c) {
    int64_t bytes = atomic_load_explicit(&c->pinned_bytes, memory_order_relaxed);
    return bytes > 0 ? (size_t)bytes : 0;
}
/* As much as values that are still coming may have (cache/admit.c). */
static inline bool pinned_are_much(const struct cache *c) {
    return pinned_bytes(c) > cache_drafts_most(c);
}
#endif
