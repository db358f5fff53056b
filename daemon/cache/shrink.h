/* Of the heap store: gives back what it holds beyond its limit, by evicting what lives in some of
 * the arena's pages. As with a page on the move, what was evicted is memory again when all turns
 * have ended:
 *
 *     cache_shrink_begin -> cache_shrink_evict, in steps -> cache_quiesce
 *         -> cache_shrink_give, in steps -> cache_shrink_end
 *
 * Threading: one thread at a time; its cache_thread may be used by another between two calls. */
#ifndef SLATE_CACHE_SHRINK_H
#define SLATE_CACHE_SHRINK_H
#include <stdbool.h>

struct cache_thread;
struct cache_shrink;
enum cache_shrink_state {
    CACHE_SHRINK_DONE, /* no more is held than may be */
    CACHE_SHRINK_MORE,
    CACHE_SHRINK_LATER, /* there is more, but it is in use: look again after a while */
};
/* NULL: there is nothing to be done now. Outside a turn or within, as cache_shrink_end. Cost: of
 * asking the allocator. */
struct cache_shrink *cache_shrink_begin(struct cache_thread *, enum cache_shrink_state *);
/* Within a turn. A step of a few microseconds; false: it was the last. All of them walk over all
 * items three times. */
bool cache_shrink_evict(struct cache_shrink *);
/* The same, once cache_quiesce has succeeded: gives back what was evicted, page by page. */
bool cache_shrink_give(struct cache_shrink *);
/* What was not given stays with the thread until the next begin. */
enum cache_shrink_state cache_shrink_end(struct cache_shrink **);
#endif
