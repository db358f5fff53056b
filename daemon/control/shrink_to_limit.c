/* Gives memory back to the system until a lowered limit holds: pages or, in the heap store,
 * allocations. */
#include <stdio.h>

#include "cache/alloc/heap_shrink.h"
#include "control/tuner_state.h"

enum {
    LIMIT_RETRY_US = 100 * 1000, /* from a search that found no page to the next one */
    HEAP_LOOK_US = 100, /* between two looks at turns that have to end */
};

static uint32_t limit_pages_over_of(const struct arena *a, uint32_t limit) {
    uint32_t out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    return out > limit ? out - limit : 0;
}

uint32_t limit_pages_over(const struct tuner *t) {
    const struct arena *a = cache_slab(t->cache)->arena;
    return limit_pages_over_of(a, atomic_load_explicit(&a->page_limit, memory_order_relaxed));
}

/* --- pages --- */

/* Pages over the limit that are not emptied yet. */
static uint32_t limit_pages_left(struct tuner *t) {
    uint32_t over = limit_pages_over(t), waiting = cache_handover_waiting(t->cache);
    return over > waiting ? over - waiting : 0;
}

/* Fewer pages are wanted if the limit was raised during the move. */
unsigned limit_pages_wanted(struct tuner *t) { return t->mover.emptied + limit_pages_left(t); }

static void limit_read(struct tuner *t) {
    static const struct class_set nobody;
    const struct arena *a = cache_slab(t->cache)->arena;
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed);
    if (limit < t->limit_seen) {
        t->limit_emptied = nobody;
    }
    t->limit_lowered =
        limit_pages_over_of(a, limit) > 0 && (t->limit_lowered || limit < t->limit_seen);
    t->limit_seen = limit;
}

/* Why no page left: what ended the move or, if no class could give a page, what holds all pages. */
static const char *limit_why(const struct tuner *t, const struct current_move *c) {
    return c->move.from != SLAB_CLASS_NONE ? t->mover.result.why_not
           : cache_evicts(t->cache)        ? "no class has a page beyond its last"
                                           : "items are not evicted (-M), and in no class do the "
                                             "free chunks hold the items of a page";
}

/* A class may give its last page only once after a limit was lowered. If items are stored in the
 * class later, it takes a first page over the limit again (cache/alloc/chunk_alloc.c): these two
 * would alternate without end. */
bool limit_next_move(struct tuner *t, struct current_move *c, uint64_t now_us, uint64_t *due_us) {
    static const struct class_set nobody;
    if (cache_store_kind(t->cache) == CACHE_STORE_HEAP) {
        return false;
    }
    limit_read(t);
    uint32_t over = limit_pages_left(t);
    if (over == 0 || !t->reassign || now_us < t->limit_retry_us) {
        if (over > 0 && t->reassign && t->limit_retry_us < *due_us) {
            *due_us = t->limit_retry_us;
        }
        return false;
    }
    c->any = true;
    c->except = t->limit_last ? t->limit_emptied : nobody;
    c->move = (struct page_move){.to = SLAB_CLASS_NONE, .last_too = t->limit_last};
    c->move.pages = t->limit_last ? 1 : over < MOVE_PAGES_MAX ? over : MOVE_PAGES_MAX;
    snprintf(c->by, sizeof c->by, "limit");
    snprintf(c->move.reason, sizeof c->move.reason, "%u pages are over the memory limit", over);
    return true;
}

/* When each class is down to one page, a class loses its last page: the one of least value. */
void limit_move_ended(struct tuner *t, const struct current_move *c, unsigned moved,
                      uint64_t now_us) {
    bool none_had = c->move.from == SLAB_CLASS_NONE;
    t->limit_last = none_had && !c->move.last_too && t->limit_lowered;
    if (moved > 0 && c->move.last_too) {
        class_set_add(&t->limit_emptied, c->move.from);
    }
    t->limit_retry_us = moved > 0 || t->limit_last ? 0 : now_us + LIMIT_RETRY_US;
    atomic_store_explicit(&t->limit_why, t->limit_retry_us == 0 ? NULL : limit_why(t, c),
                          memory_order_relaxed);
}

/* --- the heap --- */

static bool shrink_evict(void *arg, uint64_t now_us) {
    struct heap_shrink *s = arg;
    (void)now_us;
    return cache_shrink_evict(s->shrink);
}

static bool shrink_give(void *arg, uint64_t now_us) {
    struct heap_shrink *s = arg;
    (void)now_us;
    return cache_shrink_release(s->shrink);
}

static void shrink_run(struct tuner *t, bool (*step)(void *, uint64_t), uint64_t now_us) {
    struct heap_shrink *s = &t->heap_shrink;
    s->job = (struct pace_job){.ct = t->pages_ct, .step = step, .arg = s};
    pace_begin(&t->pace, &s->job, now_us);
}

static uint64_t shrink_end(struct tuner *t, enum cache_shrink_state state, uint64_t now_us) {
    t->limit_retry_us = now_us + (state == CACHE_SHRINK_LATER ? LIMIT_RETRY_US : 0);
    return state == CACHE_SHRINK_DONE ? PACE_NEVER : t->limit_retry_us;
}

static uint64_t shrink_begin(struct tuner *t, uint64_t now_us) {
    struct heap_shrink *s = &t->heap_shrink;
    enum cache_shrink_state state;
    if (now_us < t->limit_retry_us) {
        return t->limit_retry_us;
    }
    s->shrink = cache_shrink_begin(t->pages_ct, &state);
    if (s->shrink == NULL) {
        return shrink_end(t, state, now_us);
    }
    s->state = HEAP_EVICTS;
    shrink_run(t, shrink_evict, now_us);
    return PACE_NEVER;
}

uint64_t shrink_heap_step(struct tuner *t, uint64_t now_us) {
    struct heap_shrink *s = &t->heap_shrink;
    if (cache_store_kind(t->cache) != CACHE_STORE_HEAP) {
        return PACE_NEVER;
    }
    if (s->shrink == NULL) {
        return shrink_begin(t, now_us);
    }
    if (!pace_job_done(&s->job)) {
        return PACE_NEVER;
    }
    if (s->state == HEAP_EVICTS) {
        s->state = HEAP_WAITS;
        s->until_us = now_us + PAGE_WAIT_US;
        cache_turns_note(t->pages_ct, s->turns);
    }
    if (s->state == HEAP_WAITS && cache_turns_ended(t->cache, s->turns)) {
        s->state = HEAP_GIVES;
        shrink_run(t, shrink_give, now_us);
        return PACE_NEVER;
    }
    if (s->state == HEAP_WAITS && now_us < s->until_us) {
        return now_us + HEAP_LOOK_US;
    }
    return shrink_end(t, cache_shrink_end(&s->shrink), now_us);
}
