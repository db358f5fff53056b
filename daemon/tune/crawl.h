/* The crawler: walks the whole index bucket by bucket and frees what has expired, a slice at a
 * time.
 *
 * It runs when asked; when the cache was flushed, so that what is gone gives its memory back and is
 * counted no more; and by itself: first a minute after the start, then after each run as long again
 * as its harvest deserves: half as long when at least one item in a hundred was dead, else twice as
 * long, between a minute and an hour. Threading: the owner's thread, through its cache_thread;
 * `running` and `starts` may be read by anyone. */
#ifndef SLATE_TUNE_CRAWL_H
#define SLATE_TUNE_CRAWL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum { CRAWL_EVERY_MIN_S = 60, CRAWL_EVERY_MAX_S = 3600 };

struct crawler {
    struct cache_thread *ct;
    struct cache_walk    walk;
    struct cache_walked *seen; /* the walk's copies of live items, which nobody here looks at */
    uint64_t             items_max;  /* of this run; 0: all */
    uint64_t             next_run_us, started_us;
    uint32_t             every_s;
    _Atomic bool         running;
    _Atomic uint64_t     starts;
};

bool crawler_init(struct crawler *, struct cache_thread *); /* false: out of memory */
void crawler_fini(struct crawler *);
/* Starts from the beginning, also when a run is under way. */
void crawler_start(struct crawler *, uint64_t items_max);
bool crawler_due(const struct crawler *, uint64_t now_us);
/* Looks at some hundred items. False: the run has ended. */
bool crawler_step(struct crawler *);
void crawler_stop(struct crawler *);
#endif
