/* Whether pages should move, and where: decisions as functions of two snapshots and what the mode remembers of earlier ones.
 *
 * No locks, no cache, no clock: a decision can be tried on snapshots that were made up or recorded. Threading: a state
 * belongs to one thread. Cost: O(classes), for the ratio mode times the window. */
#ifndef SLATE_TUNE_AUTOMOVE_H
#define SLATE_TUNE_AUTOMOVE_H
#include <stdbool.h>
#include <stdint.h>

#include "tune/snapshot.h"

enum { AUTOMOVE_WINDOW_MIN = 3, AUTOMOVE_WINDOW_MAX = 1800 };

struct page_move {
    unsigned    from, to; /* to SLAB_CLASS_NONE: the pool */
    unsigned    pages;
    const char *reason;   /* a constant string, for the log */
};

/* --- ratio (mode 1): equal ages, as in memcached ---
 *
 * Once a second. When memory is used up: (a) a class whose free chunks have made more than 2.5 pages during a whole window
 * without evictions gives one to the pool; else (b) the class with the oldest tail and more than two pages gives one to the
 * class with the youngest tail among those that evict (in more than half of the window's seconds, or more than a quarter of
 * all evictions), if that one evicted in this very second and its age is below `ratio` of the oldest's. Ages are means over
 * the window, and (b) waits until the window has filled once. */
struct automove_sample {
    uint32_t age_s;
    uint32_t evicted;
    bool     dirty; /* the class evicted, ran out of memory or got a page */
};
struct automove_ratio {
    double   ratio;    /* 0.01..1 */
    unsigned window;   /* samples, AUTOMOVE_WINDOW_MIN..MAX */
    unsigned seen;     /* samples so far, up to window */
    unsigned at;       /* where the next goes */
    struct automove_sample *samples; /* window of them a class */
};
bool automove_ratio_init(struct automove_ratio *, double ratio, unsigned window); /* false: out of memory */
void automove_ratio_fini(struct automove_ratio *);
/* Starts the window again with another length; false: out of memory, the old one stays. */
bool automove_ratio_resize(struct automove_ratio *, unsigned window);
bool automove_ratio_decide(struct automove_ratio *, const struct snapshot *before, const struct snapshot *after,
                           struct page_move *);

/* --- eviction (mode 2): a page at every eviction, as fast as memory is needed ---
 *
 * The class that is hungry and has the youngest tail gets pages: one, and twice as many each time it is still hungry. They
 * come from the class that loses least: first of those that have a page's worth of free chunks, then of those that did not
 * evict lately and whose tail is older by an eighth (or is as young, below 8 s); within these the oldest, then the richest.
 * A class that evicts itself gives only when its tail is more than twice as old, so that two classes under the same pressure
 * do not pass pages to and fro. No class gives its last page. */
struct automove_eviction {
    uint64_t hungry_us[SLAB_CLASSES_MAX]; /* when it last was; 0: never */
    unsigned receiver;                    /* of the last move */
    uint64_t moved_us;
    unsigned streak;                      /* moves in a row to that class */
};
bool automove_eviction_decide(struct automove_eviction *, const struct snapshot *, struct page_move *);

/* --- pages that a class has no use for; beside mode 2 ---
 *
 * A class that holds more free chunks than 2.5 pages' worth, and has not evicted since `before`, gives to a pool that is
 * empty. */
bool automove_surplus_decide(const struct snapshot *before, const struct snapshot *after, struct page_move *);
#endif
