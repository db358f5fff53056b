/* Eviction: which item of a class goes when others need its room, and whether the class then
 * hungers. */
#include "cache/victim.h"

#include "cache/link.h"
#include "cache/pinned.h"
#include "cache/stock.h"

enum {
    /* items in a queue before its own tail is evicted without looking at other partitions */
    EVICT_HERE_MIN = 128,
    EVICT_LOOK_MOST = 16,  /* partitions looked at for the oldest */
    RESCUE_TRIES = 4,      /* others may be quicker to take what was freed */
};

void note_hunger(struct cache *c, unsigned class_id) {
    if (!pinned_are_much(c) && class_set_shared_add(&c->hunger, class_id) && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
}

/* Unlinks the queue's next victim. Its chunks go to the stock or wait in the thread's hands.
 * *leaving: they are in a page that is on the move, and so lost to the class. */
static bool evict_one_locked(struct cache_thread *ct, struct partition *p, struct shelf *s,
                             unsigned class_id, bool *leaving) {
    struct item *it = (struct item *)evict_victim(queue_now(ct, s), item_now_s(ct));
    if (it == NULL) {
        return false;
    }
    *leaving = slab_page_draining(ct->cache->slab, arena_page_of(ct->cache->arena, it));
    COUNT_CLASS(ct, class_id, direct_reclaims);
    evict_item_locked(ct, p, it, class_id);
    return true;
}

uint32_t chunk_evict_locked(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    struct shelf *s = p->shelves[class_id];
    if (!may_evict(c, class_id) || s == NULL || c->stock_most[class_id] == 0 ||
        evict_count(&s->queue) < EVICT_HERE_MIN || slab_has_free(c->slab, class_id)) {
        return 0;
    }
    bool leaving;
    if (!evict_one_locked(ct, p, s, class_id, &leaving)) {
        return 0;
    }
    if (atomic_load_explicit(&c->hunger_on_evict, memory_order_relaxed)) {
        note_hunger(c, class_id);
    }
    return stock_pop_locked(p, class_id);
}

bool evict_somewhere(struct cache_thread *ct, unsigned class_id, uint32_t *ref, bool *leaving) {
    struct cache *c = ct->cache;
    unsigned start = (unsigned)thread_random(ct), looked = 0;
    struct partition *oldest = NULL;
    uint32_t oldest_s = UINT32_MAX, longest = 0;
    for (unsigned i = 0; i < c->partition_count && looked < EVICT_LOOK_MOST; i++) {
        struct partition *p = &c->partitions[(start + i) % c->partition_count];
        lock_take(&p->lock);
        const struct shelf *s = p->shelves[class_id];
        const struct node *n = s != NULL ? evict_oldest(&s->queue) : NULL;
        if (n != NULL) {
            looked++;
            uint32_t used_s = node_used_s(n), count = evict_count(&s->queue);
            /* seconds are coarse: then the longest queue */
            if (used_s < oldest_s || (used_s == oldest_s && count > longest)) {
                oldest = p;
                oldest_s = used_s;
                longest = count;
            }
        }
        lock_release(&p->lock);
    }
    if (oldest == NULL) {
        return false;
    }
    lock_take(&oldest->lock);
    struct shelf *s = oldest->shelves[class_id];
    bool evicted = evict_one_locked(ct, oldest, s, class_id, leaving);
    *ref = evicted ? stock_pop_locked(oldest, class_id) : 0;
    lock_release(&oldest->lock);
    chunks_settle(ct);
    return evicted;
}

bool evict_any(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    bool leaving, evicted = false;
    lock_take(&p->lock);
    struct shelf *s = p->shelves[class_id];
    if (s != NULL && evict_count(&s->queue) >= EVICT_HERE_MIN) {
        evicted = evict_one_locked(ct, p, s, class_id, &leaving);
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    uint32_t ref;
    return evicted || evict_somewhere(ct, class_id, &ref, &leaving);
}

uint32_t chunk_by_eviction(struct cache_thread *ct, unsigned class_id) {
    uint32_t ref = 0;
    bool leaving;
    for (int tries = 0;
         ref == 0 && tries < RESCUE_TRIES && evict_somewhere(ct, class_id, &ref, &leaving);
         tries++) {
        tries -= leaving; /* its victims go first: they had to leave anyway */
        if (ref == 0 && slab_has_free_chunk(ct->cache->slab, class_id)) {
            slab_take(ct->cache->slab, class_id, &ref, 1);
        }
    }
    return ref;
}
