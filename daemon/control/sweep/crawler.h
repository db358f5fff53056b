/* The crawler: walks the index bucket by bucket and frees expired items, a slice at a time.
 *
 * A crawl runs on request; after a flush if sweeps are off (control/sweep/sweeper.h), so that
 * flushed items no longer count and their memory is free; and by itself: first a minute after the
 * start, then at intervals between a minute and an hour. After a crawl in which at least one item
 * in a hundred was dead the interval is halved, otherwise doubled. Threading: the owner's thread,
 * through its cache_thread; any thread may read `running` and `starts`. */
#ifndef SLATE_CONTROL_SWEEP_CRAWLER_H
#define SLATE_CONTROL_SWEEP_CRAWLER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum { CRAWL_EVERY_MIN_S = 60, CRAWL_EVERY_MAX_S = 3600 };

struct crawler {
    struct cache_thread *ct;
    struct cache_walk    walk;
    /* room for the walk's copies of live items, which the crawler does not read */
    struct cache_walked *seen;
    uint64_t             items_max;  /* of this run; 0: all */
    uint64_t             next_run_us, started_us;
    uint32_t             every_s;
    _Atomic bool         running;
    _Atomic uint64_t     starts;
};

bool crawler_init(struct crawler *, struct cache_thread *); /* false: out of memory */
void crawler_fini(struct crawler *);
/* Starts from the beginning, even if a crawl is under way. */
void crawler_start(struct crawler *, uint64_t items_max);
bool crawler_due(const struct crawler *, uint64_t now_us);
/* Visits some hundred items. False: the crawl has ended. */
bool crawler_step(struct crawler *);
void crawler_stop(struct crawler *);
#endif
