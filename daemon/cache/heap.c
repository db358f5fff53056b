/* What the heap store needs of the cache: memory by eviction, and giving it back when nobody can see it any more.
 *
 * A reader without a lock may still read an item that was unlinked, and note its hit there with one byte. So memory is not
 * given back at once but retired: it waits in the thread's limbo until every other thread has left the turn it was in. That
 * is epoch-based reclamation with the turns' counters as epochs (Fraser, "Practical lock-freedom", 2004, section 5.2.3). A
 * limbo has an open part and a sealed one: the sealed part waits for the turns seen when it was sealed.
 *
 * A thread looks after its own limbo when it retires or needs memory. An idle one would keep what is in there counted for ever; so who
 * needs memory also gives back what threads have left that are not within a turn. */
#include "cache/partition.h"

#include <stdlib.h>

enum {
    LIMBO_BYTES = 64 << 10, /* an open limbo is sealed at so much … */
    LIMBO_ITEMS = 256,      /* … or so many */
    TRIES_A_TURN = 32,
};
#define LIMBO_WAIT_US 100000
#define HEAP_HOPELESS_US 100000  /* after a store was refused, others are at once */

/* --- limbos --- */

bool limbos_create(struct cache *c) {
    c->limbos = aligned_alloc(64, THREADS_MAX * sizeof *c->limbos);
    if (c->limbos == NULL) {
        return false;
    }
    memset(c->limbos, 0, THREADS_MAX * sizeof *c->limbos);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        lock_init(&c->limbos[i].lock);
    }
    return true;
}

void limbos_destroy(struct cache *c) {
    for (unsigned i = 0; c->limbos != NULL && i < THREADS_MAX; i++) {
        lock_fini(&c->limbos[i].lock);
    }
    free(c->limbos);
    c->limbos = NULL;
}

static void push(const struct cache *c, struct limbo *to, uint32_t ref, size_t bytes) {
    node_set_next(&item_at(c, ref)->node, to->first);
    to->first = ref;
    to->items++;
    to->bytes += bytes;
}

/* Leaves `from` empty. */
static void append(const struct cache *c, struct limbo *to, struct limbo *from) {
    if (to->first != 0 && from->first != 0) {
        struct item *last = item_at(c, from->first);
        while (node_next(&last->node) != 0) {
            last = item_at(c, node_next(&last->node));
        }
        node_set_next(&last->node, to->first);
    }
    to->first = from->first != 0 ? from->first : to->first;
    to->items += from->items;
    to->bytes += from->bytes;
    *from = (struct limbo){0};
}

static void limbo_free(const struct cache *c, struct limbo *l) {
    for (uint32_t ref = l->first; ref != 0;) {
        uint32_t next = node_next(&item_at(c, ref)->node);
        heap_give(c->heap, ref);
        ref = next;
    }
    *l = (struct limbo){0};
}

static void note_any_locked(struct limbos *l) {
    atomic_store_explicit(&l->any, l->open.items + l->sealed.items > 0, memory_order_relaxed);
}

static unsigned turn_number(const struct cache_thread *ct) { return (unsigned)(ct->turn - ct->cache->turns); }

/* The sealing thread holds nothing that is in there: it retired that itself, or holds nothing at all. */
static void seal_locked(struct cache_thread *ct, struct limbos *l) {
    assert(lock_held(&l->lock) && l->sealed.items == 0);
    l->sealed = l->open;
    l->open = (struct limbo){0};
    turns_look(ct->cache->turns, l->turns);
    l->turns[turn_number(ct)] = 0;
}

/* Whether every turn has ended that was under way when it was sealed. */
static bool ripe_locked(const struct cache *c, const struct limbos *l) {
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (turn_lasts(&c->turns[i], l->turns[i])) {
            return false;
        }
    }
    return true;
}

/* Gives back what may be given back without waiting. Returns whether there was any. */
static bool limbo_turn(struct cache_thread *ct, struct limbos *l) {
    const struct cache *c = ct->cache;
    struct limbo given = {0};
    lock_take(&l->lock);
    if (l->sealed.items > 0 && ripe_locked(c, l)) {
        append(c, &given, &l->sealed);
    }
    if (l->sealed.items == 0 && l->open.items > 0) {
        seal_locked(ct, l);
        if (ripe_locked(c, l)) {
            append(c, &given, &l->sealed);
        }
    }
    note_any_locked(l);
    lock_release(&l->lock);
    bool any = given.items > 0;
    limbo_free(c, &given);
    return any;
}

/* The next limbos in which a thread has left something that is not at work; NULL: there are none. */
static struct limbos *next_left(const struct cache_thread *ct, unsigned *i) {
    struct cache *c = ct->cache;
    unsigned used = atomic_load_explicit(&c->turns_used, memory_order_relaxed);
    while (*i < used) {
        unsigned n = (*i)++;
        if (atomic_load_explicit(&c->limbos[n].any, memory_order_relaxed) && !turn_is_under_way(&c->turns[n])) {
            return &c->limbos[n];
        }
    }
    return NULL;
}

/* The same for what others left. The caller holds no reference. */
static bool limbo_turn_left(struct cache_thread *ct) {
    bool any = false;
    struct limbos *l;
    for (unsigned i = 0; (l = next_left(ct, &i)) != NULL;) {
        any = limbo_turn(ct, l) || any;
    }
    return any;
}

static size_t limbo_bytes(const struct cache_thread *ct) {
    struct limbos *l = ct->limbos;
    lock_take(&l->lock);
    size_t bytes = l->open.bytes + l->sealed.bytes;
    lock_release(&l->lock);
    return bytes;
}

static void take_all(struct cache *c, struct limbos *l, struct limbo *to) {
    lock_take(&l->lock);
    append(c, to, &l->sealed);
    append(c, to, &l->open);
    note_any_locked(l);
    lock_release(&l->lock);
}

bool heap_reclaim(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    if (c->heap == NULL) {
        return false;
    }
    struct limbo all = {0};
    struct limbos *l;
    take_all(c, ct->limbos, &all);
    for (unsigned i = 0; (l = next_left(ct, &i)) != NULL;) {
        take_all(c, l, &all);
    }
    if (all.items == 0) {
        return false;
    }
    bool quiet = cache_quiesce(ct, LIMBO_WAIT_US);
    if (quiet) {
        limbo_free(c, &all);
    } else {
        lock_take(&ct->limbos->lock);
        append(c, &ct->limbos->open, &all);
        note_any_locked(ct->limbos);
        lock_release(&ct->limbos->lock);
    }
    return quiet;
}

/* --- retiring --- */

void limbo_add(struct cache_thread *ct, uint32_t ref, size_t bytes) {
    struct limbos *l = ct->limbos;
    lock_take(&l->lock);
    push(ct->cache, &l->open, ref, bytes);
    bool full = l->open.bytes >= LIMBO_BYTES || l->open.items >= LIMBO_ITEMS;
    note_any_locked(l);
    lock_release(&l->lock);
    if (full) {
        limbo_turn(ct, l); /* else later: whoever needs the memory waits for it */
    }
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
        if (limbo_turn(ct, ct->limbos) || limbo_turn_left(ct)) {
            continue;
        }
        if (limbo_bytes(ct) >= bytes + LIMBO_BYTES && heap_reclaim(ct)) {
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
