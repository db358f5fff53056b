/* Empties pages, item by item, into the classes that their items' sizes belong to by the current
 * geometry.
 *
 * A few pages are held back meanwhile, so that a class which runs out of chunks for what comes gets
 * one at once. When there is none, and no page in the pool, an item stays in its old class, or what
 * was used longest ago makes room; but not while something in the page is being stored or sent, for
 * then the page cannot be had. Threading: as of tune/pages/mover.h. Cost: 0.3 to 1 us a chunk while
 * there is room, some 5 us when there is none. */
#ifndef SLATE_TUNE_PAGES_REFIT_H
#define SLATE_TUNE_PAGES_REFIT_H
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

enum { REFIT_HELD_MAX = 8 };

struct refit {
    struct cache        *cache;
    struct cache_thread *ct;
    struct pace         *pace;     /* the owner's */
    uint32_t held[REFIT_HELD_MAX]; /* pages of nobody */
    unsigned held_count, held_most;
    uint64_t pace_us;              /* that a page may take; 0: no time for rests */
    uint64_t pages, items_copied, chunks_copied, items_dropped, items_expired; /* so far */
};

enum refit_result {
    REFIT_EMPTIED, /* and the page is held, or in the pool */
    REFIT_IN_USE,  /* put back: something in it is being stored or sent */
    REFIT_NO_ROOM, /* put back: there is no room for what lives in it, and nothing may be evicted */
    REFIT_NOT_NOW, /* it is on the move already, or of no class */
};

void refit_init(struct refit *, struct cache *, struct cache_thread *, struct pace *);
enum refit_result refit_page(struct refit *, uint32_t page);
/* A held page or one of the pool for a class that is about to need it; false: there is none. */
bool refit_grow(struct refit *, unsigned class_id);
void refit_release(struct refit *); /* gives the held pages to the pool */
#endif
