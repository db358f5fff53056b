/* What the heap store needs of the cache: memory by eviction, and giving it back when nobody can see it any more.
 *
 * A reader without a lock may still read an item that was unlinked, and note its hit there with one byte. So memory is not
 * given back at once but retired: it waits in the thread's limbo until every other thread has left the turn it was in. That
 * is epoch-based reclamation with the turns' counters as epochs (Fraser, "Practical lock-freedom", 2004, section 5.2.3). A
 * limbo has an open part and a sealed one: the sealed part waits for the turns seen when it was sealed. */
#include "cache/partition.h"

enum {
    LIMBO_BYTES = 64 << 10, /* an open limbo is sealed at so much … */
    LIMBO_ITEMS = 256,      /* … or so many */
    TRIES_A_TURN = 32,
};
#define LIMBO_WAIT_US 100000
#define HEAP_HOPELESS_US 100000  /* after a store was refused, others are at once */

/* --- retiring --- */

void limbo_add(struct cache_thread *ct, uint32_t ref, size_t bytes) {
    struct limbo *open = &ct->limbo_open;
    node_set_next(&item_at(ct->cache, ref)->node, open->first);
    open->first = ref;
    open->items++;
    open->bytes += bytes;
}

static void limbo_free(struct cache_thread *ct, struct limbo *l) {
    for (uint32_t ref = l->first; ref != 0;) {
        uint32_t next = node_next(&item_at(ct->cache, ref)->node);
        heap_give(ct->cache->heap, ref);
        ref = next;
    }
    *l = (struct limbo){0};
}

static void limbo_seal(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    ct->limbo_sealed = ct->limbo_open;
    ct->limbo_open = (struct limbo){0};
    atomic_thread_fence(memory_order_seq_cst); /* unlinked before we look who is at work; pairs with cache_turn_begin */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        bool mine = &c->turns[i] == ct->turn; /* it holds nothing it has retired */
        ct->limbo_turns[i] = mine ? 0 : atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst);
    }
}

/* Whether every turn has ended that was under way when the limbo was sealed. */
static bool limbo_ripe(const struct cache_thread *ct) {
    const struct cache *c = ct->cache;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (ct->limbo_turns[i] & 1 && atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst) == ct->limbo_turns[i]) {
            return false;
        }
    }
    return true;
}

/* Gives back what may be given back without waiting. Returns whether there was any. */
static bool limbo_turn(struct cache_thread *ct) {
    bool freed = ct->limbo_sealed.items > 0 && limbo_ripe(ct);
    if (freed) {
        limbo_free(ct, &ct->limbo_sealed);
    }
    if (ct->limbo_sealed.items == 0 && ct->limbo_open.items > 0) {
        limbo_seal(ct);
        if (limbo_ripe(ct)) {
            limbo_free(ct, &ct->limbo_sealed);
            freed = true;
        }
    }
    return freed;
}

bool heap_reclaim(struct cache_thread *ct) {
    if (ct->limbo_open.items + ct->limbo_sealed.items == 0 || !cache_quiesce(ct, LIMBO_WAIT_US)) {
        return false;
    }
    limbo_free(ct, &ct->limbo_sealed);
    limbo_free(ct, &ct->limbo_open);
    return true;
}

void heap_retire(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    assert(lock_none_held());
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = heap_bytes_of(ct->cache->heap, refs[i]);
        item_set_flags(item_at(ct->cache, refs[i]), CHUNK_FREE);
        heap_retired(ct->cache->heap, bytes);
        if (ct->shrink != NULL) {
            shrink_keep(ct->shrink, refs[i], bytes);
        } else {
            limbo_add(ct, refs[i], bytes);
        }
    }
    if (ct->limbo_open.bytes >= LIMBO_BYTES || ct->limbo_open.items >= LIMBO_ITEMS) {
        limbo_turn(ct); /* else later: whoever needs the memory waits for it */
    }
}

/* --- taking --- */

/* Nothing is left to evict: what others hold for a moment, drafts and values on their way to clients, may come back. */
static bool worth_waiting(struct cache_thread *ct, uint64_t *give_up_us) {
    struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us();
    if (now_us < atomic_load_explicit(&c->hopeless_until_us, memory_order_relaxed)) {
        return false; /* somebody has just waited in vain */
    }
    *give_up_us = *give_up_us != 0 ? *give_up_us : now_us + (c->config.evict ? c->config.patience_us : 0);
    heap_trim(c->heap);
    if (now_us >= *give_up_us) {
        atomic_store_explicit(&c->hopeless_until_us, now_us + HEAP_HOPELESS_US, memory_order_relaxed);
        return false;
    }
    turn_rest(ct);
    return true;
}

uint32_t heap_obtain(struct cache_thread *ct, struct partition *p, size_t bytes) {
    struct cache *c = ct->cache;
    uint64_t give_up_us = 0;
    unsigned tries = 0;
    uint32_t ref;
    while ((ref = heap_take(c->heap, bytes)) == 0) {
        if (++tries % TRIES_A_TURN == 0) { /* others wait for our turn to end, and what is evicted may make no room for long */
            cache_turn_end(ct);
            cache_turn_begin(ct);
        }
        if (limbo_turn(ct)) {
            continue;
        }
        size_t limbo_bytes = ct->limbo_open.bytes + ct->limbo_sealed.bytes;
        if (limbo_bytes >= bytes + LIMBO_BYTES && heap_reclaim(ct)) {
            continue; /* enough for now was evicted: it is only to be waited for */
        }
        if (c->config.evict && evict_any(ct, p, HEAP_CLASS)) {
            continue;
        }
        if (!heap_reclaim(ct) && !worth_waiting(ct, &give_up_us)) {
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
    if (c->wake != NULL && c->config.evict && h.held_bytes > h.limit_bytes) { /* there is somebody who shrinks it */
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
