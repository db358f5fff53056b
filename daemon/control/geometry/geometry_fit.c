/* Finds sizes that fit today's items, predicts their gain, and decides when to change to them. */
#include "base/log.h"
#include "control/geometry/geometry_change.h"

double geometry_waste_pct(const struct fit_histogram *h, double taken_bytes) {
    return taken_bytes > 0 ? (1 - (double)h->item_bytes / taken_bytes) * 100 : 0;
}

static bool geometry_fit_step(void *arg, uint64_t now_us) {
    struct geometry_change *g = arg;
    (void)now_us;
    bool more = fit_step(g->search);
    if (!more) {
        fit_end(&g->search, &g->fitted);
    }
    return more;
}

bool geometry_fit(struct geometry_change *g, unsigned classes_most, bool cautious,
                  void (*then)(struct geometry_change *)) {
    const struct slab *slab = cache_slab(g->cache);
    struct size_rules rules;
    slab_rules(slab, &rules);
    struct fit_limits limits = {
        .classes_most = classes_most != 0 ? classes_most : slab->class_most,
        .used_classes_most = classes_most != 0 ? classes_most : FIT_CLASSES_MOST,
        .pages = atomic_load_explicit(&slab->arena->page_limit, memory_order_relaxed),
        .cautious = cautious,
    };
    g->search = fit_begin(&g->sizes, &rules, &limits);
    if (g->search == NULL) {
        return false;
    }
    geometry_run(g, geometry_fit_step, then);
    return true;
}

bool geometry_has_ids(const struct geometry_change *g, const struct size_list *from,
                      const struct size_list *to) {
    struct size_list both;
    return geometry_plan_union(from, to, &both) &&
           slab_ids_missing(cache_slab(g->cache), &both) == 0;
}

void geometry_predict(const struct geometry_change *g, const struct size_list *from,
                      const struct size_list *to, struct geometry_prediction *k) {
    uint32_t pages =
        atomic_load_explicit(&cache_slab(g->cache)->arena->page_limit, memory_order_relaxed);
    *k = (struct geometry_prediction){
        .pages = pages,
        .items_before = fit_items(&g->sizes, from, pages),
        .items_after = fit_items(&g->sizes, to, pages),
        .waste_before_pct = geometry_waste_pct(&g->sizes, g->sizes.taken_bytes),
        .waste_after_pct = geometry_waste_pct(&g->sizes, fit_memory(&g->sizes, to, 0, PAGE_BYTES)),
    };
}

double geometry_gain_pct(const struct geometry_prediction *k) {
    return k->items_before > 0 ? (k->items_after / k->items_before - 1) * 100 : 0;
}

/* --- sizes that come later --- */

static void geometry_fit_note(struct geometry_change *g, double gain_pct) {
    lock_take(&g->lock);
    g->facts.auto_gain_pct = gain_pct;
    g->facts.waste_now_pct = geometry_waste_pct(&g->sizes, g->sizes.taken_bytes);
    lock_release(&g->lock);
}

/* Whether items fill enough pages for a judgement, and the gain is worth a change. A few items may
 * take a page of each of many classes, and say nothing of the items to come. A gain of less than a
 * page lies within the rounding of pages: the next look might find a loss. */
static bool geometry_fit_is_worth_it(const struct geometry_change *g,
                                     const struct geometry_prediction *k) {
    const struct arena *a = cache_slab(g->cache)->arena;
    double gain_pct = geometry_gain_pct(k),
           out = atomic_load_explicit(&a->pages_out, memory_order_relaxed);
    return g->sizes.taken_bytes * g->sizes.every >= out * PAGE_BYTES / 2 &&
           gain_pct >= GEOMETRY_GAIN_LEAST_PCT && gain_pct * k->pages >= 100;
}

/* Whether the sizes of the previous look still bring most of the gain with today's items. While
 * each look finds new items of other sizes, a change would soon be out of date. */
static bool geometry_fit_is_steady(const struct geometry_change *g, const struct size_list *wished,
                                   const struct geometry_prediction *k) {
    return wished->count > 0 &&
           fit_items(&g->sizes, wished, k->pages) - k->items_before >=
               (k->items_after - k->items_before) * GEOMETRY_STEADY_PCT / 100;
}

static void geometry_fit_done(struct geometry_change *g) {
    struct geometry_prediction prediction;
    struct size_list from = slab_geometry(cache_slab(g->cache))->sizes, wished = g->wished,
                     *to = &g->fitted;
    g->wished.count = 0;
    geometry_predict(g, &from, to, &prediction);
    geometry_fit_note(g, geometry_gain_pct(&prediction));
    if (!geometry_fit_is_worth_it(g, &prediction) || !geometry_has_ids(g, &from, to)) {
        return;
    }
    g->wished = *to;
    if (!g->settings->follow) {
        return;
    }
    g->fit_due_us = g->now_us + GEOMETRY_CONFIRM_US;
    if (geometry_fit_is_steady(g, &wished, &prediction)) {
        log_info("geometry: the items are of other sizes than the classes were fitted to");
        g->wished.count = 0;
        geometry_begin_own(g, to, &prediction, "fitted to the items");
    }
}

static void geometry_fit_measured(struct geometry_change *g) {
    g->fit_due_us = g->now_us + GEOMETRY_LOOK_US;
    if (g->sizes.items == 0 || !geometry_fit(g, 0, true, geometry_fit_done)) {
        g->wished.count = 0;
        geometry_fit_note(g, 0);
    }
}

void geometry_fit_check(struct geometry_change *g) { geometry_measure(g, geometry_fit_measured); }
