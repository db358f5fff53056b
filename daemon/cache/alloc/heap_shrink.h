/* Of the heap store: gives back what it holds beyond its limit, by evicting what lives in some of
 * the arena's pages. As with a page on the move, what was evicted is memory again when all turns
 * have ended:
 *
 *     cache_shrink_begin -> cache_shrink_evict, in steps -> cache_quiesce
 *         -> cache_shrink_release, in steps -> cache_shrink_end
 *
 * Threading: one thread at a time; its cache_thread may be used by another between two calls. */
#ifndef SLATE_CACHE_ALLOC_HEAP_SHRINK_H
#define SLATE_CACHE_ALLOC_HEAP_SHRINK_H
#include <stdbool.h>

struct cache_thread;
struct cache_shrink;
enum cache_shrink_state {
    CACHE_SHRINK_DONE, /* the store holds no more than it may */
    CACHE_SHRINK_MORE,
    CACHE_SHRINK_LATER, /* it holds more, but that is in use: look again after a while */
};
/* Begins; NULL: there is nothing to do now. Outside a turn or within one, as cache_shrink_end.
 * Cost: what the allocator takes to answer. */
struct cache_shrink *cache_shrink_begin(struct cache_thread *, enum cache_shrink_state *);
/* A step of a few microseconds, within a turn; false: it was the last. All steps together walk over
 * all items three times. */
bool cache_shrink_evict(struct cache_shrink *);
/* The same, once cache_quiesce has succeeded: gives the memory of evicted items back, page by
 * page. */
bool cache_shrink_release(struct cache_shrink *);
/* Memory that was not given back stays with the thread until the next begin. */
enum cache_shrink_state cache_shrink_end(struct cache_shrink **);
#endif
