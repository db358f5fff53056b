/* The heap store: one allocation for each item. Memory comes from the allocator, from retired
 * items, and from evictions. */
#include <errno.h>

#include "cache/alloc/deferred_free.h"
#include "cache/alloc/evict_one.h"
#include "cache/items/pinned.h"
#include "cache/pages/epoch_turn.h"

enum { TRIES_A_TURN = 32 };

/* --- create and destroy --- */

/* All items count in one class, which never has a page. */
static bool heap_store_make(struct cache *c) {
    uint32_t none = 0;
    c->slab = slab_create(c->arena, &(struct slab_config){.chunk_bytes_min = SLAB_HEADER_ROOM,
                                                          .growth_factor = 2,
                                                          .sizes = &none,
                                                          .chunk_bytes_max = PAGE_BYTES});
    c->heap = c->slab != NULL ? heap_create(c->arena) : NULL;
    return c->heap != NULL && deferred_free_create(c);
}

static void heap_store_unmake(struct cache *c) {
    heap_destroy(&c->heap);
    deferred_free_destroy(c);
    slab_destroy(&c->slab);
}

/* Other threads free later what this thread's lists cannot free now. */
static void heap_store_thread_end(struct cache_thread *ct) { deferred_free_wait(ct); }

/* --- sizes --- */

static unsigned heap_store_class_of(const struct cache *c, size_t total_bytes, size_t head_bytes) {
    (void)c, (void)total_bytes, (void)head_bytes;
    return HEAP_CLASS;
}

static size_t heap_store_takes(const struct cache *c, unsigned class_id, size_t total_bytes) {
    (void)class_id;
    return heap_bytes_for(c->heap, total_bytes);
}

static size_t heap_store_chunk_takes(const struct cache *c, uint32_t ref) {
    return heap_bytes_of(c->heap, ref);
}

static uint32_t heap_store_value_takes(const struct cache *c, unsigned class_id,
                                       uint32_t value_bytes) {
    enum { AROUND_BYTES = 64 }; /* header, key, and overhead of the heap */
    (void)c, (void)class_id;
    return value_bytes + AROUND_BYTES;
}

/* --- memory for an item --- */

static uint32_t heap_store_alloc(struct cache_thread *ct, struct partition *p, unsigned class_id,
                                 size_t bytes, bool large) {
    struct cache *c = ct->cache;
    uint64_t deadline_us = 0;
    unsigned tries = 0;
    uint32_t ref;
    while ((ref = heap_take(c->heap, bytes)) == 0) {
        /* other threads may wait for this turn to end, and evictions may free nothing for long */
        if (++tries % TRIES_A_TURN == 0) {
            cache_turn_end(ct);
            cache_turn_begin(ct);
        }
        if (deferred_free_release(ct)) {
            continue;
        }
        if (deferred_free_bytes(ct) >= bytes + DEFERRED_BYTES && deferred_free_wait(ct)) {
            continue; /* the evicted memory suffices once it can be freed */
        }
        if (large && pinned_are_much(c)) {
            break;
        }
        if (c->config.evict && evict_any(ct, p, class_id)) {
            continue;
        }
        if (deferred_free_wait(ct)) {
            continue;
        }
        heap_trim(c->heap);
        if (!turn_wait_for_memory(ct, &deadline_us)) {
            ref = heap_take(c->heap, bytes); /* memory may have been freed meanwhile */
            break;
        }
    }
    if (ref == 0) {
        COUNT_CLASS(ct, class_id, outofmemory);
    }
    return ref;
}

/* --- the limit, and facts --- */

/* True if the heap holds no more than the limit, after a release of unused memory. */
static bool heap_store_is_within(const struct cache *c, size_t limit_bytes) {
    struct heap_facts h;
    heap_trim(c->heap);
    heap_facts(c->heap, &h);
    return h.held_bytes <= limit_bytes;
}

/* Sets the limit. If a thread shrinks the heap, stores may use the current amount until the excess
 * is freed. */
static bool heap_store_set_limit(struct cache *c, size_t limit_bytes) {
    struct heap_facts h;
    if (!(c->config.evict || heap_store_is_within(c, limit_bytes)) ||
        !arena_set_limit(c->arena, limit_bytes, c->config.steal_pages && c->config.evict)) {
        return false;
    }
    heap_facts(c->heap, &h);
    if (c->wake != NULL && c->config.evict && h.held_bytes > h.limit_bytes) {
        heap_set_cap(c->heap, h.used_bytes);
    }
    return true;
}

static uint32_t heap_store_pages(const struct heap_facts *h) {
    return (uint32_t)((h->held_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT);
}

static uint32_t heap_store_pages_out(const struct cache *c) {
    struct heap_facts h;
    heap_facts(c->heap, &h);
    return heap_store_pages(&h);
}

/* The class counts chunks in units of 16 bytes of held memory: the allocator rounds to 16, and the
 * count fits 32 bits. */
static void heap_store_class_facts(const struct cache *c, unsigned class_id,
                                   struct slab_class_facts *f) {
    enum { GRAIN_BYTES = 16 };
    struct heap_facts h;
    slab_facts(c->slab, class_id, f);
    if (class_id != HEAP_CLASS) {
        return;
    }
    heap_facts(c->heap, &h);
    f->chunk_bytes = GRAIN_BYTES;
    f->chunks_per_page = PAGE_BYTES / GRAIN_BYTES;
    f->pages = heap_store_pages(&h);
    f->free_chunks =
        (uint32_t)((((uint64_t)f->pages << PAGE_SHIFT) - h.used_bytes) / GRAIN_BYTES);
    f->draining = 0;
}

const struct store_ops store_heap = {
    .name = "heap",
    .one_class = true,
    .make = heap_store_make,
    .unmake = heap_store_unmake,
    .thread_end = heap_store_thread_end,
    .class_of = heap_store_class_of,
    .takes = heap_store_takes,
    .chunk_takes = heap_store_chunk_takes,
    .value_takes = heap_store_value_takes,
    .alloc = heap_store_alloc,
    .release = deferred_free_retire,
    .set_limit = heap_store_set_limit,
    .pages_out = heap_store_pages_out,
    .class_facts = heap_store_class_facts,
};
