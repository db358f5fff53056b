/* A change of the chunk sizes: its steps, the pages it empties, its pace. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "control/geometry/geometry_change.h"

enum {
    EVICTIONS_US = 50 * 1000,   /* between two looks at the evictions of new classes */
    TURNS_LOOK_US = 100,        /* between two looks whether the turns from before have ended */
    MEASURE_US = 1000 * 1000,   /* between two looks at all items' sizes; one takes milliseconds */
    RETRY_US = 20 * 1000,       /* the next try after a worker was in the way */
    NO_ROOM_US = 1000 * 1000,   /* the next try after the contents of old pages found no room */
    STRAGGLERS_US = 500 * 1000, /* between two looks at the last pages in use, at the end */
    /* passes over pages in use, before the next range is converted and these pages are left */
    PASSES_IN_USE = 3,
    /* The first look comes when this many pages are in use, or this share of a smaller memory. */
    FIRST_LOOK_PAGES = 4,
    FIRST_LOOK_SHARE = 16,
    /* pages emptied a second, at least, while the pool has pages: a tenth of a processor */
    FILLING_PAGES_A_SECOND = 64,
};

static void geometry_print_range(struct geometry_change *g) {
    geometry_set_why(g, "converting range %u of %u", g->plan.done, g->plan.from.count);
}

static void geometry_measure_waste(struct geometry_change *g,
                                   void (*then)(struct geometry_change *)) {
    g->measured_us = g->now_us;
    geometry_measure(g, then);
}

static void geometry_note_waste(struct geometry_change *g) {
    lock_take(&g->lock);
    g->facts.waste_now_pct = geometry_waste_pct(&g->sizes, g->sizes.taken_bytes);
    lock_release(&g->lock);
}

/* --- steps --- */

static bool geometry_has_items(const struct geometry_change *g, uint32_t above_bytes,
                               uint32_t most_bytes) {
    return fit_memory(&g->sizes, &g->plan.to, above_bytes, most_bytes) > 0;
}

/* Whether the new list has classes for which there are items now. */
static bool geometry_brings_classes(const struct geometry_change *g, const struct size_list *before,
                                    const struct size_list *now) {
    for (unsigned i = 0; i < now->count; i++) {
        if (!size_list_has(before, now->bytes[i]) &&
            geometry_has_items(g, i > 0 ? now->bytes[i - 1] : 0, now->bytes[i])) {
            return true;
        }
    }
    return false;
}

/* Sorts the classes of the new table: new ones want a page if there are items for them; those that
 * stay, but serve fewer sizes than before, hold items that belong to other classes. */
static void geometry_classify(struct geometry_change *g, const struct size_list *before) {
    const struct slab *slab = cache_slab(g->cache);
    const struct class_sizes *now = slab_geometry(slab);
    g->fresh = g->mixed = g->wanting = (struct class_set){{0}};
    for (unsigned i = 0; i < now->sizes.count; i++) {
        uint32_t size = now->sizes.bytes[i], above = i > 0 ? now->sizes.bytes[i - 1] : 0;
        struct slab_class_facts f;
        slab_facts(slab, now->ids[i], &f);
        if (!size_list_has(before, size)) {
            class_set_add(&g->fresh, now->ids[i]);
            if (geometry_has_items(g, above, size)) {
                class_set_add(&g->wanting, now->ids[i]);
            }
        } else if (i > 0 && f.pages > 0 && !size_list_has(before, above)) {
            class_set_add(&g->mixed, now->ids[i]);
        }
    }
}

static bool geometry_old_pages_left(const struct geometry_change *g) {
    const struct slab *slab = cache_slab(g->cache);
    for (unsigned i = 1; i <= slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        if (f.retired && f.pages > 0) {
            return true;
        }
    }
    return false;
}

static uint64_t geometry_evicted_by_fresh(struct geometry_change *g) {
    uint64_t evicted = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        evicted += class_set_has(&g->fresh, i) ? cache_class_evicted(g->cache, i) : 0;
    }
    return evicted;
}

static void geometry_finish(struct geometry_change *g) {
    struct geometry_facts f;
    geometry_note_waste(g);
    geometry_enter(g, GEOMETRY_STEADY);
    geometry_update_facts(g);
    geometry_facts(g, &f);
    geometry_set_why(g, "the change is complete");
    cache_sizes_settled(g->cache);
    log_info("geometry: done in %.1f s: %llu pages, %llu items copied, %llu dropped, waste %.1f %%",
             f.seconds, (unsigned long long)f.pages_drained, (unsigned long long)f.did.rescued,
             (unsigned long long)f.did.evicted, f.waste_now_pct);
}

static void geometry_hand_out_and_finish(struct geometry_change *g) {
    if (geometry_hand_out_page(g)) {
        g->then = geometry_hand_out_and_finish;
    } else {
        geometry_measure_waste(g, geometry_finish);
    }
}

/* Gives the next class its first page, unless a set was faster. After the last class, begins a pass
 * over the pages. */
static void geometry_grow_next_class(struct geometry_change *g) {
    unsigned id = 1;
    while (id < SLAB_CLASSES_MAX && !class_set_has(&g->wanting, id)) {
        id++;
    }
    if (id == SLAB_CLASSES_MAX) {
        g->passes = 0;
        geometry_begin_pass(g);
        return;
    }
    class_set_remove(&g->wanting, id);
    if (slab_pages_beyond(cache_slab(g->cache), id, 0) == 0) {
        refit_page_grow(&g->refit, id);
    }
    g->then = geometry_grow_next_class;
}

/* Puts the step's table in force. There are enough ids: else the change would have been refused. */
static void geometry_convert(struct geometry_change *g) {
    struct size_list before = slab_geometry(cache_slab(g->cache))->sizes;
    cache_set_sizes(g->cache, &g->step_sizes);
    cache_turns_note(g->ct, g->turns);
    g->turns_us = g->now_us;
    g->unquiet = true;
    geometry_classify(g, &before);
    g->fresh_evicted = geometry_evicted_by_fresh(g);
    geometry_grow_next_class(g);
}

/* Converts the next range. */
static void geometry_convert_next(struct geometry_change *g) {
    struct size_list before = slab_geometry(cache_slab(g->cache))->sizes;
    bool more = geometry_plan_step(&g->plan, &g->step_sizes);
    if (more || !size_list_same(&before, &g->step_sizes)) {
        if (geometry_brings_classes(g, &before, &g->step_sizes)) {
            geometry_hold_page(g, geometry_convert);
        } else {
            geometry_convert(g);
        }
    } else if (geometry_old_pages_left(g)) {
        /* from now on each pass is one look at the pages that are left */
        g->passes = PASSES_IN_USE;
        geometry_begin_pass(g);
        g->due_us = g->now_us + STRAGGLERS_US;
    } else {
        g->then = geometry_hand_out_and_finish;
    }
}

static void geometry_note_waste_and_convert(struct geometry_change *g) {
    geometry_note_waste(g);
    geometry_convert_next(g);
}

/* All turns from before the last change of the table must have ended. */
static void geometry_next_range(struct geometry_change *g) {
    cache_reap_classes(g->cache, &g->named);
    if (g->now_us - g->measured_us > MEASURE_US) {
        geometry_measure_waste(g, geometry_note_waste_and_convert);
    } else {
        geometry_convert_next(g);
    }
}

/* --- pages --- */

static bool geometry_page_is_old(const struct geometry_change *g, uint32_t page) {
    const struct slab *slab = cache_slab(g->cache);
    unsigned class_id = slab_page_class(slab, page);
    if (class_id == SLAB_CLASS_NONE) {
        return false;
    }
    if (slab_class_state(slab, class_id) == SLAB_CLASS_RETIRED) {
        return true;
    }
    /* pages of classes that stay are inspected in one pass, those of retired classes in all */
    return g->passes == 0 && class_set_has(&g->mixed, class_id) &&
           !cache_page_fits(g->cache, page);
}

static double geometry_rate_pct(const struct geometry_change *g) {
    return g->settings->rate_pct > 0 ? g->settings->rate_pct : GEOMETRY_RATE_PCT;
}

/* How long one page may take at today's pace. */
static uint64_t geometry_pace_us(const struct geometry_change *g) {
    const struct arena *a = cache_slab(g->cache)->arena;
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed),
             out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    /* with a page for each of many classes, more pages may be out than the limit allows */
    uint32_t pages = out > limit ? out : limit;
    bool fills = arena_pages_free(a) > 0;
    double a_second = pages * geometry_rate_pct(g) / 100 * (g->hasty || fills ? GEOMETRY_HASTE : 1);
    if (fills && a_second < FILLING_PAGES_A_SECOND) {
        a_second = FILLING_PAGES_A_SECOND;
    }
    return (uint64_t)((double)CLOCK_SECOND_US / (a_second > 0.01 ? a_second : 0.01));
}

static void geometry_follow_evictions(struct geometry_change *g) {
    uint64_t now_us = g->now_us, evicted = geometry_evicted_by_fresh(g);
    g->hasty = evicted > g->fresh_evicted;
    if (g->hasty && g->due_us > now_us + geometry_pace_us(g)) {
        g->due_us = now_us + geometry_pace_us(g);
    }
    g->fresh_evicted = evicted;
    g->evictions_due_us = now_us + EVICTIONS_US;
}

static void geometry_note_in_use(struct geometry_change *g) {
    g->in_use++;
    lock_take(&g->lock);
    g->facts.pages_in_use++;
    lock_release(&g->lock);
}

static void geometry_page_ended(struct geometry_change *g) {
    switch (g->refit.result) {
    case REFIT_EMPTIED:
        g->due_us = g->page_due_us;
        geometry_print_range(g);
        break;
    case REFIT_CANCELLED: g->page = g->refit.page.page; break;
    case REFIT_NOT_NOW: g->in_use++; break;
    case REFIT_IN_USE:
        geometry_note_in_use(g);
        break;
    case REFIT_NO_ROOM:
        g->no_room = true;
        g->due_us = g->now_us + NO_ROOM_US;
        geometry_set_why(g, "no room for the live items of old pages, and nothing may be evicted");
        break;
    }
}

/* Empties the page before the one where the pass goes on. */
static void geometry_empty_page(struct geometry_change *g) {
    refit_page_begin(&g->refit, g->page - 1, g->now_us);
    g->then = geometry_page_ended;
}

/* Whether a page is tried in this pass. Pages that readers hold are left for the last passes. Then
 * each pass tries one of them, in the order of pages, because a copy takes as much memory again
 * until the reader of the original is done. A page that was in use at every look is tried, too:
 * each time another client may have been the reader. */
static bool geometry_page_is_due(struct geometry_change *g, uint32_t page) {
    if (!drain_page_is_held(g->cache, page)) {
        return true;
    }
    if (g->passes < PASSES_IN_USE || g->tried_in_use || page < g->try_in_use) {
        geometry_note_in_use(g);
        return false;
    }
    g->tried_in_use = true;
    g->try_in_use = page + 1;
    return true;
}

/* Begins another pass while retired classes have pages. A page that a slow client holds does not
 * hold up the other ranges. */
static void geometry_end_pass(struct geometry_change *g) {
    bool go_on = g->in_use > 0 && !g->no_room && g->passes + 1 >= PASSES_IN_USE;
    g->passes++;
    if (g->in_use > 0 && !g->no_room) {
        geometry_set_why(g, "%u old pages are in use: something in them is being stored or sent",
                         g->in_use);
    }
    if (!geometry_old_pages_left(g) || go_on) {
        g->page = UINT32_MAX;
        return;
    }
    if (g->in_use > 0 && g->due_us < g->now_us + RETRY_US) {
        g->due_us = g->now_us + RETRY_US;
    }
    geometry_begin_pass(g);
}

/* Inspects one page, if need be each of its chunks. */
static bool geometry_find_page_step(void *arg, uint64_t now_us) {
    struct geometry_change *g = arg;
    (void)now_us;
    g->found = geometry_page_is_old(g, g->page) && geometry_page_is_due(g, g->page);
    g->page++;
    return !g->found && g->page < g->page_end;
}

static void geometry_page_found(struct geometry_change *g) {
    uint64_t last_us = g->due_us + CLOCK_SECOND_US > g->now_us ? g->due_us : g->now_us;
    if (!g->found) {
        geometry_end_pass(g);
        return;
    }
    g->refit.pace_us = geometry_pace_us(g);
    g->page_due_us = last_us + geometry_pace_us(g);
    /* later passes find few items that are not copied yet: they need no page at hand */
    if (g->passes < PASSES_IN_USE) {
        geometry_hold_page(g, geometry_empty_page);
    } else {
        geometry_empty_page(g);
    }
}

/* Continues the pass up to the next page to empty. */
static void geometry_search_pages(struct geometry_change *g) {
    g->page_end = arena_page_end(cache_slab(g->cache)->arena);
    g->found = false;
    if (g->page < g->page_end) {
        geometry_run(g, geometry_find_page_step, geometry_page_found);
    } else {
        geometry_end_pass(g);
    }
}

static void geometry_work(struct geometry_change *g) {
    bool overdue = g->now_us > g->turns_us + PAGE_WAIT_US;
    if (g->unquiet && !cache_turns_ended(g->cache, g->turns)) {
        g->due_us = g->now_us + (overdue ? RETRY_US : TURNS_LOOK_US);
        if (overdue) {
            geometry_set_why(g, "a worker is busy for too long");
        }
        return;
    }
    if (g->unquiet) {
        g->unquiet = false;
        geometry_print_range(g);
    }
    if (g->page == UINT32_MAX) {
        geometry_next_range(g);
    } else {
        geometry_search_pages(g);
    }
}

/* The number of pages in use at which the next look comes: twice as many as now, or all. */
static uint32_t geometry_next_fit_pages(const struct arena *a) {
    uint32_t limit = atomic_load_explicit(&a->page_limit, memory_order_relaxed),
             out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    if (out >= limit) {
        return UINT32_MAX;
    }
    uint32_t pages = limit / FIRST_LOOK_SHARE > 0 ? limit / FIRST_LOOK_SHARE : 1;
    pages = pages < FIRST_LOOK_PAGES ? pages : FIRST_LOOK_PAGES;
    while (pages <= out) {
        pages = pages < limit / 2 ? pages * 2 : limit;
    }
    return pages;
}

/* Looks for better sizes while no change is under way. Returns when the next look is due. */
static uint64_t geometry_step_fit(struct geometry_change *g) {
    if (!g->may_move || g->state != GEOMETRY_STEADY ||
        cache_store_kind(g->cache) != CACHE_STORE_SLAB) {
        g->fit_due_us = g->now_us + GEOMETRY_LOOK_US;
        return GEOMETRY_NEVER;
    }
    const struct arena *a = cache_slab(g->cache)->arena;
    if (g->settings->follow != g->followed || g->now_us >= g->fit_due_us ||
        atomic_load_explicit(&a->pages_out, memory_order_relaxed) >= g->fit_due_pages) {
        g->followed = g->settings->follow;
        g->fit_due_pages = geometry_next_fit_pages(a);
        geometry_fit_check(g);
    }
    return g->fit_due_us;
}

/* --- the machine --- */

static void geometry_take_up(struct geometry_change *g) {
    struct size_list from = slab_geometry(cache_slab(g->cache))->sizes, to = from;
    struct geometry_prediction prediction;
    cache_sizes_wanted(g->cache, &to);
    geometry_predict(g, &from, &to, &prediction);
    geometry_begin_own(g, &to, &prediction, "of the start's options");
}

/* At the start: takes up a change again. The memory file may have the chunk sizes of other options,
 * or be from amid a change. */
static void geometry_continue(struct geometry_change *g) {
    struct size_list from = slab_geometry(cache_slab(g->cache))->sizes, to = from;
    bool wanted = cache_sizes_wanted(g->cache, &to) || geometry_old_pages_left(g);
    if (g->may_move && wanted && geometry_has_ids(g, &from, &to)) {
        geometry_measure(g, geometry_take_up);
        return;
    }
    if (g->may_move && wanted) {
        log_warn("geometry: the memory file's chunk sizes stay: with the requested sizes there "
                 "would be more classes than there can be");
    }
    geometry_enter(g, g->state); /* the facts said STARTING until now */
}

/* When the job or page under way needs its next step; PACE_DONE: none is under way. */
static uint64_t geometry_jobs_due_us(struct geometry_change *g) {
    if (!pace_job_done(&g->job) || !pace_job_done(&g->class_choice.job) ||
        !pace_job_done(&g->picked.job)) {
        return PACE_NEVER;
    }
    if (g->order != NULL) {
        refit_page_cancel(&g->refit); /* an order does not wait for a page */
    }
    return refit_page_step(&g->refit, g->now_us);
}

/* When the next step of the change is due. */
static uint64_t geometry_due_us(struct geometry_change *g) {
    if (geometry_rate_pct(g) > g->rate_seen_pct && g->due_us > g->now_us + geometry_pace_us(g)) {
        g->due_us = g->now_us + geometry_pace_us(g); /* the rate has risen */
    }
    g->rate_seen_pct = geometry_rate_pct(g);
    if (g->now_us >= g->evictions_due_us) {
        geometry_follow_evictions(g);
        geometry_update_facts(g);
    }
    return g->due_us < g->evictions_due_us ? g->due_us : g->evictions_due_us;
}

void geometry_hold_ids(struct geometry_change *g, const struct class_set *named) {
    g->named = *named;
}

/* After a change: frees the ids that jobs still named when it ended. */
static void geometry_reap_ids(struct geometry_change *g) {
    unsigned id = 1;
    while (id < SLAB_CLASSES_MAX &&
           slab_class_state(cache_slab(g->cache), id) != SLAB_CLASS_RETIRED) {
        id++;
    }
    if (id < SLAB_CLASSES_MAX && g->state == GEOMETRY_STEADY && !g->unquiet) {
        cache_reap_classes(g->cache, &g->named);
    }
}

/* Begins one piece of work that is due. Returns when the next one is due. */
static uint64_t geometry_begin_next(struct geometry_change *g) {
    if (!g->began) {
        g->began = true;
        geometry_continue(g);
        geometry_update_facts(g);
        return g->now_us;
    }
    geometry_reap_ids(g);
    if (!geometry_order_serve(g)) {
        uint64_t due_us = geometry_step_fit(g);
        if (g->then != NULL) {
            return g->now_us; /* a look at the items' sizes has begun */
        }
        due_us = g->state == GEOMETRY_DRAINING ? geometry_due_us(g) : due_us;
        if (g->state != GEOMETRY_DRAINING || g->now_us < g->due_us) {
            return due_us;
        }
        geometry_work(g);
    }
    geometry_update_facts(g);
    return g->now_us;
}

uint64_t geometry_step(struct geometry_change *g, uint64_t now_us) {
    g->now_us = now_us;
    uint64_t due_us = geometry_jobs_due_us(g);
    void (*then)(struct geometry_change *) = g->then;
    if (due_us != PACE_DONE) {
        return due_us;
    }
    if (then == NULL) {
        return geometry_begin_next(g);
    }
    g->then = NULL;
    then(g);
    geometry_update_facts(g);
    return now_us;
}

/* --- its life --- */

struct geometry_change *geometry_create(struct cache *cache, struct cache_thread *ct,
                                        struct pace *pace, bool may_move,
                                        const struct geometry_settings *settings, uint64_t now_us) {
    struct geometry_change *g = calloc(1, sizeof *g);
    if (g == NULL) {
        return NULL;
    }
    g->cache = cache;
    g->ct = ct;
    g->pace = pace;
    g->now_us = now_us;
    g->may_move = may_move;
    g->settings = settings;
    g->fit_due_us = g->now_us + GEOMETRY_LOOK_US;
    g->fit_due_pages = geometry_next_fit_pages(cache_slab(cache)->arena);
    lock_init(&g->lock);
    g->plan.to = slab_geometry(cache_slab(cache))->sizes;
    refit_page_init(&g->refit, cache, ct, pace);
    enum cache_store_kind store = cache_store_kind(cache);
    if (store != CACHE_STORE_SLAB) {
        geometry_set_why(g, "no chunks have sizes in --store=%s", cache_store_name(store));
    } else {
        geometry_set_why(g, "%s", may_move ? "no change was requested" : "slab_reassign is off");
    }
    if (cache_slab(cache)->arena->file != NULL && may_move) {
        g->facts.state = GEOMETRY_STARTING;
    }
    geometry_update_facts(g);
    return g;
}

void geometry_destroy(struct geometry_change **taken) {
    struct geometry_change *g = *taken;
    *taken = NULL;
    if (g == NULL) {
        return;
    }
    geometry_order_refuse(g);
    refit_page_end(&g->refit);
    if (g->search != NULL) {
        fit_end(&g->search, &g->fitted);
    }
    lock_fini(&g->lock);
    free(g);
}
