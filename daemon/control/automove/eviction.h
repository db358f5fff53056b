/* eviction (mode 2): a page at every eviction, as fast as memory is needed.
 *
 * Of the starved classes, the one with the youngest tail gets pages: one, and twice as many each
 * time it is still starved. The donor is the class that loses least: first come classes with a
 * page's worth of free chunks of which they took none for a second, then classes whose tail is
 * older by half (or as young, below 2 s), if nothing was stored in them lately; among these the one
 * with the oldest tail, then with the most pages. A class that is stored to (it evicts, or fills
 * free chunks) gives only when its tail is more than twice as old. So two classes under the same
 * pressure do not pass pages to and fro. No class gives its last page. Cost: O(classes). */
#ifndef SLATE_CONTROL_AUTOMOVE_EVICTION_H
#define SLATE_CONTROL_AUTOMOVE_EVICTION_H
#include "control/automove/automove.h"

struct automove_eviction {
    uint32_t pages[SLAB_CLASSES_MAX];       /* at the last look */
    uint64_t free_chunks[SLAB_CLASSES_MAX]; /* at the last look */
    /* when the class last evicted, or was seen to have taken free chunks; 0: never */
    uint64_t stored_us[SLAB_CLASSES_MAX];
    unsigned receiver;                    /* of the last move */
    uint64_t moved_us;
    unsigned streak;                      /* moves in a row to that class */
};
bool automove_eviction_decide(void *automove_eviction, const struct snapshot *, struct decision *);

/* Gives pages to an empty pool, of a class that has more than 2.5 pages' worth of free chunks and
 * has not evicted since `before`. Once a second, in mode 2 and in other modes that act at need. */
bool eviction_surplus_decide(void *unused, const struct snapshot *before,
                             const struct snapshot *after, struct decision *);
/* How many pages a class can give before 2.5 pages' worth of its chunks is free. */
uint64_t eviction_surplus_pages(const struct snapshot_class *);
#endif
