/* random, lra, lrc: twemcache's slab evictions (its options -M 2, 4 and 8). A class that needs
 * memory gets a page of any class. random takes any page. lrc takes the page that its class has had
 * for longest. lra takes the class whose next victim has not been used for longest, and of a
 * sample of its pages the one whose items have not been used for longest.
 *
 * All pages take part, also those of the class in need. When such a page is chosen, nothing moves:
 * the class evicts a page's worth of its own items, one by one, before the next choice. So a class
 * of many pages does not take a page from the others at each eviction. No class
 * gives its last page. Cost: O(classes), and a look at every page of the arena. */
#ifndef SLATE_CONTROL_AUTOMOVE_NEED_H
#define SLATE_CONTROL_AUTOMOVE_NEED_H
#include "control/automove/automove.h"

struct automove_need {
    uint64_t random;                       /* the state of a generator, not 0 */
    /* a class evicts its own items until its count `evicted` has this value */
    uint64_t evict_until[SLAB_CLASSES_MAX];
};
bool automove_random_decide(void *automove_need, const struct snapshot *, struct decision *);
bool automove_lra_decide(void *automove_need, const struct snapshot *, struct decision *);
bool automove_lrc_decide(void *automove_need, const struct snapshot *, struct decision *);
#endif
