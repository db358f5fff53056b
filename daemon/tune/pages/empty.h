/* Empties a page that was taken, at the pace of its owner: passes over its chunks until none is
 * left in use. Between two passes it rests, longer each time. Threading: as of mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages.h"
#include "tune/pages/pace.h"

/* A page may stay in use so long after the first pass, when all that can leave has left; a turn of
 * a worker may last so long after that. */
enum { EMPTY_PATIENCE_US = 100 * 1000 };

struct emptying {
    /* The owner's. */
    struct page_take *take;
    struct pace      *pace;
    unsigned        (*chunk)(void *arg, uint32_t chunk); /* as of cache_page_pass */
    void             *arg;
    const _Atomic bool  *cancel;  /* ends a pass after the step under way; NULL: none does */
    uint64_t             rest_us; /* for the rests of a pass in all; 0: no more than the pace's */

    /* empty.c's own. */
    struct pace_job job;
    uint64_t        give_up_us; /* 0: before the end of the first pass */
    unsigned        backoff_us;
};

/* Goes over every chunk once. True: the page is empty. */
bool emptying_pass(struct emptying *);
/* Whether there is to be another pass; rests before it, when that may help. */
bool emptying_again(struct emptying *, bool rest);
#endif
