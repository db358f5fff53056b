/* Gets a page at hand for a change of the chunk sizes, and hands out the pages that it freed. */
#include <stdlib.h>

#include "control/geometry/geometry_change.h"
#include "control/snapshot.h"

enum { WANTING_SHARE = 8 }; /* a class wants a page when less than this share of one is free */

/* The value of a page's worth of items at the tail of a class: a page has many items if they are
 * small, and items that were last used long ago are seldom used. */
static double geometry_pages_tail_value(const struct snapshot_class *c) {
    return (double)c->chunks_per_page / (c->age_s + 1);
}

/* The class that needs a page most: of those with hardly a free chunk, the one with the most
 * valuable tail. */
static unsigned geometry_pages_dearest_class(const struct snapshot *s) {
    unsigned dearest = SLAB_CLASS_NONE;
    double most = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        if (c->pages > 0 && c->free_chunks * WANTING_SHARE < c->chunks_per_page &&
            geometry_pages_tail_value(c) > most) {
            dearest = i;
            most = geometry_pages_tail_value(c);
        }
    }
    return dearest;
}

bool geometry_hand_out_page(struct geometry_change *g) {
    static const struct class_set nobody;
    const struct slab *slab = cache_slab(g->cache);
    struct snapshot *s = malloc(sizeof *s);
    unsigned dearest = SLAB_CLASS_NONE;
    if (s != NULL && g->handed_out < g->refit.pages &&
        g->refit.held_count + arena_pages_free(slab->arena) > g->pool_before) {
        snapshot_take(g->cache, &nobody, s);
        dearest = geometry_pages_dearest_class(s);
    }
    free(s);
    bool handed = dearest != SLAB_CLASS_NONE &&
                  slab_class_state(slab, dearest) == SLAB_CLASS_ACTIVE &&
                  refit_page_grow(&g->refit, dearest);
    if (!handed) {
        refit_page_release(&g->refit);
    }
    g->handed_out = handed ? g->handed_out + 1 : 0;
    return handed;
}

/* --- a page at hand --- */

/* Without a page at hand the retired class makes room for its own items. */
static void geometry_pages_refit_picked(struct geometry_change *g) {
    g->then = g->after_hold;
    for (unsigned i = 0; i < g->picked.count; i++) {
        if (!drain_page_is_held(g->cache, g->picked.pages[i])) {
            refit_page_begin(&g->refit, g->picked.pages[i], g->now_us);
            return;
        }
    }
}

static void geometry_pages_pick(struct geometry_change *g) {
    g->then = g->after_hold;
    if (class_choice_found(&g->class_choice)) {
        drain_pick_begin(&g->picked, g->pace, g->ct, g->holding.from, PICK_LEAST_VALUE, g->now_us);
        g->then = geometry_pages_refit_picked;
    }
}

void geometry_hold_page(struct geometry_change *g, void (*then)(struct geometry_change *)) {
    static const struct class_set nobody;
    bool at_hand = g->refit.held_count > 0 || arena_pages_free(cache_slab(g->cache)->arena) > 0;
    g->holding = (struct page_move){.to = SLAB_CLASS_NONE, .pages = 1};
    g->after_hold = g->then = then;
    if (!at_hand && class_choice_begin(&g->class_choice, g->pace, g->cache, g->ct, &nobody,
                                       &g->holding, g->now_us)) {
        g->then = geometry_pages_pick;
    }
}
