#include "control/pages/refit_page.h"

enum {
    NAP_SHARE = 2,   /* pauses get this part of the time that a page may take */
    HELD_SHARE = 32, /* one page in so many may be held back */
    TURNS_LOOK_US = 20,
};

void refit_page_init(struct refit_page *r, struct cache *cache, struct cache_thread *ct,
                     struct pace *pace) {
    uint32_t pages =
        atomic_load_explicit(&cache_slab(cache)->arena->page_limit, memory_order_relaxed);
    unsigned most = pages / HELD_SHARE;
    *r = (struct refit_page){.cache = cache,
                             .ct = ct,
                             .drain.pace = pace,
                             .held_most = most < 1                ? 1
                                          : most > REFIT_HELD_MAX ? REFIT_HELD_MAX
                                                                  : most};
}

bool refit_page_grow(struct refit_page *r, unsigned class_id) {
    struct slab *slab = cache_slab(r->cache);
    if (r->held_count > 0) {
        slab_page_place(slab, r->held[--r->held_count], class_id);
        return true;
    }
    return slab_grow(slab, class_id);
}

void refit_page_release(struct refit_page *r) {
    while (r->held_count > 0) {
        slab_page_place(cache_slab(r->cache), r->held[--r->held_count], SLAB_CLASS_NONE);
    }
}

static enum cache_moved refit_page_chunk(void *arg, uint32_t page, uint32_t chunk) {
    struct refit_page *r = arg;
    unsigned wanted;
    enum cache_moved moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE, &wanted);
    if (moved == CACHE_MOVED_NO_ROOM && refit_page_grow(r, wanted)) {
        moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE, &wanted);
    } else if (moved == CACHE_MOVED_NO_ROOM && cache_chunk_in_use(r->cache, page, chunk)) {
        /* the page cannot be emptied, so nothing is dropped to make room for the chunk */
        r->in_use = true;
    } else if (moved == CACHE_MOVED_NO_ROOM && r->may_evict) {
        moved = cache_evacuate(r->ct, page, chunk, EVACUATE_BY_SIZE | EVACUATE_EVICTS, NULL);
    }
    r->in_use = r->in_use || moved == CACHE_MOVED_BUSY || moved == CACHE_MOVED_DROPPED;
    r->no_room = r->no_room || moved == CACHE_MOVED_NO_ROOM;
    return moved;
}

/* Before another pass. A page in use cannot be emptied, so nothing is dropped for it. */
static bool refit_page_may_go_on(void *arg) {
    struct refit_page *r = arg;
    r->may_evict = r->no_room && !r->in_use;
    if (r->may_evict && !cache_evicts(r->cache)) {
        return false;
    }
    r->in_use = r->no_room = false;
    return true;
}

/* Holds an emptied page back, or gives the page to the pool. */
static void refit_page_hold(struct refit_page *r, uint32_t page) {
    r->pages++;
    if (r->held_count < r->held_most) {
        r->held[r->held_count++] = page;
    } else {
        slab_page_place(cache_slab(r->cache), page, SLAB_CLASS_NONE);
    }
}

void refit_page_begin(struct refit_page *r, uint32_t page, uint64_t now_us) {
    unsigned class_id = slab_page_class(cache_slab(r->cache), page);
    struct drain *d = &r->drain;
    r->result = REFIT_NOT_NOW;
    r->turns_until_us = 0;
    r->may_evict = r->in_use = r->no_room = false;
    r->under_way = class_id != SLAB_CLASS_NONE &&
                   page_move_begin(&r->page, r->ct, page, class_id, PAGE_TO_DRIVER, 0);
    if (r->under_way) {
        d->page = &r->page;
        d->driver = (struct page_driver){.ct = r->ct, .chunk = refit_page_chunk, .arg = r};
        d->may_go_on = refit_page_may_go_on;
        d->nap_us = r->pace_us / NAP_SHARE;
        drain_begin(d, now_us);
    }
}

/* The page has gone back. */
static enum refit_result refit_page_result(const struct refit_page *r) {
    return atomic_load_explicit(&r->drain.cancelled, memory_order_relaxed) ? REFIT_CANCELLED
           : r->no_room && !r->in_use && !cache_evicts(r->cache)           ? REFIT_NO_ROOM
                                                                           : REFIT_IN_USE;
}

static uint64_t refit_page_finish(struct refit_page *r, enum refit_result result) {
    r->result = result;
    r->under_way = false;
    return PACE_DONE;
}

uint64_t refit_page_step(struct refit_page *r, uint64_t now_us) {
    struct page_driver d = {.ct = r->ct, .now_us = now_us};
    if (!r->under_way) {
        return PACE_DONE;
    }
    if (r->turns_until_us == 0) {
        uint64_t due_us = drain_step(&r->drain, now_us);
        if (due_us != PACE_DONE) {
            return due_us;
        }
        page_counts_add(&r->did, &r->drain.driver.did);
        r->turns_until_us = now_us + PAGE_WAIT_US;
    }
    if (r->page.state == PAGE_MOVE_NONE) {
        return refit_page_finish(r, refit_page_result(r));
    }
    if (page_move_step(&r->page, &d)) {
        refit_page_hold(r, r->page.page);
        return refit_page_finish(r, REFIT_EMPTIED);
    }
    if (now_us >= r->turns_until_us) {
        page_move_put_back(&r->page, r->ct);
        return refit_page_finish(r, REFIT_IN_USE);
    }
    /* the longer the wait, the rarer the looks */
    return now_us + TURNS_LOOK_US + (now_us + PAGE_WAIT_US - r->turns_until_us) / 8;
}

void refit_page_cancel(struct refit_page *r) {
    if (r->under_way) {
        drain_cancel(&r->drain);
    }
}

void refit_page_end(struct refit_page *r) {
    page_move_put_back(&r->page, r->ct);
    refit_page_release(r);
}
