/* Begins a change of the chunk sizes, and a pass over the pages; measures the sizes of the
 * items. */
#include <stdio.h>

#include "base/log.h"
#include "control/geometry/geometry_change.h"

void geometry_begin_pass(struct geometry_change *g) {
    g->page = 0;
    g->in_use = 0;
    g->no_room = false;
    g->try_in_use = g->tried_in_use ? g->try_in_use : 0;
    g->tried_in_use = false;
}

void geometry_begin(struct geometry_change *g, const struct size_list *from,
                    const struct size_list *to, const struct geometry_prediction *prediction) {
    geometry_plan_make(&g->plan, from, to, &g->sizes);
    refit_page_release(&g->refit);
    refit_page_init(&g->refit, g->cache, g->ct, g->pace);
    g->pool_before = arena_pages_free(cache_slab(g->cache)->arena);
    g->fresh = g->mixed = (struct class_set){{0}};
    g->passes = 0;
    geometry_begin_pass(g);
    g->page = UINT32_MAX; /* the first step comes next */
    g->due_us = g->evictions_due_us = g->now_us;
    lock_take(&g->lock);
    g->facts = (struct geometry_facts){
        .generation = g->facts.generation + 1,
        .from = *from,
        .to = *to,
        .items_before = (uint64_t)prediction->items_before,
        .items_predicted = (uint64_t)prediction->items_after,
        .waste_before_pct = prediction->waste_before_pct,
        .waste_now_pct = prediction->waste_before_pct,
        .waste_predicted_pct = prediction->waste_after_pct,
    };
    g->since_us = 0;
    lock_release(&g->lock);
    geometry_enter(g, GEOMETRY_DRAINING);
    geometry_set_why(g, "about to convert the first range");
    geometry_update_facts(g);
    log_info("geometry: %u chunk sizes instead of %u, waste %.1f %% -> %.1f %% predicted",
             to->count, from->count, prediction->waste_before_pct, prediction->waste_after_pct);
}

void geometry_on_own_change(struct geometry_change *g,
                            void (*run)(void *, const char *, const char *), void *arg) {
    g->on_own = run;
    g->on_own_arg = arg;
}

void geometry_begin_own(struct geometry_change *g, const struct size_list *to,
                        const struct geometry_prediction *prediction, const char *why) {
    enum { WORDS_BYTES = 64 };
    char was[WORDS_BYTES], is[WORDS_BYTES];
    const struct slab *slab = cache_slab(g->cache);
    struct size_list from = slab_geometry(slab)->sizes;
    g->was = from;
    geometry_begin(g, &from, to, prediction);
    if (g->on_own != NULL && !size_list_same(&from, to)) {
        snprintf(was, sizeof was, "%u%s", from.count,
                 size_list_same(&from, &slab->configured_sizes) ? " of the start" : "");
        snprintf(is, sizeof is, "%u %s", to->count, why);
        g->on_own(g->on_own_arg, was, is);
    }
}

void geometry_run(struct geometry_change *g, bool (*step)(void *, uint64_t now_us),
                  void (*then)(struct geometry_change *)) {
    g->job = (struct pace_job){.ct = g->ct, .step = step, .arg = g};
    g->then = then;
    pace_begin(g->pace, &g->job, g->now_us);
}

static bool geometry_measure_step(void *arg, uint64_t now_us) {
    struct geometry_change *g = arg;
    (void)now_us;
    return cache_sizing_step(g->cache, &g->sizing);
}

void geometry_measure(struct geometry_change *g, void (*then)(struct geometry_change *)) {
    cache_sizing_begin(g->cache, &g->sizing, &g->sizes, CACHE_SIZES_PAGES);
    geometry_run(g, geometry_measure_step, then);
}
