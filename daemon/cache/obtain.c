/* Obtains a chunk for the slab store and the block store by any means: from the class's free lists
 * or the pool, by eviction and, as the last resort, by a page of another class. Memory is taken
 * before a partition is locked and given back after, so a thread holds one lock at a time. */
#include "cache/obtain.h"

#include "cache/help.h"
#include "cache/patience.h"
#include "cache/pinned.h"
#include "cache/steal.h"
#include "cache/stock.h"
#include "cache/victim.h"

/* Takes a chunk of the class. While the class's lock is warm it also fills the partition's stock,
 * unless the chunk is for a large value. */
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

/* Whether all of the class's pages are on the move: a chunk that it frees there is not its own any
 * more. */
static bool all_draining(const struct cache *c, unsigned class_id) {
    return slab_pages_beyond(c->slab, class_id, 0) == 0;
}

/* The class to take a chunk of. While the thread rested outside its turn the geometry may have
 * changed, and the id may be another class's now. */
static unsigned still_serving(const struct cache *c, unsigned class_id, uint32_t chunk_bytes) {
    bool serves = slab_class_state(c->slab, class_id) == SLAB_CLASS_ACTIVE &&
                  slab_chunk_bytes(c->slab, class_id) == chunk_bytes;
    return serves ? class_id : slab_class_of(c->slab, chunk_bytes);
}

/* A chunk that a store looks for. */
struct search {
    struct cache_thread *ct;
    unsigned             class_id;
    bool                 large;
    bool                 helped;     /* it has worked on pages that the mover wants */
    uint64_t             give_up_us; /* the one bound of it all, as patience_left has it */
    uint32_t             ref;        /* a chunk that an eviction freed; 0: none */
};

/* The means, in this order, when nothing of the class is free; 3 and 5 end with the patience:
 *
 *     1. where nothing may be evicted: the class's first page, over the limit
 *     2. a part of the work on a page that the mover wants for the class
 *     3. the next victim of the class
 *     4. a page of another class
 *     5. rest: drafts, values that are being sent and pages on the move may become free
 *
 * While slow readers hold much memory there is no page of another class. True: memory may be free
 * now, though other threads may take it first. */
static bool free_a_chunk(struct search *s) {
    struct cache *c = s->ct->cache;
    if (!may_evict(c, s->class_id)) {
        return slab_grow_first(c->slab, s->class_id);
    }
    if (s->large && c->store->one_class && pinned_are_much(c)) {
        return false;
    }
    if (!s->helped && help_is_wanted(c, s->class_id)) {
        s->helped = true;
        help_with_pages(s->ct, s->class_id);
        return true;
    }
    bool leaving;
    if (!all_draining(c, s->class_id) &&
        evict_somewhere(s->ct, s->class_id, &s->ref, &leaving)) {
        if (atomic_load_explicit(&c->hunger_on_evict, memory_order_relaxed)) {
            note_hunger(c, s->class_id);
        }
        return patience_left(s->ct, &s->give_up_us);
    }
    if (pinned_are_much(c)) {
        return slab_grow_first(c->slab, s->class_id);
    }
    note_hunger(c, s->class_id);
    return steal_page_for(s->ct, s->class_id) || rest_for_memory(s->ct, &s->give_up_us);
}

uint32_t chunk_obtain(struct cache_thread *ct, struct partition *p, unsigned class_id,
                      size_t total_bytes, bool large) {
    const struct cache *c = ct->cache;
    (void)total_bytes;
    struct search s = {.ct = ct, .class_id = class_id, .large = large};
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    for (bool more = true; s.ref == 0;) {
        s.class_id = still_serving(c, s.class_id, chunk_bytes);
        s.ref = take_free(ct, p, s.class_id, large);
        if (s.ref != 0 || !more) {
            break;
        }
        /* a class that was retired this moment is not short of memory */
        more = still_serving(c, s.class_id, chunk_bytes) != s.class_id || free_a_chunk(&s);
    }
    if (s.ref == 0) {
        COUNT_CLASS(ct, s.class_id, outofmemory);
    }
    return s.ref;
}
