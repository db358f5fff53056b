/* Empties pages: each item moves to the class that its size belongs to by the current geometry.
 *
 * A few emptied pages are held back. A class that runs out of chunks for the items gets one of them
 * at once. If no page is held back, and the pool is empty, an item stays in its old class, or the
 * item that was not used for longest is dropped. Nothing is dropped for a page in which something
 * is being stored or sent, because that page cannot be emptied.
 *
 * Threading: as of control/pages/mover.h. Cost: 0.3 to 1 us a chunk while there is room, some 5 us
 * when there is none. */
#ifndef SLATE_CONTROL_PAGES_REFIT_PAGE_H
#define SLATE_CONTROL_PAGES_REFIT_PAGE_H
#include <stdint.h>

#include "control/pages/drain.h"

enum { REFIT_HELD_MAX = 8 };

enum refit_result {
    REFIT_EMPTIED, /* the page is empty, and is held back or in the pool */
    REFIT_IN_USE,  /* the page was put back: something in it is being stored or sent */
    /* the page was put back: there is no room for what lives in it, and nothing may be evicted */
    REFIT_NO_ROOM,
    REFIT_NOT_NOW, /* the page is on the move already, or belongs to no class */
    REFIT_CANCELLED, /* the page was put back */
};

struct refit_page {
    struct cache        *cache;
    struct cache_thread *ct;
    uint32_t held[REFIT_HELD_MAX]; /* pages that no class has */
    unsigned held_count, held_most;
    uint64_t pace_us;              /* how long a page may take; 0: no pauses */
    uint64_t             pages;    /* emptied so far */
    struct page_counts   did;
    /* the page under way, and the result of the last one */
    bool                 under_way;
    enum refit_result    result;
    struct moving_page   page;
    struct drain         drain;
    uint64_t             turns_until_us; /* once it is empty; 0: it is not yet */
    bool                 may_evict;
    /* why chunks stay: something is being stored or sent; an item found no chunk in its class */
    bool                 in_use, no_room;
};

void refit_page_init(struct refit_page *, struct cache *, struct cache_thread *, struct pace *);
void     refit_page_begin(struct refit_page *, uint32_t page, uint64_t now_us);
/* Returns as pace.h says; when the page is done, there is a `result`. */
uint64_t refit_page_step(struct refit_page *, uint64_t now_us);
void refit_page_cancel(struct refit_page *); /* a page that is not empty yet goes back soon */
/* While no page is under way: */
/* Gives a page to a class that will need it: one that was held back, or one of the pool. False:
 * there is none. */
bool refit_page_grow(struct refit_page *, unsigned class_id);
void refit_page_release(struct refit_page *); /* gives the held pages to the pool */
void refit_page_end(struct refit_page *); /* for good: the pace's thread has ended */
#endif
