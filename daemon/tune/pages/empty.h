/* Empties a page that was taken, at the pace of its owner: passes over its chunks until all are
 * free. Between two passes it rests, longer each time. Threading: as of mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* After the first pass all that can leave the page has left. For so long after it something may
 * stay in use; then the page is given up. A turn of a worker may last so long after the page is
 * empty. */
enum { EMPTY_PATIENCE_US = 100 * 1000 };

struct emptying {
    /* The owner's. */
    struct page_take *take;
    struct pace      *pace;
    unsigned        (*chunk)(void *arg, uint32_t chunk); /* as of cache_page_pass */
    void             *arg;
    /* when set, a pass ends after the step under way; NULL: nothing ends it */
    const _Atomic bool  *cancel;
    /* how long all rests of a pass are to take together; 0: no longer than the pace's own */
    uint64_t             rest_us;

    /* empty.c's own. */
    struct pace_job job;
    uint64_t        give_up_us; /* 0: the first pass has not ended */
    unsigned        backoff_us;
};

/* Goes over every chunk once. True: the page is empty. */
bool emptying_pass(struct emptying *);
/* Whether to make another pass. With `rest` it rests first. */
bool emptying_again(struct emptying *, bool rest);
#endif
