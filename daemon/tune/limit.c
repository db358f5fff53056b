/* Gives memory back to the system until a lowered limit holds: pages or, in the heap store,
 * allocations. */
#include <stdio.h>

#include "base/clock.h"
#include "tune/pages/spare.h"
#include "cache/shrink.h"
#include "tune/state.h"

/* when no page could be had, the next look comes after this time */
enum { LIMIT_REST_US = 100 * 1000 };

static uint32_t pages_over(const struct arena *a, uint32_t limit) {
    uint32_t out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    return out > limit ? out - limit : 0;
}

uint32_t tuner_pages_over(const struct tuner *t) {
    const struct arena *a = cache_slab(t->cache)->arena;
    return pages_over(a, atomic_load_explicit(&a->page_limit, memory_order_relaxed));
}

static uint32_t wanted(void *tuner) { return tuner_pages_over(tuner); }

struct shrinking {
    struct cache_shrink *shrink;
    const struct tuner  *tuner;
};

static bool evict_some(void *arg) {
    struct shrinking *s = arg;
    return cache_shrink_evict(s->shrink) &&
           !atomic_load_explicit(&s->tuner->stop, memory_order_relaxed);
}

static bool give_some(void *arg) {
    struct shrinking *s = arg;
    return cache_shrink_give(s->shrink);
}

static bool shrink_heap(struct tuner *t) {
    if (clock_mono_us() < t->limit_rest_us) {
        return false;
    }
    enum cache_shrink_state state;
    struct shrinking s = {cache_shrink_begin(t->ct, &state), t};
    if (s.shrink != NULL) {
        struct pace_job evicting = {.ct = t->ct, .step = evict_some, .arg = &s};
        struct pace_job giving = {.ct = t->ct, .step = give_some, .arg = &s};
        pace_run(&t->pace, &evicting);
        if (cache_quiesce(t->ct, PAGE_PATIENCE_US)) {
            pace_run(&t->pace, &giving);
        }
        state = cache_shrink_end(&s.shrink);
    }
    t->limit_rest_us = state == CACHE_SHRINK_LATER ? clock_mono_us() + LIMIT_REST_US : 0;
    return state == CACHE_SHRINK_MORE;
}

/* Whether a class may give its last page. It gives that only once after a limit was lowered: if
 * items are stored in it afterwards, it takes a new first page over the limit (cache/obtain.c), and
 * to take that away too would go on without end. */
bool tuner_shrink(struct tuner *t) {
    static const struct class_set nobody;
    if (cache_store_kind(t->cache) == CACHE_STORE_HEAP) {
        return shrink_heap(t);
    }
    const struct arena *a = cache_slab(t->cache)->arena;
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed),
             over = pages_over(a, limit);
    if (limit < t->limit_seen) {
        t->limit_emptied = nobody;
    }
    t->limit_lowered = over > 0 && (t->limit_lowered || limit < t->limit_seen);
    t->limit_seen = limit;
    if (over == 0 || !t->reassign || clock_mono_us() < t->limit_rest_us) {
        return false;
    }
    struct page_move move = {.to = SLAB_CLASS_NONE,
                             .pages = over < MOVE_PAGES_MAX ? over : MOVE_PAGES_MAX};
    bool any = spare_choose(t->cache, t->ct, &t->pace, &nobody, &move);
    if (!any && t->limit_lowered) {
        /* each class is down to one page: take the one of least value */
        move.pages = 1;
        move.last_too = true;
        any = spare_choose(t->cache, t->ct, &t->pace, &t->limit_emptied, &move);
    }
    snprintf(move.reason, sizeof move.reason, "%u pages are over the memory limit", over);
    t->mover.wanted = wanted; /* counts anew, because the limit may be raised meanwhile */
    bool moved = any && tuner_move(t, "limit", &move) > 0;
    t->mover.wanted = NULL;
    if (moved && move.last_too) {
        class_set_add(&t->limit_emptied, move.from);
    }
    t->limit_rest_us = moved ? 0 : clock_mono_us() + LIMIT_REST_US;
    return moved;
}
