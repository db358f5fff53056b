/* Releases the memory that the heap store holds beyond its limit.
 *
 * To evict the oldest items would leave a hole in every run of small allocations, and free hardly a
 * page. So pages of the arena are drawn at random until their items amount to the excess, and these
 * items are evicted. Their memory is freed only when all of it can be, in order of address: if one
 * hole were freed earlier, the next store would fill the hole, and the run would stay in use. A
 * second walk evicts the items that other threads store in these pages during the first walk.
 *
 * Until the end the held memory does not fall, so stores must not go by it: they would evict more
 * and more, oldest first, in vain. Instead stores go by a cap on the bytes in use, which falls with
 * each item evicted here. So each store evicts for itself, as always, and for nothing else. */
#include "cache/alloc/heap_shrink.h"

#include <stdlib.h>

#include "cache/alloc/deferred_free.h"
#include "cache/alloc/magazine.h"
#include "cache/items/link.h"

enum {
    BUCKETS_A_STEP = 4,
    /* units of addresses in one step, if they have nothing to free */
    UNITS_A_STEP = 4096,
    OVER_SHARE = 16, /* a heap may exceed its limit by this share for a while */
    SPARE_SHARE = 64, /* this share of a lowered limit stays free */
};

enum walk { WALK_TALLY, WALK_EVICT, WALK_EVICT_LATE, WALKS };

struct cache_shrink {
    struct cache_thread *ct;
    uint64_t      limit_bytes; /* the limit when the shrink began */
    uint64_t      too_much_bytes; /* excess bytes of live items */
    uint32_t     *bytes;   /* for each page: bytes of its live items */
    bool         *chosen;  /* for each page: true if its items are evicted */
    struct deferred_held held; /* memory of evicted items */
    size_t        units, unit; /* units of addresses; the unit to free next */
    bool          freed;   /* true once anything was freed */
    enum walk     walk;
    uint32_t      partition, bucket; /* position of the walk */
};

static void shrink_free(struct cache_shrink *s) {
    free(s->bytes);
    free(s->chosen);
    free(s->held.first);
    free(s);
}

static struct cache_shrink *shrink_make(struct cache_thread *ct, const struct heap_facts *h) {
    uint32_t page_max = ct->cache->arena->page_max;
    struct cache_shrink *s = malloc(sizeof *s);
    if (s == NULL) {
        return NULL;
    }
    *s = (struct cache_shrink){.ct = ct,
                               .limit_bytes = h->limit_bytes,
                               .held.cap_bytes = h->used_bytes};
    s->units = (size_t)page_max << (PAGE_SHIFT - DEFERRED_UNIT_SHIFT);
    uint64_t held = h->held_bytes - h->retired_bytes,
             aim = h->limit_bytes - h->limit_bytes / SPARE_SHARE;
    s->too_much_bytes = (uint64_t)((1.0 - (double)aim / (double)held) * (double)h->used_bytes);
    s->bytes = calloc(page_max, sizeof *s->bytes);
    s->chosen = calloc(page_max, sizeof *s->chosen);
    s->held.first = calloc(s->units, sizeof *s->held.first);
    if (s->bytes == NULL || s->chosen == NULL || s->held.first == NULL) {
        shrink_free(s);
        return NULL;
    }
    return s;
}

/* Bytes held beyond the limit. Retired memory does not count: it comes back in any case. */
static uint64_t shrink_over_bytes(const struct heap_facts *h) {
    uint64_t held = h->held_bytes - h->retired_bytes;
    return held > h->limit_bytes ? held - h->limit_bytes : 0;
}

/* True if a shrink should begin: the limit was lowered, or the excess is more than the evictions of
 * the next stores make up for. */
static bool shrink_is_due(const struct heap_facts *h) {
    return shrink_over_bytes(h) > (h->cap_bytes != 0 ? 0 : h->limit_bytes / OVER_SHARE);
}

struct cache_shrink *cache_shrink_begin(struct cache_thread *ct, enum cache_shrink_state *state) {
    struct cache *c = ct->cache;
    struct heap_facts h;
    *state = CACHE_SHRINK_DONE;
    if (c->store->whole_pages || !c->config.evict) {
        return NULL;
    }
    deferred_free_wait(ct); /* frees what could not be freed the last time */
    heap_facts(c->heap, &h);
    if (shrink_is_due(&h) && !heap_trim(c->heap)) {
        *state = CACHE_SHRINK_MORE; /* another thread is counting the held memory */
        return NULL;
    }
    heap_facts(c->heap, &h);
    if (!shrink_is_due(&h)) {
        heap_set_cap(c->heap, 0);
        return NULL;
    }
    struct cache_shrink *s = shrink_make(ct, &h);
    ct->moves_pages = true;
    ct->held = s != NULL ? &s->held : NULL;
    *state = s != NULL ? CACHE_SHRINK_MORE : CACHE_SHRINK_LATER;
    heap_set_cap(c->heap, h.used_bytes);
    return s;
}

/* Takes the next held allocation of this unit; 0: none is left. */
static uint32_t shrink_take_held(struct cache_shrink *s) {
    uint32_t ref = s->held.first[s->unit];
    s->held.first[s->unit] = ref != 0 ? node_next(&item_at(s->ct->cache, ref)->node) : 0;
    return ref;
}

/* --- walking --- */

static void shrink_tally_locked(struct cache_shrink *s, const uint32_t *refs, unsigned count) {
    const struct cache *c = s->ct->cache;
    for (unsigned i = 0; i < count; i++) {
        s->bytes[arena_page_of_ref(c->arena, refs[i])] += (uint32_t)heap_bytes_of(c->heap, refs[i]);
    }
}

static void shrink_evict_locked(struct cache_shrink *s, struct partition *p, const uint32_t *refs,
                                unsigned count) {
    struct cache_thread *ct = s->ct;
    for (unsigned i = 0; i < count; i++) {
        if (s->chosen[arena_page_of_ref(ct->cache->arena, refs[i])]) {
            struct item *it = item_at(ct->cache, refs[i]);
            uint64_t hash = item_hash(&it->node);
            if (cache_item_dead(ct->cache, it, ct->now_s)) {
                COUNT_CLASS(ct, HEAP_CLASS, reclaimed);
            } else {
                link_count_eviction(ct, it, HEAP_CLASS, hash);
            }
            link_remove_locked(ct, p, hash, it);
        }
    }
}

/* Draws pages at random until their items make up the excess. */
static void shrink_choose_pages(struct cache_shrink *s) {
    uint32_t lived_in = 0, page_max = s->ct->cache->arena->page_max,
             *pages = malloc(page_max * sizeof *pages);
    for (uint32_t i = 0; pages != NULL && i < page_max; i++) {
        if (s->bytes[i] > 0) {
            pages[lived_in++] = i;
        }
    }
    for (uint64_t chosen = 0; lived_in > 0 && chosen < s->too_much_bytes; lived_in--) {
        uint32_t drawn = (uint32_t)(random_next(&s->ct->random) % lived_in);
        s->chosen[pages[drawn]] = true;
        chosen += s->bytes[pages[drawn]];
        pages[drawn] = pages[lived_in - 1];
    }
    free(pages);
}

static void shrink_walk_bucket(struct cache_shrink *s) {
    const struct cache *c = s->ct->cache;
    struct partition *p = &c->partitions[s->partition];
    uint32_t refs[INDEX_CHAIN_MOST];
    unsigned count;
    lock_take(&p->lock);
    bool there = index_chain(&p->index, s->bucket, refs, INDEX_CHAIN_MOST, &count);
    if (there && s->walk == WALK_TALLY) {
        shrink_tally_locked(s, refs, count);
    } else if (there) {
        shrink_evict_locked(s, p, refs, count);
    }
    lock_release(&p->lock);
    magazine_settle(s->ct);
    s->bucket = there ? s->bucket + 1 : 0;
    if (!there && ++s->partition == c->partition_count) {
        if (s->walk == WALK_TALLY) {
            shrink_choose_pages(s);
        }
        s->walk++;
        s->partition = 0;
    }
}

bool cache_shrink_evict(struct cache_shrink *s) {
    struct heap_facts h;
    for (unsigned i = 0; i < BUCKETS_A_STEP && s->walk < WALKS; i++) {
        shrink_walk_bucket(s);
    }
    heap_facts(s->ct->cache->heap, &h);
    /* if the limit was raised meanwhile, nothing more has to go */
    return s->walk < WALKS && h.limit_bytes <= s->limit_bytes;
}

/* the limit was raised meanwhile: nothing more has to go */

bool cache_shrink_release(struct cache_shrink *s) {
    size_t until = s->unit + UNITS_A_STEP < s->units ? s->unit + UNITS_A_STEP : s->units;
    bool any = false;
    for (; s->unit < until && !any; s->unit++) {
        for (uint32_t ref; (ref = shrink_take_held(s)) != 0; any = true) {
            heap_release(s->ct->cache->heap, ref);
        }
    }
    s->freed |= any;
    return s->unit < s->units;
}

/* Moves all held memory to the thread's open list. Returns true if there was any. */
static bool shrink_defer_remainder(struct cache_shrink *s) {
    struct cache_thread *ct = s->ct;
    bool any = false;
    for (; s->unit < s->units; s->unit++) {
        for (uint32_t ref; (ref = shrink_take_held(s)) != 0; any = true) {
            deferred_free_add(ct, ref, heap_bytes_of(ct->cache->heap, ref));
        }
    }
    return any;
}

/* A shrink goes on until the limit holds, unless it no longer frees anything. */
enum cache_shrink_state cache_shrink_end(struct cache_shrink **taken) {
    struct cache_shrink *s = *taken;
    struct cache *c = s->ct->cache;
    struct heap_facts h;
    bool left = shrink_defer_remainder(s), freed = s->freed;
    s->ct->held = NULL;
    shrink_free(s);
    *taken = NULL;
    heap_trim(c->heap);
    heap_facts(c->heap, &h);
    bool more = shrink_over_bytes(&h) > 0;
    heap_set_cap(c->heap, more ? h.used_bytes : 0);
    if (!more) {
        return CACHE_SHRINK_DONE;
    }
    return freed && !left ? CACHE_SHRINK_MORE : CACHE_SHRINK_LATER;
}
