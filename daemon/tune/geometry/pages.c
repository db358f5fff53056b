/* A page at hand for a change of the chunk sizes, and the classes that get those that it freed. */
#include <stdlib.h>

#include "tune/geometry/change.h"
#include "tune/pages/empty.h"
#include "tune/pages/spare.h"
#include "tune/snapshot.h"

enum { WANTING_SHARE = 8 }; /* a class wants a page when less than this share of one is free */

/* The value of a page's worth of items at the tail of a class: items of small chunks are many, and
 * items used long ago are seldom used. */
static double tail_value(const struct snapshot_class *c) {
    return (double)c->chunks_per_page / (c->age_s + 1);
}

/* The class that needs a page most: of those with hardly a free chunk, the one with the most
 * valuable tail. */
static unsigned dearest_class(const struct snapshot *s) {
    unsigned dearest = SLAB_CLASS_NONE;
    double most = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        const struct snapshot_class *c = &s->classes[i];
        if (c->pages > 0 && c->free_chunks * WANTING_SHARE < c->chunks_per_page &&
            tail_value(c) > most) {
            dearest = i;
            most = tail_value(c);
        }
    }
    return dearest;
}

void geometry_hand_out(struct geometry_change *g) {
    static const struct class_set nobody;
    const struct arena *arena = cache_slab(g->cache)->arena;
    struct snapshot *s = malloc(sizeof *s);
    for (uint64_t left = g->refit.pages;
         s != NULL && left > 0 && g->refit.held_count + arena_pages_free(arena) > g->pool_before;
         left--) {
        snapshot_take(g->cache, &nobody, s);
        unsigned dearest = dearest_class(s);
        if (dearest == SLAB_CLASS_NONE ||
            slab_class_state(cache_slab(g->cache), dearest) != SLAB_CLASS_ACTIVE ||
            !refit_grow(&g->refit, dearest)) {
            break;
        }
    }
    free(s);
    refit_release(&g->refit);
}

/* The page of least value that no client holds, of the class that can best spare one; PAGE_NONE:
 * there is none. */
static uint32_t cheapest_page(struct geometry_change *g) {
    static const struct class_set nobody;
    uint32_t pages[CACHE_SPARE_MAX];
    struct page_move move = {.to = SLAB_CLASS_NONE, .pages = 1};
    if (!spare_choose(g->cache, g->ct, g->refit.pace, &nobody, &move)) {
        return PAGE_NONE;
    }
    unsigned n = pick_pages(g->refit.pace, g->ct, move.from, PICK_LEAST_VALUE, pages);
    for (unsigned i = 0; i < n; i++) {
        if (!page_is_held(g->cache, pages[i])) {
            return pages[i];
        }
    }
    return PAGE_NONE;
}

void geometry_keep_a_page(struct geometry_change *g) {
    if (g->refit.held_count > 0 || arena_pages_free(cache_slab(g->cache)->arena) > 0) {
        return;
    }
    uint32_t page = cheapest_page(g);
    if (page != PAGE_NONE) {
        /* without a page at hand the retired class makes room for its own items */
        refit_page(&g->refit, page);
    }
}
