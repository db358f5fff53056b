#include "cache/alloc/deferred_free.h"

#include <stdlib.h>

#include "cache/pages/epoch_turn.h"

enum {
    LIMBO_ITEMS = 256, /* items, or LIMBO_BYTES, at which an open limbo is sealed */
    LIMBO_WAIT_US = 100000,
};

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

/* Moves everything to another limbo; `from` is empty afterwards. */
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
        heap_release(c->heap, ref);
        ref = next;
    }
    *l = (struct limbo){0};
}

static void note_any_locked(struct limbos *l) {
    atomic_store_explicit(&l->any, l->open.items + l->sealed.items > 0, memory_order_relaxed);
}

static unsigned turn_number(const struct cache_thread *ct) {
    return (unsigned)(ct->turn - ct->cache->turns);
}
static struct limbos *own_limbos(const struct cache_thread *ct) {
    return &ct->cache->limbos[turn_number(ct)];
}

/* Whether all turns have ended that were under way when the limbo was sealed. */
static bool ripe_locked(const struct cache *c, const struct limbos *l) {
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (turn_lasts(&c->turns[i], l->turns[i])) {
            return false;
        }
    }
    return true;
}

/* Gives back what can be given back without waiting. Returns whether anything was. */
static bool limbo_tend(struct cache_thread *ct, struct limbos *l) {
    const struct cache *c = ct->cache;
    struct limbo given = {0};
    lock_take(&l->lock);
    if (l->sealed.items > 0 && ripe_locked(c, l)) {
        append(c, &given, &l->sealed);
    }
    if (l->sealed.items == 0 && l->open.items > 0) {
        /* The calling thread's own turn is left out: it retired these items itself and holds no
         * reference to them, or it holds no reference at all. */
        l->sealed = l->open;
        l->open = (struct limbo){0};
        turns_look(c->turns, l->turns);
        l->turns[turn_number(ct)] = 0;
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

/* The next limbo that is not empty and whose thread is not within a turn; NULL: there is none. */
static struct limbos *next_left(const struct cache_thread *ct, unsigned *i) {
    struct cache *c = ct->cache;
    unsigned used = atomic_load_explicit(&c->turns_used, memory_order_relaxed);
    while (*i < used) {
        unsigned n = (*i)++;
        if (atomic_load_explicit(&c->limbos[n].any, memory_order_relaxed) &&
            !turn_is_under_way(&c->turns[n])) {
            return &c->limbos[n];
        }
    }
    return NULL;
}

bool limbo_give(struct cache_thread *ct) {
    bool any = limbo_tend(ct, own_limbos(ct));
    struct limbos *l;
    for (unsigned i = 0; !any && (l = next_left(ct, &i)) != NULL;) {
        any = limbo_tend(ct, l);
    }
    return any;
}

size_t limbo_bytes(const struct cache_thread *ct) {
    struct limbos *l = own_limbos(ct);
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
    struct limbo all = {0};
    struct limbos *own = own_limbos(ct), *l;
    take_all(c, own, &all);
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
        lock_take(&own->lock);
        append(c, &own->open, &all);
        note_any_locked(own);
        lock_release(&own->lock);
    }
    return quiet;
}

/* --- retiring --- */

void limbo_add(struct cache_thread *ct, uint32_t ref, size_t bytes) {
    struct limbos *l = own_limbos(ct);
    lock_take(&l->lock);
    node_set_next(&item_at(ct->cache, ref)->node, l->open.first);
    l->open.first = ref;
    l->open.items++;
    l->open.bytes += bytes;
    bool full = l->open.bytes >= LIMBO_BYTES || l->open.items >= LIMBO_ITEMS;
    note_any_locked(l);
    lock_release(&l->lock);
    if (full) {
        /* if it cannot be given back now, whoever needs the memory waits for it later */
        limbo_tend(ct, l);
    }
}

static void keep(struct cache *c, struct limbo_kept *k, uint32_t ref, size_t bytes) {
    struct item *it = item_at(c, ref);
    uint32_t *first = &k->first[(size_t)((char *)it - c->arena->pages) >> LIMBO_UNIT_SHIFT];
    node_set_next(&it->node, *first);
    *first = ref;
    k->cap_bytes -= bytes < k->cap_bytes ? bytes : k->cap_bytes - 1; /* a cap of 0 would be none */
    heap_set_cap(c->heap, k->cap_bytes);
}

void heap_retire(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    assert(lock_none_held());
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = heap_bytes_of(ct->cache->heap, refs[i]);
        item_set_flags(item_at(ct->cache, refs[i]), CHUNK_FREE);
        heap_note_retired(ct->cache->heap, bytes);
        if (ct->kept != NULL) {
            keep(ct->cache, ct->kept, refs[i], bytes);
        } else {
            limbo_add(ct, refs[i], bytes);
        }
    }
}
