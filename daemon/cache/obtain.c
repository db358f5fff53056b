/* A chunk for slabs and blocks by any means: of the class's free lists or the pool, by eviction,
 * and as the last resort by a page of another class. Memory is taken before a partition is locked
 * and given back after, so one lock is held at a time. */
#include "cache/obtain.h"

#include "cache/help.h"
#include "cache/patience.h"
#include "cache/pinned.h"
#include "cache/steal.h"
#include "cache/stock.h"
#include "cache/victim.h"

enum { EVICT_TRIES = 64 }; /* evicted items may still be on their way to slow clients */

/* Takes a chunk and, while the class lock is warm, fills the partition's stock, which is for small
 * values. */
static uint32_t take_free(struct cache_thread *ct, struct partition *p, unsigned class_id,
                          bool large) {
    struct cache *c = ct->cache;
    uint32_t refs[1 + STOCK_MAX];
    unsigned got = slab_take(c->slab, class_id, refs, large ? 1u : 1u + c->stock_most[class_id]);
    if (got == 0) {
        return 0;
    }
    if (got > 1) {
        lock_take(&p->lock);
        if (shelf_of_locked(c, p, class_id) != NULL) {
            while (got > 1) {
                stock_push_locked(ct, p, refs[--got]);
            }
        }
        lock_release(&p->lock);
        while (got > 1) {
            slab_give(c->slab, refs[--got]);
        }
        chunks_settle(ct);
    }
    return refs[0];
}

/* What a class frees in pages that are leaving it is not its own any more. */
static bool all_draining(const struct cache *c, unsigned class_id) {
    return slab_pages_beyond(c->slab, class_id, 0) == 0;
}

/* The class to take a chunk of: while we rested outside the turn the geometry may have changed, and
 * the id be another's. */
static unsigned still_serving(const struct cache *c, unsigned class_id, uint32_t chunk_bytes) {
    bool serves = slab_class_state(c->slab, class_id) == SLAB_CLASS_ACTIVE &&
                  slab_chunk_bytes(c->slab, class_id) == chunk_bytes;
    return serves ? class_id : slab_class_of(c->slab, chunk_bytes);
}

uint32_t chunk_obtain(struct cache_thread *ct, struct partition *p, unsigned class_id,
                      size_t total_bytes, bool large) {
    struct cache *c = ct->cache;
    (void)total_bytes;
    uint64_t give_up_us = 0;
    bool helped = false;
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    for (int tries = 0; tries < EVICT_TRIES; tries++) {
        class_id = still_serving(c, class_id, chunk_bytes);
        uint32_t ref = take_free(ct, p, class_id, large);
        if (ref != 0) {
            return ref;
        }
        if (still_serving(c, class_id, chunk_bytes) != class_id) {
            continue; /* the class was retired this moment: that is no want of memory */
        }
        if (!may_evict(c, class_id)) {
            if (slab_grow_first(c->slab, class_id)) {
                continue;
            }
            break;
        }
        if (large && c->store->one_class && pinned_are_much(c)) {
            break;
        }
        if (!helped && help_is_wanted(c, class_id)) {
            helped = true;
            help_with_pages(ct, class_id);
            continue;
        }
        bool leaving;
        if (!all_draining(c, class_id) && evict_somewhere(ct, class_id, &ref, &leaving)) {
            /* the oldest items may all live in the page that moves: that ends by itself */
            tries -= leaving;
            if (atomic_load_explicit(&c->hunger_on_evict, memory_order_relaxed)) {
                note_hunger(c, class_id);
            }
            if (ref != 0) {
                return ref;
            }
        } else if (pinned_are_much(c)) {
            if (slab_grow_first(c->slab, class_id)) {
                continue;
            }
            break;
        } else {
            note_hunger(c, class_id);
            if (!c->config.steal_pages) {
                break;
            }
            if (!steal_page_for(ct, class_id)) {
                /* what is in the way is in use for a moment: a draft, a page on the move */
                if (!rest_for_memory(ct, &give_up_us)) {
                    break;
                }
                tries = 0;
            }
        }
    }
    COUNT_CLASS(ct, class_id, outofmemory);
    return 0;
}
