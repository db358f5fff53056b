/* Empties a page that was taken, at the owner's pace: passes over its chunks until all are free.
 * Between two passes it rests, longer each time. Threading: as of mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* What the owner sets. */
struct emptying {
    struct moving_page  *page;
    struct pace         *pace;
    struct cache_thread *ct;
    enum cache_moved   (*chunk)(void *arg, uint32_t page, uint32_t chunk); /* a driver's */
    /* whether another pass may follow one that left something; else the page goes back */
    bool               (*again)(void *arg);
    void                *arg;
    /* when set, the page goes back after the step under way; NULL: nothing ends it */
    const _Atomic bool  *cancel;
    /* the time that all rests of a pass take together; 0: the pace's own rests only */
    uint64_t             rest_us;
};

/* True: the page is empty. False: it went back, at the latest after PAGE_PATIENCE_US in which
 * something stayed. */
bool emptying_run(struct emptying *);
#endif
