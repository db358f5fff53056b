/* random, lra, lrc: twemcache's slab evictions (its options -M 2, 4 and 8). A class that needs
 * memory gets a page of any class. random takes any page. lrc takes the page that its class has had
 * for longest. lra takes the class whose next victim was longest not used, and the page of this
 * class whose items were longest not used, by a sample.
 *
 * All pages take part, also those of the class in need. When such a page is chosen, nothing moves:
 * the class evicts its own items one by one until it has evicted a page's worth of chunks, and then
 * chooses again. So a class of many pages does not strip the others at each eviction. No class
 * gives its last page. Cost: O(classes), and a look at every page of the arena. */
#ifndef SLATE_CONTROL_AUTOMOVE_NEED_H
#define SLATE_CONTROL_AUTOMOVE_NEED_H
#include "control/automove/automove.h"

struct automove_need {
    uint64_t random;                       /* the state of a generator, not 0 */
    /* `evicted` up to which a class makes do with its own items */
    uint64_t evict_until[SLAB_CLASSES_MAX];
};
bool automove_random_decide(void *automove_need, const struct snapshot *, struct decision *);
bool automove_lra_decide(void *automove_need, const struct snapshot *, struct decision *);
bool automove_lrc_decide(void *automove_need, const struct snapshot *, struct decision *);
#endif
