#include "tune/pages/refit.h"

#include "base/clock.h"
#include "tune/pages/empty.h"

enum {
    REST_SHARE = 2,  /* this part of the time that a page may take is for rests */
    HELD_SHARE = 32, /* one page in so many may be held back */
};

void refit_init(struct refit *r, struct cache *cache, struct cache_thread *ct, struct pace *pace) {
    uint32_t pages =
        atomic_load_explicit(&cache_slab(cache)->arena->page_limit, memory_order_relaxed);
    unsigned most = pages / HELD_SHARE;
    *r = (struct refit){.cache = cache,
                        .ct = ct,
                        .pace = pace,
                        .held_most = most < 1                ? 1
                                     : most > REFIT_HELD_MAX ? REFIT_HELD_MAX
                                                             : most};
}

bool refit_grow(struct refit *r, unsigned class_id) {
    struct slab *slab = cache_slab(r->cache);
    if (r->held_count > 0) {
        slab_page_place(slab, r->held[--r->held_count], class_id);
        return true;
    }
    return slab_grow(slab, class_id);
}

void refit_release(struct refit *r) {
    while (r->held_count > 0) {
        slab_page_place(cache_slab(r->cache), r->held[--r->held_count], SLAB_CLASS_NONE);
    }
}

struct refitting {
    struct refit    *r;
    bool             may_evict;
    /* why chunks stay: something is being stored or sent; something found no chunk to go to */
    bool             in_use, no_room;
};

static enum cache_moved refit_chunk(void *arg, uint32_t page, uint32_t chunk) {
    struct refitting *p = arg;
    struct refit *r = p->r;
    unsigned wanted;
    enum cache_moved moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE, &wanted);
    if (moved == CACHE_MOVED_NO_ROOM && refit_grow(r, wanted)) {
        moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE, &wanted);
    } else if (moved == CACHE_MOVED_NO_ROOM && cache_chunk_in_use(r->cache, page, chunk)) {
        /* the page cannot be had then, so nothing is dropped to make room for the chunk */
        p->in_use = true;
    } else if (moved == CACHE_MOVED_NO_ROOM && p->may_evict) {
        moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE | EVACUATE_EVICTS, NULL);
    }
    p->in_use = p->in_use || moved == CACHE_MOVED_BUSY || moved == CACHE_MOVED_DROPPED;
    p->no_room = p->no_room || moved == CACHE_MOVED_NO_ROOM;
    return moved;
}

/* Before another pass. A page that is in use cannot be had, so nothing is dropped for it. */
static bool try_again(void *arg) {
    struct refitting *p = arg;
    p->may_evict = p->no_room && !p->in_use;
    if (p->may_evict && !cache_evicts(p->r->cache)) {
        return false;
    }
    p->in_use = p->no_room = false;
    return true;
}

/* Keeps an emptied page, or gives it to the pool. */
static void keep(struct refit *r, uint32_t page) {
    r->pages++;
    if (r->held_count < r->held_most) {
        r->held[r->held_count++] = page;
    } else {
        slab_page_place(cache_slab(r->cache), page, SLAB_CLASS_NONE);
    }
}

enum refit_result refit_page(struct refit *r, uint32_t page) {
    unsigned class_id = slab_page_class(cache_slab(r->cache), page);
    struct moving_page m;
    struct refitting p = {.r = r};
    struct emptying e = {.page = &m,
                         .pace = r->pace,
                         .driver = {.ct = r->ct, .chunk = refit_chunk, .arg = &p},
                         .again = try_again,
                         .rest_us = r->pace_us / REST_SHARE};
    if (class_id == SLAB_CLASS_NONE ||
        !page_move_begin(&m, r->ct, page, class_id, PAGE_TO_DRIVER, 0)) {
        return REFIT_NOT_NOW;
    }
    bool emptied = emptying_run(&e);
    page_counts_add(&r->did, &e.driver.did);
    if (emptied && page_move_finish(&m, r->ct, clock_mono_us() + PAGE_PATIENCE_US)) {
        keep(r, page);
        return REFIT_EMPTIED;
    }
    return !emptied && p.no_room && !p.in_use && !cache_evicts(r->cache) ? REFIT_NO_ROOM
                                                                         : REFIT_IN_USE;
}
