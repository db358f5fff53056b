#include "cache/alloc/deferred_free.h"

#include <stdlib.h>

#include "cache/pages/epoch_turn.h"

enum {
    DEFERRED_ITEMS = 256, /* an open list of so many items, or DEFERRED_BYTES, is sealed */
    DEFERRED_WAIT_US = 100000,
};

bool deferred_free_create(struct cache *c) {
    c->deferred = aligned_alloc(64, THREADS_MAX * sizeof *c->deferred);
    if (c->deferred == NULL) {
        return false;
    }
    memset(c->deferred, 0, THREADS_MAX * sizeof *c->deferred);
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        lock_init(&c->deferred[i].lock);
    }
    return true;
}

void deferred_free_destroy(struct cache *c) {
    for (unsigned i = 0; c->deferred != NULL && i < THREADS_MAX; i++) {
        lock_fini(&c->deferred[i].lock);
    }
    free(c->deferred);
    c->deferred = NULL;
}

/* Moves all items of `from` to another list. */
static void deferred_append(const struct cache *c, struct deferred_list *to,
                            struct deferred_list *from) {
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
    *from = (struct deferred_list){0};
}

static void deferred_free_list(const struct cache *c, struct deferred_list *l) {
    for (uint32_t ref = l->first; ref != 0;) {
        uint32_t next = node_next(&item_at(c, ref)->node);
        heap_release(c->heap, ref);
        ref = next;
    }
    *l = (struct deferred_list){0};
}

static void deferred_note_any_locked(struct deferred_free *l) {
    atomic_store_explicit(&l->any, l->open.items + l->sealed.items > 0, memory_order_relaxed);
}

static unsigned deferred_turn_number(const struct cache_thread *ct) {
    return (unsigned)(ct->turn - ct->cache->turns);
}
static struct deferred_free *deferred_own(const struct cache_thread *ct) {
    return &ct->cache->deferred[deferred_turn_number(ct)];
}

/* True once all turns have ended that were under way when the list was sealed. */
static bool deferred_is_ready_locked(const struct cache *c, const struct deferred_free *l) {
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (turn_lasts(&c->turns[i], l->turns[i])) {
            return false;
        }
    }
    return true;
}

/* Frees what can be freed without waiting. Returns true if anything was freed. */
static bool deferred_release_ready(struct cache_thread *ct, struct deferred_free *l) {
    const struct cache *c = ct->cache;
    struct deferred_list ready = {0};
    lock_take(&l->lock);
    if (l->sealed.items > 0 && deferred_is_ready_locked(c, l)) {
        deferred_append(c, &ready, &l->sealed);
    }
    if (l->sealed.items == 0 && l->open.items > 0) {
        /* The calling thread's own turn is left out: this thread retired the items itself and holds
         * no reference to them, or holds no reference at all. */
        l->sealed = l->open;
        l->open = (struct deferred_list){0};
        turns_read(c->turns, l->turns);
        l->turns[deferred_turn_number(ct)] = 0;
        if (deferred_is_ready_locked(c, l)) {
            deferred_append(c, &ready, &l->sealed);
        }
    }
    deferred_note_any_locked(l);
    lock_release(&l->lock);
    bool any = ready.items > 0;
    deferred_free_list(c, &ready);
    return any;
}

/* The next non-empty lists of a thread outside a turn; NULL: none. */
static struct deferred_free *deferred_next_idle(const struct cache_thread *ct, unsigned *i) {
    struct cache *c = ct->cache;
    unsigned used = atomic_load_explicit(&c->turns_used, memory_order_relaxed);
    while (*i < used) {
        unsigned n = (*i)++;
        if (atomic_load_explicit(&c->deferred[n].any, memory_order_relaxed) &&
            !turn_is_under_way(&c->turns[n])) {
            return &c->deferred[n];
        }
    }
    return NULL;
}

bool deferred_free_release(struct cache_thread *ct) {
    bool any = deferred_release_ready(ct, deferred_own(ct));
    struct deferred_free *l;
    for (unsigned i = 0; !any && (l = deferred_next_idle(ct, &i)) != NULL;) {
        any = deferred_release_ready(ct, l);
    }
    return any;
}

size_t deferred_free_bytes(const struct cache_thread *ct) {
    struct deferred_free *l = deferred_own(ct);
    lock_take(&l->lock);
    size_t bytes = l->open.bytes + l->sealed.bytes;
    lock_release(&l->lock);
    return bytes;
}

static void deferred_take_all(struct cache *c, struct deferred_free *l, struct deferred_list *to) {
    lock_take(&l->lock);
    deferred_append(c, to, &l->sealed);
    deferred_append(c, to, &l->open);
    deferred_note_any_locked(l);
    lock_release(&l->lock);
}

bool deferred_free_wait(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    struct deferred_list all = {0};
    struct deferred_free *own = deferred_own(ct), *l;
    deferred_take_all(c, own, &all);
    for (unsigned i = 0; (l = deferred_next_idle(ct, &i)) != NULL;) {
        deferred_take_all(c, l, &all);
    }
    if (all.items == 0) {
        return false;
    }
    bool quiet = cache_quiesce(ct, DEFERRED_WAIT_US);
    if (quiet) {
        deferred_free_list(c, &all);
    } else {
        lock_take(&own->lock);
        deferred_append(c, &own->open, &all);
        deferred_note_any_locked(own);
        lock_release(&own->lock);
    }
    return quiet;
}

/* --- retiring --- */

void deferred_free_add(struct cache_thread *ct, uint32_t ref, size_t bytes) {
    struct deferred_free *l = deferred_own(ct);
    lock_take(&l->lock);
    node_set_next(&item_at(ct->cache, ref)->node, l->open.first);
    l->open.first = ref;
    l->open.items++;
    l->open.bytes += bytes;
    bool full = l->open.bytes >= DEFERRED_BYTES || l->open.items >= DEFERRED_ITEMS;
    deferred_note_any_locked(l);
    lock_release(&l->lock);
    if (full) {
        /* if nothing can be freed now, a thread that needs the memory waits later */
        deferred_release_ready(ct, l);
    }
}

static void deferred_hold(struct cache *c, struct deferred_held *k, uint32_t ref, size_t bytes) {
    struct item *it = item_at(c, ref);
    uint32_t *first = &k->first[(size_t)((char *)it - c->arena->pages) >> DEFERRED_UNIT_SHIFT];
    node_set_next(&it->node, *first);
    *first = ref;
    k->cap_bytes -= bytes < k->cap_bytes ? bytes : k->cap_bytes - 1; /* a cap of 0 would be none */
    heap_set_cap(c->heap, k->cap_bytes);
}

void deferred_free_retire(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    assert(lock_none_held());
    for (unsigned i = 0; i < count; i++) {
        size_t bytes = heap_bytes_of(ct->cache->heap, refs[i]);
        item_set_flags(item_at(ct->cache, refs[i]), CHUNK_FREE);
        heap_note_retired(ct->cache->heap, bytes);
        if (ct->held != NULL) {
            deferred_hold(ct->cache, ct->held, refs[i], bytes);
        } else {
            deferred_free_add(ct, refs[i], bytes);
        }
    }
}
