/* Empties a page that drains: passes over its chunks until none is left in use.
 *
 * What becomes of a chunk is its owner's choice: the mover rescues or drops, a change of sizes
 * copies into another class. A chunk that looks free may yet be filled by a thread that took it
 * before the drain began, so each pass looks at all of them. Between two passes it rests, longer
 * each time. (A set that waits for a page, cache/steal.c, makes one pass and gives up at the first
 * chunk in use.) Threading: as of tune/pages/mover.h. */
#ifndef SLATE_TUNE_PAGES_EMPTY_H
#define SLATE_TUNE_PAGES_EMPTY_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "tune/pages/pace.h"

/* A page may stay in use so long after the first pass, when all that can leave has left; a turn of
 * a worker may last so long after that. */
enum { EMPTY_PATIENCE_US = 100 * 1000 };

struct emptying {
    /* The owner's. */
    struct cache        *cache;
    struct cache_thread *ct;
    struct pace         *pace;
    uint32_t             page;
    /* Tries to free a chunk, in a turn of ct; returns how many chunks it went over. */
    unsigned           (*chunk)(void *arg, uint32_t chunk);
    void                *arg;
    const _Atomic bool  *cancel;  /* ends a pass after the step under way; NULL: none does */
    uint64_t             rest_us; /* for the rests of a pass in all; 0: no more than the pace's */

    /* empty.c's own. */
    uint32_t        at, chunk_bytes;
    struct pace_job job;
    uint64_t        give_up_us; /* 0: before the end of the first pass */
    unsigned        backoff_us;
};

/* Of a page whose drain has begun: takes its chunks out of the stocks at hand. */
void emptying_begin(struct emptying *);
/* Goes over every chunk once. True: the page is empty. */
bool emptying_pass(struct emptying *);
/* Whether there is to be another pass; rests before it, when that may help. */
bool emptying_again(struct emptying *, bool rest);
#endif
