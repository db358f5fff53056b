/* Allocates a chunk for the slab store and the block store by any means: from the class's free
 * lists or the pool, by eviction and, as the last resort, from a page of another class. Memory is
 * taken before a partition is locked and released after, so a thread holds one lock at a time. */
#include "cache/alloc/chunk_alloc.h"

#include "base/clock.h"
#include "cache/alloc/evict_one.h"
#include "cache/alloc/magazine.h"
#include "cache/items/pinned.h"
#include "cache/pages/assist.h"
#include "cache/pages/epoch_turn.h"

/* Takes a free chunk of the class. While the class's lock is warm, also fills the partition's
 * magazine, unless the chunk is for a large value. */
static uint32_t chunk_take_free(struct cache_thread *ct, struct partition *p, unsigned class_id,
                                bool large) {
    struct cache *c = ct->cache;
    uint32_t refs[1 + MAGAZINE_MAX];
    unsigned got = slab_take(c->slab, class_id, refs, large ? 1u : 1u + c->magazine_most[class_id]);
    if (got == 0) {
        return 0;
    }
    if (got > 1) {
        lock_take(&p->lock);
        if (class_queue_locked(c, p, class_id) != NULL) {
            while (got > 1) {
                magazine_push_locked(ct, p, refs[--got]);
            }
        }
        lock_release(&p->lock);
        while (got > 1) {
            slab_release(c->slab, refs[--got]);
        }
        magazine_settle(ct);
    }
    return refs[0];
}

/* The class to take a chunk of. While the thread paused outside its turn, the geometry may have
 * changed, and the id may be another class's now. */
static unsigned chunk_serving_class(const struct cache *c, unsigned class_id,
                                    uint32_t chunk_bytes) {
    bool serves = slab_class_state(c->slab, class_id) == SLAB_CLASS_ACTIVE &&
                  slab_chunk_bytes(c->slab, class_id) == chunk_bytes;
    return serves ? class_id : slab_class_of(c->slab, chunk_bytes);
}

/* --- a page of another class; or a chunk of the class's own pages, where pages never change
 * classes (no_slab_reassign) --- */

enum {
    /* no set tries again for this long after a failure: slow clients hold the pages */
    STEAL_PAUSE_US = 5000,
};

/* The donor: the class with the most pages, at least `least_pages`, outside `refused`.
 * control/pages/choose_class.c compares the values of pages instead. That samples up to 1,300
 * chunks, too slow here: a set waits. */
static unsigned alloc_richest_class(const struct cache *c, const struct class_set *refused,
                                    uint32_t least_pages) {
    unsigned best = SLAB_CLASS_NONE;
    uint32_t most = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        uint32_t pages = slab_pages_beyond(c->slab, i, 0);
        if (!class_set_has(refused, i) && pages >= least_pages && pages > most) {
            best = i;
            most = pages;
        }
    }
    return best;
}

/* Empties one page of the donor in one pass, drops its live items, and hands the page over. False:
 * something in the page is in use, and the page went back; then *in_vain is set if items were
 * dropped. */
static bool alloc_steal_page(struct cache_thread *ct, uint32_t page, unsigned donor,
                             uint32_t min_left, unsigned class_id, bool *in_vain) {
    struct cache *c = ct->cache;
    struct moving_page m;
    struct page_driver d = {.ct = ct, .step_bytes = PAGE_BYTES, .at_once = true};
    uint64_t start_us = clock_mono_us();
    if (cache_page_in_use(c, page) || !page_move_begin(&m, ct, page, donor, class_id, min_left)) {
        return false;
    }
    if (m.state == PAGE_MOVE_EMPTYING) {
        page_move_step(&m, &d);
    }
    if (!page_move_finish(&m, ct, clock_mono_us() + PAGE_WAIT_US)) {
        *in_vain = d.did.evicted > 0;
        return false;
    }
    COUNT(ct, page_steals);
    if (c->stolen != NULL) {
        struct cache_steal stolen = {.from_class = donor,
                                     .to_class = class_id,
                                     .did = d.did,
                                     .duration_us = clock_mono_us() - start_us};
        c->stolen(c->stolen_arg, &stolen);
    }
    return true;
}

/* Tries the donor's pages, the cheapest first. Stops after a page that was emptied in vain: that
 * page is the cheapest the next time. */
static bool alloc_steal_from(struct cache_thread *ct, unsigned donor, uint32_t min_left,
                             unsigned class_id, bool *in_vain) {
    uint32_t pages[CACHE_CHOOSE_MAX];
    unsigned n = cache_choose_pages(ct, donor, PICK_LEAST_VALUE, pages, CACHE_CHOOSE_MAX);
    bool got = false;
    for (unsigned i = 0; i < n && !got && !*in_vain; i++) {
        got = alloc_steal_page(ct, pages[i], donor, min_left, class_id, in_vain);
    }
    return got;
}

/* Tries the retired classes first, because their pages have to leave them anyway. */
static bool alloc_steal_from_retired(struct cache_thread *ct, unsigned class_id, bool *in_vain) {
    const struct slab *slab = ct->cache->slab;
    bool got = false;
    for (unsigned i = 1; i <= slab->class_count && !got && !*in_vain; i++) {
        got = i != class_id && slab_class_state(slab, i) == SLAB_CLASS_RETIRED &&
              alloc_steal_from(ct, i, 0, class_id, in_vain);
    }
    return got;
}

/* Takes a page from a retired class, or from the richest class whose pages are not all in use. If
 * no class has more than one page, the receiver's first page may go over the limit, as in
 * memcached: with more classes than pages, classes would take the last page from each other at
 * nearly every set. The tuner takes that page back when a class can spare one. When the reserve is
 * used up, last pages are taken too. */
static bool alloc_steal_from_richest(struct cache_thread *ct, unsigned class_id) {
    bool in_vain = false;
    if (alloc_steal_from_retired(ct, class_id, &in_vain) || in_vain) {
        return !in_vain;
    }
    for (uint32_t least_pages = 2; least_pages > 0; least_pages--) {
        struct class_set refused = class_set_one(class_id);
        unsigned donor;
        while ((donor = alloc_richest_class(ct->cache, &refused, least_pages)) != SLAB_CLASS_NONE) {
            if (alloc_steal_from(ct, donor, least_pages - 1, class_id, &in_vain) || in_vain) {
                return !in_vain;
            }
            class_set_add(&refused, donor);
        }
        if (least_pages > 1 && slab_grow_first(ct->cache->slab, class_id)) {
            return true;
        }
    }
    return false;
}

/* Frees a chunk in the class's own pages: a chunk of a magazine, or else a piece of a value in the
 * queue of another class. That value is dropped. */
static bool alloc_free_own_chunk(struct cache_thread *ct, unsigned class_id) {
    const struct slab *slab = ct->cache->slab;
    uint32_t pages[CACHE_CHOOSE_MAX];
    unsigned n = cache_choose_pages(ct, class_id, PICK_LEAST_VALUE, pages, CACHE_CHOOSE_MAX);
    for (unsigned i = 0; i < n && !slab_has_free(slab, class_id); i++) {
        magazines_release_page(ct, pages[i]);
        for (uint32_t chunk = 0;
             !slab_has_free(slab, class_id) && slab_page_chunk(slab, pages[i], chunk) != NULL;
             chunk++) {
            cache_evacuate(ct, pages[i], chunk, EVACUATE_EVICTS, NULL);
        }
    }
    return slab_has_free(slab, class_id);
}

/* Takes a page of another class. After a failure the next try comes later, for the same pages would
 * be in the way again. */
static bool alloc_steal_after_pause(struct cache_thread *ct, unsigned class_id) {
    struct cache *c = ct->cache;
    if (!c->config.steal_pages || clock_mono_us() < c->steal_again_us) {
        return false;
    }
    bool got = alloc_steal_from_richest(ct, class_id);
    c->steal_again_us = got ? 0 : clock_mono_us() + STEAL_PAUSE_US;
    return got;
}

/* Empties a page for the class and drops its items. Without slab_reassign, lets the class's first
 * page go over the limit, or frees a chunk of the class. False: no page could be had, or another
 * thread is stealing. No reference is held: the call may wait outside the turn. */
static bool alloc_steal(struct cache_thread *ct, unsigned class_id) {
    struct cache *c = ct->cache;
    if (atomic_exchange_explicit(&c->stealing, true, memory_order_acquire)) {
        return false;
    }
    bool got = slab_has_free(c->slab, class_id) || alloc_steal_after_pause(ct, class_id) ||
               slab_grow_first(c->slab, class_id) ||
               (!c->config.steal_pages && alloc_free_own_chunk(ct, class_id));
    atomic_store_explicit(&c->stealing, false, memory_order_release);
    return got;
}

/* --- all means --- */

/* A store's search for a chunk. */
struct chunk_search {
    struct cache_thread *ct;
    unsigned             class_id;
    bool                 large;
    bool                 assisted;     /* the search has worked on pages that the mover wants */
    /* the deadline of the search, see turn_wait_left; 0: not set yet */
    uint64_t             deadline_us;
    uint32_t             ref;        /* chunk freed by an eviction; 0: none */
};

/* The means, in this order, when the class has no free chunk; 3 and 5 end at the deadline:
 *
 * 1. where nothing may be evicted: the class's first page, over the limit;
 * 2. a part of the work on a page that the mover wants for the class;
 * 3. the next victim of the class;
 * 4. a page of another class, unless slow readers hold much memory;
 * 5. a pause: uploads, values that are being sent and pages on the move may become free.
 *
 * Returns true if memory may be free now; other threads may take it first. */
static bool alloc_free_chunk(struct chunk_search *s) {
    struct cache *c = s->ct->cache;
    if (!may_evict(c, s->class_id)) {
        return slab_grow_first(c->slab, s->class_id);
    }
    if (s->large && c->store->one_class && pinned_are_much(c)) {
        return false;
    }
    if (!s->assisted && assist_is_wanted(c, s->class_id)) {
        s->assisted = true;
        assist_pages(s->ct, s->class_id);
        return true;
    }
    bool draining;
    /* while all of its pages are on the move, an evicted chunk does not return to the class */
    if (slab_pages_beyond(c->slab, s->class_id, 0) > 0 &&
        evict_somewhere(s->ct, s->class_id, &s->ref, &draining)) {
        if (atomic_load_explicit(&c->starved_on_evict, memory_order_relaxed)) {
            evict_note_starved(c, s->class_id);
        }
        return turn_wait_left(s->ct, &s->deadline_us);
    }
    if (pinned_are_much(c)) {
        return slab_grow_first(c->slab, s->class_id);
    }
    evict_note_starved(c, s->class_id);
    return alloc_steal(s->ct, s->class_id) || turn_wait_for_memory(s->ct, &s->deadline_us);
}

uint32_t chunk_alloc(struct cache_thread *ct, struct partition *p, unsigned class_id,
                     size_t total_bytes, bool large) {
    const struct cache *c = ct->cache;
    (void)total_bytes;
    struct chunk_search s = {.ct = ct, .class_id = class_id, .large = large};
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    for (bool more = true; s.ref == 0;) {
        s.class_id = chunk_serving_class(c, s.class_id, chunk_bytes);
        s.ref = chunk_take_free(ct, p, s.class_id, large);
        if (s.ref != 0 || !more) {
            break;
        }
        /* a class that has just been retired is not short of memory */
        more =
            chunk_serving_class(c, s.class_id, chunk_bytes) != s.class_id || alloc_free_chunk(&s);
    }
    if (s.ref == 0) {
        COUNT_CLASS(ct, s.class_id, outofmemory);
    }
    return s.ref;
}
