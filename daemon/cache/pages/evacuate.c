/* Empties a page, chunk by chunk, while all threads go on reading and writing. Live contents are
 * copied into other chunks of their class, or of the class for their size in the current
 * geometry. */
#include "base/failpoint.h"
#include "cache/alloc/evict_one.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/items/pinned.h"
#include "cache/partition.h"

enum {
    TAILS_AT_ONCE = 128,         /* most tails of one value moved in one hold of the lock */
    TAILS_AT_ONCE_BYTES = 16384, /* most bytes of these tails; a larger tail is moved alone */
    VICTIM_PARTITIONS_MAX = 16, /* partitions whose oldest item of a class is read */
};

/* Prefetches the memory for a chunk that is a few chunks ahead. */
static void evacuate_prefetch(const struct cache *c, uint32_t page, uint32_t chunk) {
    enum { AHEAD = 8 };
    const struct item *it = slab_page_chunk(c->slab, page, chunk + AHEAD);
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (it != NULL && item_state(it) == CHUNK_LINKED && item_copy_key_guarded(it, bytes, &key)) {
        cache_prefetch_bucket(c, &key);
        cache_prefetch_neighbours(c, ref_of_item(c, it));
    }
}

/* Takes a chunk for a copy: from the partition's magazine, or the spare, which the caller took
 * before the lock and which becomes 0. Returns 0 if there is neither. */
static uint32_t evacuate_target_locked(struct partition *p, unsigned class_id, uint32_t *spare) {
    uint32_t ref = magazine_pop_locked(p, class_id);
    if (ref == 0) {
        ref = *spare;
        *spare = 0;
    }
    return ref;
}

static void evacuate_copy_word(char *to, const char *from) {
    atomic_store_explicit((_Atomic uint64_t *)(void *)to, bytes_word(from), memory_order_relaxed);
}

/* Copies a chunk's bytes into an unreachable chunk. The word with the state is copied last, so that
 * the copy becomes an item only when it is complete. */
static void evacuate_copy_chunk(struct item *to, const struct item *from, size_t bytes) {
    enum { STATE_AT = 8 };
    _Static_assert(offsetof(struct node, flags) / 8 * 8 == STATE_AT, "the second word");
    atomic_thread_fence(memory_order_release); /* as in link_init_item */
    const char *src = (const char *)from;
    char *dst = (char *)to;
    for (size_t i = STATE_AT + 8; i < bytes; i += 8) { /* evict_list_replace sets the links */
        evacuate_copy_word(dst + i, src + i);
    }
    ordered_fence();
    failpoint_reach("half_copied");
    evacuate_copy_word(dst + STATE_AT, src + STATE_AT);
    ordered_fence();
    failpoint_reach("copied");
}

static size_t evacuate_bytes_in_use(const struct cache *c, const struct item *it) {
    return item_total_bytes(item_flags(it), item_key_len(it), item_value_bytes(it)) +
           value_bytes_in_head(c, it);
}

static void evacuate_adopt_tails(const struct cache *c, struct item *it) {
    for (uint32_t ref = item_load32(item_chain(it)); ref != 0;) {
        struct item_tail *t = (void *)item_at(c, ref);
        item_store32(&t->head, ref_of_item(c, it));
        failpoint_reach("piece_adopted");
        ref = item_tail_next(t);
    }
}

/* The item's memory belongs to another class from now on: the sums and the queues follow. `it` is
 * in the queue of class `from`. `now` is `it` or its copy, and goes to the queue of class `to`,
 * which exists. */
static void evacuate_requeue_locked(struct cache_thread *ct, struct partition *p, struct item *it,
                                    struct item *now, unsigned from, unsigned to, uint64_t bytes) {
    struct evict_queue *q = &p->class_queues[from]->queue;
    evict_remove(q, &it->node);
    p->class_queues[from]->requested_bytes -= bytes;
    evict_adopt(queue_now(ct, p->class_queues[to]), &now->node, q->policy, item_now_s(ct));
    p->class_queues[to]->requested_bytes += bytes;
}

/* Moves an item into a new chunk, of its own class or another. Within its class the item stays in
 * its place of the queue. The old chunk becomes free, or stays unlinked while a reader borrows
 * it. */
static void evacuate_relocate_locked(struct cache_thread *ct, struct partition *p,
                                     const struct key *key, struct item *it, struct item *to) {
    struct cache *c = ct->cache;
    unsigned from_class = cache_item_class(c, it);
    uint64_t bytes = cache_item_requested_bytes(c, it);
    evacuate_copy_chunk(to, it, evacuate_bytes_in_use(c, it));
    if (item_large(to)) {
        atomic_store_explicit(item_refs(to), 1, memory_order_relaxed);
    }
    unsigned to_class = cache_item_class(c, to);
    if (to_class == from_class) {
        evict_list_replace(&p->class_queues[from_class]->queue, &it->node, &to->node);
    } else {
        evacuate_requeue_locked(ct, p, it, to, from_class, to_class, bytes);
    }
    index_replace(&p->index, key->hash, ref_of_item(c, it), ref_of_item(c, to));
    if (item_flags(to) & ITEM_CHAINED) {
        evacuate_adopt_tails(c, to);
        /* the tails belong to the copy now */
        item_set_flags(it, item_flags(it) & (unsigned)~ITEM_CHAINED);
    }
    item_set_unlinked(it);
    if (!item_large(to)) {
        magazine_push_locked(ct, p, ref_of_item(c, it));
    } else if (atomic_fetch_sub_explicit(item_refs(it), 1, memory_order_acq_rel) == 1) {
        node_set_next(&it->node,
                      ct->deferred_items != NULL ? ref_of_item(c, ct->deferred_items) : 0);
        ct->deferred_items = it;
    } else {
        pinned_add(c, (int64_t)bytes);
    }
}

static bool evacuate_is_borrowed(struct item *it) {
    return item_large(it) && atomic_load_explicit(item_refs(it), memory_order_acquire) > 1;
}

/* Drops an item to empty its page. */
static enum cache_moved evacuate_drop_locked(struct cache_thread *ct, struct partition *p,
                                             const struct key *key, struct item *it) {
    bool busy = evacuate_is_borrowed(it);
    evict_note_evicted(&p->class_queues[cache_item_class(ct->cache, it)]->queue, &it->node);
    link_count_eviction(ct, it, cache_item_class(ct->cache, it), key->hash);
    link_remove_locked(ct, p, key->hash, it);
    return busy ? CACHE_MOVED_DROPPED : CACHE_MOVED_EVICTED;
}

/* True if a chunk that was taken before the lock still fits: the item may have grown since, and the
 * chunk's class queue must exist. */
static bool evacuate_target_fits_locked(struct cache *c, struct partition *p, uint32_t ref,
                                        size_t bytes) {
    unsigned class_id = slab_ref_class(c->slab, ref);
    return slab_chunk_bytes(c->slab, class_id) >= bytes &&
           class_queue_locked(c, p, class_id) != NULL;
}

static enum cache_moved evacuate_item(struct cache_thread *ct, unsigned class_id, struct item *it,
                                      bool may_evict, uint32_t *spare) {
    struct cache *c = ct->cache;
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (!item_copy_key_guarded(it, bytes, &key)) {
        return CACHE_MOVED_BUSY;
    }
    struct partition *p = partition_of(c, key.hash);
    enum cache_moved moved;
    lock_take(&p->lock);
    if (index_find(&p->index, &key) != ref_of_item(c, it)) {
        /* the item changed after the read without the lock; the caller tries again */
        moved = CACHE_MOVED_BUSY;
    } else if (cache_item_dead(c, it, ct->now_s)) {
        bool busy = evacuate_is_borrowed(it);
        link_remove_locked(ct, p, key.hash, it);
        moved = busy ? CACHE_MOVED_BUSY : CACHE_MOVED_EXPIRED;
    } else if (item_flags(it) & ITEM_CHAINED && evacuate_is_borrowed(it)) {
        moved = CACHE_MOVED_BUSY; /* a reader reaches the tails through this chunk */
    } else {
        uint32_t ref = evacuate_target_locked(p, class_id, spare);
        if (ref != 0 && !evacuate_target_fits_locked(c, p, ref, evacuate_bytes_in_use(c, it))) {
            magazine_push_locked(ct, p, ref);
            moved = CACHE_MOVED_BUSY;
        } else if (ref != 0) {
            bool busy = evacuate_is_borrowed(it);
            evacuate_relocate_locked(ct, p, &key, it, item_at(c, ref));
            moved = busy ? CACHE_MOVED_BUSY : CACHE_MOVED_RESCUED;
        } else {
            moved = may_evict ? evacuate_drop_locked(ct, p, &key, it) : CACHE_MOVED_NO_ROOM;
        }
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    return moved;
}

/* Free chunks of one class for copies, taken before the lock. */
struct evacuate_spares {
    uint32_t refs[TAILS_AT_ONCE];
    unsigned count;
};

static bool evacuate_chain_has(const struct cache *c, struct item *head, uint32_t wanted) {
    for (uint32_t ref = item_load32(item_chain(head)); ref != 0;
         ref = item_tail_next((void *)item_at(c, ref))) {
        if (ref == wanted) {
            return true;
        }
    }
    return false;
}

static size_t evacuate_tail_bytes(const struct item_tail *t) {
    return ITEM_TAIL_HEADER + (size_t)item_load32(&t->used_bytes);
}

/* The class for the tail's size in the current geometry. */
static unsigned evacuate_right_class(const struct cache *c, const struct item_tail *t) {
    return slab_class_of(c->slab, evacuate_tail_bytes(t));
}

/* Copies a tail to another chunk. `link` is the word that points to the tail: in the head, or in
 * the tail before. */
static struct item_tail *evacuate_relocate_tail_locked(const struct cache *c, struct item_tail *t,
                                                  _Atomic uint32_t *link, uint32_t to_ref) {
    struct item_tail *to = (void *)item_at(c, to_ref);
    evacuate_copy_chunk((struct item *)(void *)to, (const struct item *)(const void *)t,
                        evacuate_tail_bytes(t));
    item_store32(&to->next, item_tail_next(t));
    item_store32(&to->head, item_load32(&t->head));
    ordered_fence();
    item_store32(link, to_ref);
    ordered_fence();
    failpoint_reach("piece_moved");
    atomic_store_explicit(&t->flags, CHUNK_UNLINKED, memory_order_relaxed);
    return to;
}

/* Moves the wanted tail of a value, and other tails of this value that lie in draining pages of the
 * same class and belong into the same class by their size, as far as the spares go. Finding a tail
 * takes a walk of the chain, so moving a long chain one tail at a time would take the square of its
 * length. The old chunks replace the spares in `s`. If the chain's first tail moves, the item
 * changes its queue. Returns the number of moved tails. */
static unsigned evacuate_relocate_tails_locked(struct cache_thread *ct, struct partition *p,
                                               struct item *head, const struct item_tail *wanted,
                                               struct evacuate_spares *s) {
    struct cache *c = ct->cache;
    uint32_t wanted_ref = ref_of_item(c, wanted), ref;
    unsigned own = slab_ref_class(c->slab, wanted_ref), right = evacuate_right_class(c, wanted);
    unsigned from_class = cache_item_class(c, head), n = 0;
    bool met = false;
    _Atomic uint32_t *link = item_chain(head);
    while (n < s->count && (ref = item_load32(link)) != 0) {
        struct item_tail *t = (void *)item_at(c, ref);
        met = met || ref == wanted_ref;
        bool spare = n + 1 < s->count || met; /* the last spare is for the wanted tail */
        if (spare && slab_page_draining(c->slab, arena_page_of_ref(c->arena, ref)) &&
            slab_ref_class(c->slab, ref) == own && evacuate_right_class(c, t) == right) {
            t = evacuate_relocate_tail_locked(c, t, link, s->refs[n]);
            s->refs[n++] = ref;
        }
        link = &t->next;
    }
    unsigned to_class = cache_item_class(c, head);
    if (to_class != from_class) {
        evacuate_requeue_locked(ct, p, head, head, from_class, to_class,
                                cache_item_requested_bytes(c, head));
    }
    return n;
}

static enum cache_moved evacuate_tail(struct cache_thread *ct, struct item_tail *t, bool may_evict,
                                      struct evacuate_spares *s) {
    struct cache *c = ct->cache;
    uint32_t head_ref = item_load32(&t->head), ref = ref_of_item(c, t);
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (!item_chunk_is_at(c, head_ref) ||
        !item_copy_key_guarded(item_at(c, head_ref), bytes, &key)) {
        return CACHE_MOVED_BUSY;
    }
    struct item *head = item_at(c, head_ref);
    struct partition *p = partition_of(c, key.hash);
    enum cache_moved moved;
    lock_take(&p->lock);
    if (index_find(&p->index, &key) != head_ref || !(item_flags(head) & ITEM_CHAINED) ||
        evacuate_is_borrowed(head)) {
        moved = CACHE_MOVED_BUSY;
    } else if (s->count == 0 && !evacuate_chain_has(c, head, ref)) {
        moved = CACHE_MOVED_BUSY;
    } else if (cache_item_dead(c, head, ct->now_s)) {
        link_remove_locked(ct, p, key.hash, head);
        moved = CACHE_MOVED_EXPIRED;
    } else if (s->count == 0) {
        moved = may_evict ? evacuate_drop_locked(ct, p, &key, head) : CACHE_MOVED_NO_ROOM;
    } else {
        ct->tails_moved = evacuate_target_fits_locked(c, p, s->refs[0], evacuate_tail_bytes(t))
                              ? evacuate_relocate_tails_locked(ct, p, head, t, s)
                              : 0;
        moved = ct->tails_moved > 0 ? CACHE_MOVED_CHUNK : CACHE_MOVED_BUSY;
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    return moved;
}

/* A chunk to be emptied, as read without a lock. */
struct evacuee {
    struct item *it;
    bool         tail;
    /* the chunk's class, and the class for the size of its contents */
    unsigned     own, right;
};

/* Reads a chunk without a lock. False: there is nothing to copy, and *moved has the reason. */
static bool evacuee_read(const struct cache *c, uint32_t page, uint32_t chunk, struct evacuee *e,
                         enum cache_moved *moved) {
    e->it = slab_page_chunk(c->slab, page, chunk);
    *moved = CACHE_MOVED_FREE;
    if (e->it == NULL) {
        return false;
    }
    switch (item_state(e->it)) {
    case CHUNK_FREE: return false;
    case CHUNK_FILLING:
    case CHUNK_UNLINKED: *moved = CACHE_MOVED_BUSY; return false;
    case CHUNK_LINKED: break;
    }
    e->tail = item_key_len(e->it) == 0;
    e->own = slab_page_class(c->slab, page);
    const struct item_tail *tail = (const struct item_tail *)(const void *)e->it;
    e->right = slab_class_of(c->slab, e->tail ? evacuate_tail_bytes(tail)
                                              : evacuate_bytes_in_use(c, e->it));
    if (e->right == SLAB_CLASS_NONE) {
        e->right = e->own; /* the item changed during the read */
    }
    return true;
}

/* Copies the contents into a spare of class `to_class`. Returns the remaining spares, or the old
 * chunks that replaced them, to their classes. */
static enum cache_moved evacuate_content(struct cache_thread *ct, const struct evacuee *e,
                                         unsigned to_class, bool may_evict,
                                         struct evacuate_spares *s) {
    enum cache_moved moved;
    ct->tails_moved = 0;
    if (e->tail) {
        moved = evacuate_tail(ct, (struct item_tail *)(void *)e->it, may_evict, s);
    } else {
        uint32_t spare = s->count > 0 ? s->refs[0] : 0;
        moved = evacuate_item(ct, to_class, e->it, may_evict, &spare);
        s->count = spare != 0;
    }
    slab_release_all(ct->cache->slab, s->refs, s->count);
    return moved;
}

/* Takes spares from the free chunks of a class, perhaps none. */
static void evacuate_take_spares(struct cache *c, const struct evacuee *e, unsigned class_id,
                                 struct evacuate_spares *s) {
    unsigned fit = e->tail ? TAILS_AT_ONCE_BYTES / slab_chunk_bytes(c->slab, class_id) : 1;
    unsigned want = fit < 1 ? 1 : fit < TAILS_AT_ONCE ? fit : TAILS_AT_ONCE;
    s->count =
        slab_has_free_chunk(c->slab, class_id) ? slab_take(c->slab, class_id, s->refs, want) : 0;
}

static void evacuate_evict_for_spare(struct cache_thread *ct, unsigned class_id,
                                     struct evacuate_spares *s) {
    s->refs[0] = evict_for_chunk(ct, class_id);
    s->count = s->refs[0] != 0;
}

/* The time of the last use of the class's next victim; UINT32_MAX: the class has no victim. */
static uint32_t evacuate_victim_used_s(struct cache *c, unsigned class_id) {
    uint32_t used_s = UINT32_MAX;
    for (unsigned i = 0; i < c->partition_count && i < VICTIM_PARTITIONS_MAX; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        const struct node *n = p->class_queues[class_id] != NULL
                                   ? evict_oldest(&p->class_queues[class_id]->queue)
                                   : NULL;
        if (n != NULL && node_used_s(n) < used_s) {
            used_s = node_used_s(n);
        }
        lock_release(&p->lock);
    }
    return used_s;
}

/* Makes a spare in a full cache: evicts from the class whose next victim is older. Makes none if
 * the evacuated item itself is the oldest, or if nothing can be evicted. */
static void evacuate_make_room(struct cache_thread *ct, const struct evacuee *e, unsigned *class_id,
                               struct evacuate_spares *s) {
    struct cache *c = ct->cache;
    uint32_t own_s = evacuate_victim_used_s(c, e->own),
             right_s = e->right != e->own ? evacuate_victim_used_s(c, e->right) : UINT32_MAX;
    *class_id = right_s <= own_s ? e->right : e->own;
    uint32_t oldest_s = right_s < own_s ? right_s : own_s;
    bool oldest = !e->tail && node_hits(&e->it->node) == 0 && node_used_s(&e->it->node) <= oldest_s;
    if (!oldest) {
        evacuate_evict_for_spare(ct, *class_id, s);
    }
}

static enum cache_moved evacuate_chunk(struct cache_thread *ct, uint32_t page, uint32_t chunk,
                                       unsigned how, unsigned *wanted) {
    struct cache *c = ct->cache;
    struct evacuee e;
    struct evacuate_spares s;
    enum cache_moved moved;
    bool may_evict = how & EVACUATE_EVICTS, by_size = how & EVACUATE_BY_SIZE;
    if (!evacuee_read(c, page, chunk, &e, &moved)) {
        return moved;
    }
    unsigned to_class = e.right;
    evacuate_take_spares(c, &e, e.right, &s);
    if (s.count == 0 && (may_evict || !by_size)) {
        to_class = e.own;
        if (e.own != e.right) {
            evacuate_take_spares(c, &e, e.own, &s);
        }
        if (s.count == 0 && by_size) {
            evacuate_make_room(ct, &e, &to_class, &s);
        } else if (s.count == 0 && may_evict && !e.tail && node_hits(&e.it->node) > 0) {
            /* an item that was read stays; the class's next victim goes instead */
            evacuate_evict_for_spare(ct, e.own, &s);
        }
    }
    if (wanted != NULL) {
        *wanted = to_class;
    }
    return evacuate_content(ct, &e, to_class, may_evict, &s);
}

enum cache_moved cache_evacuate(struct cache_thread *ct, uint32_t page, uint32_t chunk,
                                unsigned how, unsigned *wanted) {
    evacuate_prefetch(ct->cache, page, chunk);
    ct->refits = how & EVACUATE_BY_SIZE;
    enum cache_moved moved = evacuate_chunk(ct, page, chunk, how, wanted);
    ct->refits = false;
    return moved;
}
