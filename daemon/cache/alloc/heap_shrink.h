/* Releases the memory that the heap store holds beyond its limit, by evicting the items in some of
 * the arena's pages. As with a page on the move, evicted memory is free once all turns have ended:
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
    CACHE_SHRINK_DONE, /* the store is within its limit */
    CACHE_SHRINK_MORE,
    /* the store exceeds its limit, but that memory is in use: retry after a while */
    CACHE_SHRINK_LATER,
};
/* Begins a shrink. NULL: nothing to do now. May be called outside a turn or within one, as
 * cache_shrink_end. Cost: a query of the allocator. */
struct cache_shrink *cache_shrink_begin(struct cache_thread *, enum cache_shrink_state *);
/* A step of a few microseconds, within a turn. False after the last step. All steps together walk
 * three times over all items. */
bool cache_shrink_evict(struct cache_shrink *);
/* A step, once cache_quiesce has succeeded: frees the memory of evicted items, page by page. */
bool cache_shrink_release(struct cache_shrink *);
/* Ends a shrink. Memory that was not freed stays with the thread until the next begin. */
enum cache_shrink_state cache_shrink_end(struct cache_shrink **);
#endif
