/* Finds the pages of a class that are to leave it, and empties one, at the owner's pace. Threading:
 * as of mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* As cache_spare_pages, in one step of the pace. */
unsigned pick_pages(struct pace *, struct cache_thread *, unsigned class_id, enum page_pick,
                    uint32_t pages[CACHE_SPARE_MAX]);
/* Whether something in a page is being stored or sent, and may be so for long. Small values are in
 * use only for a moment, so pages of small chunks are not looked at. */
bool page_is_held(struct cache *, uint32_t page);

/* What the owner sets. */
struct emptying {
    struct moving_page  *page;
    struct pace         *pace;
    struct page_driver   driver; /* thread, chunk, arg; `did` tells what became of the items */
    /* whether another pass may follow one that left something; else the page goes back */
    bool               (*again)(void *arg);
    /* when set, the page goes back after the step under way; NULL: nothing ends it */
    const _Atomic bool  *cancel;
    /* the time that all rests of a pass take together; 0: the pace's own rests only */
    uint64_t             rest_us;
};

/* Passes over the chunks until all are free. Between two passes it rests, longer each time. True:
 * the page is empty. False: it went back, at the latest after PAGE_PATIENCE_US in which something
 * stayed. */
bool emptying_run(struct emptying *);
#endif
