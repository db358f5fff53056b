/* Empties a page that was taken, at the owner's pace: passes over its chunks until all are free.
 * Between two passes it rests, longer each time. Threading: as of mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* After its first pass, what is left in a page is in use. If something stays in use for this long,
 * the page is given up. Once a page is empty, a worker's turn may last this long. */
enum { EMPTY_PATIENCE_US = 100 * 1000 };

struct emptying {
    /* What the owner sets. */
    struct page_take *take;
    struct pace      *pace;
    unsigned        (*chunk)(void *arg, uint32_t chunk); /* as `chunk` of cache_page_pass */
    void             *arg;
    /* when set, the pass ends after the step under way; NULL: nothing ends it */
    const _Atomic bool  *cancel;
    /* the time that all rests of a pass take together; 0: the pace's own rests only */
    uint64_t             rest_us;

    /* What empty.c sets. */
    struct pace_job job;
    uint64_t        give_up_us; /* when the page is given up; 0: the first pass has not ended */
    unsigned        backoff_us;
};

/* Goes over every chunk once. True: the page is empty. */
bool emptying_pass(struct emptying *);
/* Whether another pass may follow. With `rest` it rests first. */
bool emptying_again(struct emptying *, bool rest);
#endif
