/* Eviction: chooses a victim when others need the memory of a class, and marks starved classes. */
#include "cache/alloc/evict_one.h"

#include "cache/alloc/magazine.h"
#include "cache/items/link.h"
#include "cache/items/pinned.h"

enum {
    /* a partition with so many items of the class evicts its own oldest, without asking others */
    EVICT_HERE_MIN = 128,
    EVICT_PARTITIONS_MAX = 16, /* partitions whose oldest items are compared */
};

void evict_note_starved(struct cache *c, unsigned class_id) {
    if (!pinned_are_much(c) && class_set_shared_add(&c->starved, class_id) && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
}

/* Unlinks the next victim of the queue. Its chunks go to the magazine, or to the thread's deferred
 * chunks. *draining: they lie in a page on the move, and the class loses them. */
static bool evict_one_locked(struct cache_thread *ct, struct partition *p, struct class_queue *s,
                             unsigned class_id, bool *draining) {
    struct item *it = (struct item *)evict_victim(queue_now(ct, s), item_now_s(ct));
    if (it == NULL) {
        return false;
    }
    *draining = slab_page_draining(ct->cache->slab, arena_page_of(ct->cache->arena, it));
    COUNT_CLASS(ct, class_id, direct_reclaims);
    link_evict_locked(ct, p, it, class_id);
    return true;
}

uint32_t evict_chunk_locked(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    struct class_queue *s = p->class_queues[class_id];
    if (!may_evict(c, class_id) || s == NULL || c->magazine_most[class_id] == 0 ||
        evict_lists_count(&s->queue) < EVICT_HERE_MIN || slab_has_free(c->slab, class_id) ||
        assist_is_wanted(c, class_id)) {
        return 0;
    }
    bool draining;
    if (!evict_one_locked(ct, p, s, class_id, &draining)) {
        return 0;
    }
    if (atomic_load_explicit(&c->starved_on_evict, memory_order_relaxed)) {
        evict_note_starved(c, class_id);
    }
    return magazine_pop_locked(p, class_id);
}

/* --- the oldest of several partitions ---
 *
 * The age of each partition's oldest item of a class was noted at the last reading under its lock,
 * so that a choice among many partitions takes few locks. Notes get stale. A note that makes an
 * item too old is corrected when its partition is chosen; a note that makes an item too young, when
 * its partition is the start: one partition for each eviction. */

static _Atomic uint64_t *evict_oldest_noted(const struct cache *c, unsigned partition,
                                            unsigned class_id) {
    return &c->oldest_noted[(size_t)class_id * c->partition_count + partition];
}

/* A note of an oldest item, to compare: the greater, the longer unused. Times are whole seconds; of
 * equal ones the longest queue counts as oldest. 0 stands for an empty queue. */
static uint64_t evict_note_of(uint32_t used_s, size_t queue_items) {
    return (uint64_t)(UINT32_MAX - used_s) << 32 | queue_items;
}

/* Notes the oldest item of the queue, and returns the note. */
static uint64_t evict_read_oldest_locked(const struct cache *c, unsigned partition,
                                         unsigned class_id) {
    const struct class_queue *s = c->partitions[partition].class_queues[class_id];
    const struct node *n = s != NULL ? evict_oldest(&s->queue) : NULL;
    uint64_t oldest = n != NULL ? evict_note_of(node_used_s(n), evict_lists_count(&s->queue)) : 0;
    atomic_store_explicit(evict_oldest_noted(c, partition, class_id), oldest, memory_order_relaxed);
    return oldest;
}

static uint64_t evict_read_oldest(struct cache *c, unsigned partition, unsigned class_id) {
    struct partition *p = &c->partitions[partition];
    lock_take(&p->lock);
    uint64_t oldest = evict_read_oldest_locked(c, partition, class_id);
    lock_release(&p->lock);
    return oldest;
}

/* Chooses the partition with the oldest noted item, among some partitions from `start` on. *next is
 * the second oldest note. False: these partitions have no item. */
static bool evict_choose_oldest(struct cache *c, unsigned class_id, unsigned start,
                                unsigned *chosen, uint64_t *next) {
    uint64_t oldest = 0;
    unsigned compared = 0;
    *next = 0;
    for (unsigned i = 0; i < c->partition_count && compared < EVICT_PARTITIONS_MAX; i++) {
        unsigned partition = (start + i) % c->partition_count;
        uint64_t note =
            atomic_load_explicit(evict_oldest_noted(c, partition, class_id), memory_order_relaxed);
        if (note == 0) {
            note = evict_read_oldest(c, partition, class_id);
        }
        compared += note != 0;
        if (note > oldest) {
            *next = oldest;
            oldest = note;
            *chosen = partition;
        } else if (note > *next) {
            *next = note;
        }
    }
    return oldest != 0;
}

bool evict_somewhere(struct cache_thread *ct, unsigned class_id, uint32_t *ref, bool *draining) {
    struct cache *c = ct->cache;
    unsigned start = (unsigned)random_next(&ct->random) % c->partition_count, chosen = 0;
    uint64_t next;
    evict_read_oldest(c, start, class_id);
    /* each reading corrects one note, so the loop ends after as many rounds as notes */
    while (evict_choose_oldest(c, class_id, start, &chosen, &next)) {
        struct partition *p = &c->partitions[chosen];
        lock_take(&p->lock);
        bool oldest = evict_read_oldest_locked(c, chosen, class_id) >= next;
        struct class_queue *s = p->class_queues[class_id];
        bool evicted = oldest && s != NULL && evict_one_locked(ct, p, s, class_id, draining);
        *ref = evicted ? magazine_pop_locked(p, class_id) : 0;
        evict_read_oldest_locked(c, chosen, class_id);
        lock_release(&p->lock);
        magazine_settle(ct);
        if (oldest) {
            return evicted;
        }
    }
    return false;
}

bool evict_any(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    bool draining, evicted = false;
    lock_take(&p->lock);
    struct class_queue *s = p->class_queues[class_id];
    if (s != NULL && evict_lists_count(&s->queue) >= EVICT_HERE_MIN) {
        evicted = evict_one_locked(ct, p, s, class_id, &draining);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    uint32_t ref;
    return evicted || evict_somewhere(ct, class_id, &ref, &draining);
}

uint32_t evict_for_chunk(struct cache_thread *ct, unsigned class_id) {
    uint32_t ref = 0;
    bool draining = true;
    /* victims in pages on the move go first, because they have to leave anyway */
    while (ref == 0 && draining && evict_somewhere(ct, class_id, &ref, &draining)) {
        if (ref == 0 && slab_has_free_chunk(ct->cache->slab, class_id)) {
            slab_take(ct->cache->slab, class_id, &ref, 1);
        }
    }
    return ref;
}
