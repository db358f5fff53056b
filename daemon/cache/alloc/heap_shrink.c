/* Gives back what the heap store holds beyond its limit.
 *
 * Evicting the oldest items would leave a hole in every run of small allocations, and free hardly a
 * page. So pages of the arena are drawn by lot until the items in them amount to the excess, and
 * these items are evicted. Their memory is given back only when all of it can be, in order of
 * address: if a hole were given back earlier, the next store would fill it, and its run would stay
 * in use. What other threads store in these pages during the walk is evicted by a second walk.
 *
 * Until the end the amount of memory held does not fall, so stores must not go by it: they would
 * evict more and more, oldest first, in vain. Instead they go by a cap on the bytes in use, which
 * falls with each item evicted here. So a store makes room for itself, as always, and for nothing
 * else. */
#include "cache/alloc/heap_shrink.h"

#include <stdlib.h>

#include "cache/alloc/deferred_free.h"
#include "cache/alloc/magazine.h"
#include "cache/items/link.h"

enum {
    BUCKETS_A_STEP = 4,
    /* units of addresses in one step, where nothing in them is to be given back */
    UNITS_A_STEP = 4096,
    OVER_SHARE = 16, /* a heap may hold more than its limit by this share for a while */
    SPARE_SHARE = 64, /* this share of a lowered limit is left free */
};

enum walk { WALK_TALLY, WALK_EVICT, WALK_EVICT_LATE, WALKS };

struct cache_shrink {
    struct cache_thread *ct;
    uint64_t      limit_bytes; /* the limit when the shrink began */
    uint64_t      too_much_bytes; /* bytes of live items that are too much */
    uint32_t     *bytes;   /* for each page: bytes of the live items in it */
    bool         *chosen;  /* for each page: whether its items are evicted */
    struct deferred_held held; /* what was evicted */
    size_t        units, unit; /* units of addresses, and the one where giving back goes on */
    bool          given;   /* whether anything was given back */
    enum walk     walk;
    uint32_t      partition, bucket; /* where the walk goes on */
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

/* Bytes that are held beyond the limit. Retired memory comes back by itself, and does not count. */
static uint64_t shrink_over_bytes(const struct heap_facts *h) {
    uint64_t held = h->held_bytes - h->retired_bytes;
    return held > h->limit_bytes ? held - h->limit_bytes : 0;
}

/* Whether to begin: the limit was lowered, or so much is held beyond it that the next stores'
 * evictions do not make up for it. */
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
    deferred_free_wait(ct); /* gives back what could not be given back the last time */
    heap_facts(c->heap, &h);
    if (shrink_is_due(&h) && !heap_trim(c->heap)) {
        *state = CACHE_SHRINK_MORE; /* another thread counts what is held: it is not known yet */
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

/* Takes the next kept allocation of this unit; 0: none is left. */
static uint32_t shrink_take_held(struct cache_shrink *s) {
    uint32_t ref = s->held.first[s->unit];
    s->held.first[s->unit] = ref != 0 ? node_next(&item_at(s->ct->cache, ref)->node) : 0;
    return ref;
}

/* --- walking --- */

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

/* Draws pages in which items live until those items hold what is too much. */
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
    if (there && s->walk != WALK_TALLY) {
        shrink_evict_locked(s, p, refs, count);
    }
    for (unsigned i = 0; there && s->walk == WALK_TALLY && i < count; i++) {
        s->bytes[arena_page_of_ref(c->arena, refs[i])] += (uint32_t)heap_bytes_of(c->heap, refs[i]);
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

/* --- giving back --- */

bool cache_shrink_release(struct cache_shrink *s) {
    size_t until = s->unit + UNITS_A_STEP < s->units ? s->unit + UNITS_A_STEP : s->units;
    bool any = false;
    for (; s->unit < until && !any; s->unit++) {
        for (uint32_t ref; (ref = shrink_take_held(s)) != 0; any = true) {
            heap_release(s->ct->cache->heap, ref);
        }
    }
    s->given |= any;
    return s->unit < s->units;
}

/* Leaves what is still kept to the thread's limbo. Returns whether there was any. */
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

/* A shrink that has begun goes on until the limit holds, unless nothing more comes of it. */
enum cache_shrink_state cache_shrink_end(struct cache_shrink **taken) {
    struct cache_shrink *s = *taken;
    struct cache *c = s->ct->cache;
    struct heap_facts h;
    bool left = shrink_defer_remainder(s), given = s->given;
    s->ct->held = NULL;
    shrink_free(s);
    *taken = NULL;
    heap_trim(c->heap);
    heap_facts(c->heap, &h);
    bool more = shrink_over_bytes(&h) > 0;
    heap_set_cap(c->heap, more ? h.used_bytes : 0);
    return !more ? CACHE_SHRINK_DONE : given && !left ? CACHE_SHRINK_MORE : CACHE_SHRINK_LATER;
}
