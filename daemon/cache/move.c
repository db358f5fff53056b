/* What the page mover needs of the cache: emptying a page, chunk by chunk, while everybody goes on reading and writing. */
#include "cache/partition.h"

#include <unistd.h>

enum { QUIESCE_LOOK_US = 20 };

void cache_drain_stocks(struct cache_thread *ct, uint32_t page) {
    struct cache *c = ct->cache;
    unsigned class_id = slab_page_class(c->slab, page);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        uint32_t given[STOCK_MAX];
        unsigned n = 0;
        lock_take(&p->lock);
        struct shelf *s = p->shelves[class_id];
        for (uint32_t j = 0; s != NULL && j < s->stock_count;) {
            if (arena_page_of_ref(c->arena, s->stock[j]) == page) {
                given[n++] = s->stock[j];
                s->stock[j] = s->stock[--s->stock_count];
            } else {
                j++;
            }
        }
        lock_release(&p->lock);
        while (n > 0) {
            slab_give(c->slab, given[--n]);
        }
    }
}

/* The key of a chunk that may be anything by now, copied so that it can be looked up. False: it cannot be an item. */
static bool copy_key_warily(const struct item *it, char *bytes, struct key *key) {
    uint8_t len = item_key_len(it);
    if (len == 0 || len > KEY_BYTES_MAX || item_state(it) != CHUNK_LINKED) {
        return false;
    }
    item_load_bytes(bytes, (const char *)it + item_key_offset(item_flags(it), item_value_bytes(it)), len);
    *key = key_make(bytes, len);
    return true;
}

/* A chunk for a copy: the partition's stock, then (taken before the lock) the class's; `spare` is 0 when neither has one. */
static uint32_t target_locked(struct partition *p, unsigned class_id, uint32_t *spare) {
    uint32_t ref = stock_pop_locked(p, class_id);
    if (ref == 0) {
        ref = *spare;
        *spare = 0;
    }
    return ref;
}

/* Copies a chunk's bytes; both chunks are of one class and the copy is not reachable yet. */
static void copy_chunk(struct item *to, const struct item *from, size_t bytes) {
    atomic_thread_fence(memory_order_release); /* as in item_init */
    const char *src = (const char *)from;
    char *dst = (char *)to;
    for (size_t i = sizeof(uint64_t); i < bytes; i += 8) { /* links come with evict_moved */
        atomic_store_explicit((_Atomic uint64_t *)(void *)(dst + i), item_word(src + i), memory_order_relaxed);
    }
}

static size_t bytes_in_use(const struct item *it) {
    return item_total_bytes(item_flags(it), item_key_len(it), item_value_bytes(it));
}

static void adopt_tails(const struct cache *c, struct item *it) {
    for (uint32_t ref = item_load32(item_chain(it)); ref != 0;) {
        struct tail *t = (void *)item_at(c, ref);
        item_store32(&t->head, ref_of_item(c, it));
        ref = tail_next(t);
    }
}

/* Gives an item a new chunk. It keeps its place in the queue. The old chunk goes back, or stays LOOSE while it is borrowed. */
static void relocate_locked(struct cache_thread *ct, struct partition *p, const struct key *key, struct item *it,
                            struct item *to) {
    struct cache *c = ct->cache;
    struct shelf *shelf = p->shelves[cache_item_class(c, it)];
    copy_chunk(to, it, bytes_in_use(it));
    if (item_large(to)) {
        atomic_store_explicit(item_refs(to), 1, memory_order_relaxed);
    }
    evict_moved(&shelf->queue, &it->node, &to->node);
    index_replace(&p->index, key->hash, ref_of_item(c, it), ref_of_item(c, to));
    if (item_flags(to) & ITEM_CHAINED) {
        adopt_tails(c, to);
        item_set_flags(it, item_flags(it) & (unsigned)~ITEM_CHAINED); /* the tails are the new one's */
    }
    item_set_state(it, CHUNK_LOOSE);
    if (!item_large(to)) {
        stock_push_locked(ct, p, ref_of_item(c, it));
    } else if (atomic_fetch_sub_explicit(item_refs(it), 1, memory_order_acq_rel) == 1) {
        node_set_next(&it->node, ct->doomed != NULL ? ref_of_item(c, ct->doomed) : 0);
        ct->doomed = it;
    }
}

static bool borrowed(struct item *it) {
    return item_large(it) && atomic_load_explicit(item_refs(it), memory_order_acquire) > 1;
}

/* Drops an item to empty its page. */
static enum cache_moved drop_locked(struct cache_thread *ct, struct partition *p, const struct key *key, struct item *it) {
    bool busy = borrowed(it);
    count_eviction(ct, it, cache_item_class(ct->cache, it));
    unlink_locked(ct, p, key->hash, it);
    return busy ? CACHE_MOVED_BUSY : CACHE_MOVED_EVICTED;
}

static enum cache_moved evacuate_item(struct cache_thread *ct, unsigned class_id, struct item *it, bool may_evict,
                                      uint32_t *spare) {
    struct cache *c = ct->cache;
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (!copy_key_warily(it, bytes, &key)) {
        return CACHE_MOVED_BUSY;
    }
    struct partition *p = partition_of(c, key.hash);
    enum cache_moved moved;
    lock_take(&p->lock);
    if (index_find(&p->index, &key, NULL) != ref_of_item(c, it)) {
        moved = CACHE_MOVED_BUSY; /* it changed while we looked; the caller looks again */
    } else if (cache_item_dead(c, it, ct->now_s)) {
        bool busy = borrowed(it);
        unlink_locked(ct, p, key.hash, it);
        moved = busy ? CACHE_MOVED_BUSY : CACHE_MOVED_EXPIRED;
    } else if (item_flags(it) & ITEM_CHAINED && borrowed(it)) {
        moved = CACHE_MOVED_BUSY; /* a reader finds the tails through this chunk */
    } else {
        uint32_t ref = target_locked(p, class_id, spare);
        if (ref != 0) {
            bool busy = borrowed(it);
            relocate_locked(ct, p, &key, it, item_at(c, ref));
            moved = busy ? CACHE_MOVED_BUSY : CACHE_MOVED_RESCUED;
        } else {
            moved = may_evict ? drop_locked(ct, p, &key, it) : CACHE_MOVED_NO_ROOM;
        }
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    return moved;
}

/* Points the link to a tail, which is in the head or in the tail before, at its copy. */
static void relink_tail(const struct cache *c, struct item *head, uint32_t from, uint32_t to) {
    if (item_load32(item_chain(head)) == from) {
        item_store32(item_chain(head), to);
        return;
    }
    for (uint32_t ref = item_load32(item_chain(head)); ref != 0;) {
        struct tail *t = (void *)item_at(c, ref);
        if (tail_next(t) == from) {
            item_store32(&t->next, to);
            return;
        }
        ref = tail_next(t);
    }
}

static bool chain_has(const struct cache *c, struct item *head, uint32_t wanted) {
    for (uint32_t ref = item_load32(item_chain(head)); ref != 0; ref = tail_next((void *)item_at(c, ref))) {
        if (ref == wanted) {
            return true;
        }
    }
    return false;
}

/* Whether a reference read from a chunk that may be anything lies on a chunk of some class. */
static bool plausible_ref(const struct cache *c, uint32_t ref) {
    const char *at = node_at(&c->arena->space, ref);
    if (ref == 0 || at < c->arena->pages || at >= c->arena->pages + ((size_t)c->arena->page_max << PAGE_SHIFT)) {
        return false;
    }
    uint32_t page = arena_page_of(c->arena, at);
    uint32_t chunk_bytes = atomic_load_explicit(&slab_page(c->slab, page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes != 0 && (size_t)(at - arena_page_start(c->arena, page)) % chunk_bytes == 0;
}

static enum cache_moved evacuate_tail(struct cache_thread *ct, struct tail *t, bool may_evict, uint32_t *spare) {
    struct cache *c = ct->cache;
    uint32_t head_ref = item_load32(&t->head), ref = ref_of_item(c, t);
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (!plausible_ref(c, head_ref) || !copy_key_warily(item_at(c, head_ref), bytes, &key)) {
        return CACHE_MOVED_BUSY;
    }
    struct item *head = item_at(c, head_ref);
    struct partition *p = partition_of(c, key.hash);
    enum cache_moved moved;
    lock_take(&p->lock);
    if (index_find(&p->index, &key, NULL) != head_ref || !(item_flags(head) & ITEM_CHAINED) || !chain_has(c, head, ref) ||
        borrowed(head)) {
        moved = CACHE_MOVED_BUSY;
    } else if (cache_item_dead(c, head, ct->now_s)) {
        unlink_locked(ct, p, key.hash, head);
        moved = CACHE_MOVED_EXPIRED;
    } else if (*spare != 0) {
        struct tail *to = (void *)item_at(c, *spare);
        copy_chunk((struct item *)(void *)to, (const struct item *)(const void *)t, TAIL_HEADER + item_load32(&t->used_bytes));
        item_store32(&to->next, tail_next(t));
        item_store32(&to->head, head_ref);
        relink_tail(c, head, ref, *spare);
        atomic_store_explicit(&t->flags, CHUNK_LOOSE, memory_order_relaxed);
        *spare = ref; /* given back by the caller */
        moved = CACHE_MOVED_CHUNK;
    } else {
        moved = may_evict ? drop_locked(ct, p, &key, head) : CACHE_MOVED_NO_ROOM;
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    return moved;
}

enum cache_moved cache_evacuate(struct cache_thread *ct, uint32_t page, uint32_t chunk, bool may_evict) {
    struct cache *c = ct->cache;
    struct item *it = slab_page_chunk(c->slab, page, chunk);
    if (it == NULL) {
        return CACHE_MOVED_FREE;
    }
    switch (item_state(it)) {
    case CHUNK_FREE: return CACHE_MOVED_FREE;
    case CHUNK_DRAFT:
    case CHUNK_LOOSE: return CACHE_MOVED_BUSY;
    case CHUNK_LINKED: break;
    }
    unsigned class_id = slab_page_class(c->slab, page);
    uint32_t spare = 0;
    bool tail = item_key_len(it) == 0;
    if (slab_has_free_chunk(c->slab, class_id)) {
        slab_take(c->slab, class_id, &spare, 1);
    } else if (may_evict && !tail && node_hits(&it->node) > 0) {
        spare = chunk_by_eviction(ct, class_id); /* what was read stays, at the cost of the class's next victim */
    }
    enum cache_moved moved =
        tail ? evacuate_tail(ct, (struct tail *)(void *)it, may_evict, &spare) : evacuate_item(ct, class_id, it, may_evict, &spare);
    if (spare != 0) {
        slab_give(c->slab, spare);
    }
    return moved;
}

bool cache_quiesce(struct cache_thread *ct, uint64_t deadline_us) {
    struct cache *c = ct->cache;
    uint64_t seen[THREADS_MAX], start_us = clock_mono_us();
    uint64_t mine = atomic_load_explicit(&ct->turn->n, memory_order_relaxed);
    if (mine & 1) {
        atomic_store_explicit(&ct->turn->n, mine + 1, memory_order_seq_cst); /* we hold nothing: nobody need wait for us */
    }
    atomic_thread_fence(memory_order_seq_cst); /* the page's items were unlinked before we look who is at work */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        seen[i] = atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst);
    }
    bool quiet = true;
    for (unsigned i = 0; i < THREADS_MAX && quiet; i++) {
        while (seen[i] & 1 && atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst) == seen[i] && quiet) {
            quiet = clock_mono_us() - start_us < deadline_us;
            usleep(QUIESCE_LOOK_US);
        }
    }
    if (mine & 1) {
        atomic_store_explicit(&ct->turn->n, mine + 2, memory_order_seq_cst);
    }
    return quiet;
}
