/* Where memory comes from in the heap store: the allocator, what was retired, eviction. And its
 * limit. */
#include "cache/heap.h"

#include "cache/limbo.h"
#include "cache/patience.h"
#include "cache/pinned.h"
#include "cache/victim.h"

enum { TRIES_A_TURN = 32 };

uint32_t heap_obtain(struct cache_thread *ct, struct partition *p, size_t bytes, bool large) {
    struct cache *c = ct->cache;
    uint64_t give_up_us = 0;
    unsigned tries = 0;
    uint32_t ref;
    while ((ref = heap_take(c->heap, bytes)) == 0) {
        /* others wait for our turn to end, and what is evicted may make no room for long */
        if (++tries % TRIES_A_TURN == 0) {
            cache_turn_end(ct);
            cache_turn_begin(ct);
        }
        if (limbo_give(ct)) {
            continue;
        }
        if (limbo_bytes(ct) >= bytes + LIMBO_BYTES && heap_reclaim(ct)) {
            continue; /* enough for now was evicted: it is only to be waited for */
        }
        if (large && pinned_are_much(c)) {
            break;
        }
        if (c->config.evict && evict_any(ct, p, HEAP_CLASS)) {
            continue;
        }
        if (heap_reclaim(ct)) {
            continue;
        }
        heap_trim(c->heap);
        if (!rest_for_memory(ct, &give_up_us)) {
            ref = heap_take(c->heap, bytes); /* what was given back meanwhile may do */
            break;
        }
    }
    if (ref == 0) {
        COUNT_CLASS(ct, HEAP_CLASS, outofmemory);
    }
    return ref;
}

/* --- the limit, and facts --- */

void heap_lowered(struct cache *c) {
    struct heap_facts h;
    heap_facts(c->heap, &h);
    /* there is somebody who shrinks it */
    if (c->wake != NULL && c->config.evict && h.held_bytes > h.limit_bytes) {
        heap_cap(c->heap, h.used_bytes);
    }
}

bool heap_within(const struct cache *c, size_t limit_bytes) {
    struct heap_facts h;
    heap_trim(c->heap);
    heap_facts(c->heap, &h);
    return h.held_bytes <= limit_bytes;
}

void heap_class_facts(const struct cache *c, struct slab_class_facts *f) {
    enum { GRAIN_BYTES = 16 }; /* what the allocator rounds to; so that counts of it fit 32 bits */
    struct heap_facts h;
    heap_facts(c->heap, &h);
    uint64_t held = (h.held_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
    f->chunk_bytes = GRAIN_BYTES;
    f->chunks_per_page = PAGE_BYTES / GRAIN_BYTES;
    f->pages = (uint32_t)held;
    f->free_chunks = (uint32_t)(((held << PAGE_SHIFT) - h.used_bytes) / GRAIN_BYTES);
    f->draining = 0;
}
