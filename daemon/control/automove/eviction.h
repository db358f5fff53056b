/* eviction (mode 2): a page at every eviction, as fast as memory is needed.
 *
 * The class that is hungry and has the youngest tail gets pages: one, and twice as many each time
 * it is still hungry. They come from the class that loses least: first of those that have a page's
 * worth of free chunks and took none of them for a second, then of those whose tail is older by
 * half (or as young, below 2 s), if nothing was stored in them lately; within these the oldest,
 * then the richest. A class that is stored to, evicting or filling what it was given, gives only
 * when its tail is more than twice as old, so that two classes under the same pressure do not pass
 * pages to and fro. No class gives its last page. Cost: O(classes). */
#ifndef SLATE_CONTROL_AUTOMOVE_EVICTION_H
#define SLATE_CONTROL_AUTOMOVE_EVICTION_H
#include "control/automove/automove.h"

struct automove_eviction {
    uint32_t pages[SLAB_CLASSES_MAX];       /* at the last look */
    uint64_t free_chunks[SLAB_CLASSES_MAX]; /* likewise */
    /* when it last evicted or had taken free chunks; 0: never */
    uint64_t stored_us[SLAB_CLASSES_MAX];
    unsigned receiver;                    /* of the last move */
    uint64_t moved_us;
    unsigned streak;                      /* moves in a row to that class */
};
bool automove_eviction_decide(void *automove_eviction, const struct snapshot *, struct decision *);

/* Pages that a class has no use for: one that holds more free chunks than 2.5 pages' worth, and has
 * not evicted since `before`, gives to a pool that is empty. Once a second beside mode 2, and for
 * other modes that act only at need. */
bool eviction_surplus_decide(void *unused, const struct snapshot *before,
                             const struct snapshot *after, struct decision *);
/* How many pages a class gives until no more than 2.5 pages' worth of its chunks is free. */
uint64_t eviction_surplus_pages(const struct snapshot_class *);
#endif
