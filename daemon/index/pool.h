/* Memory of all partitions' indexes, and growing arrays in it that are read without a lock.
 *
 * A pool is one reserved mapping, used from its start and never given back, so that taking some
 * needs no lock and a reader that looks at what was meanwhile emptied reads stale numbers, not
 * foreign memory. What is not used costs nothing. An array comes by segments of equal size that a
 * directory points to. It has one writer, under the partition's lock. */
#ifndef SLATE_INDEX_POOL_H
#define SLATE_INDEX_POOL_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct index_pool {
    char          *base;
    size_t         bytes;
    _Atomic size_t used;
};
bool  index_pool_init(struct index_pool *, size_t reserve_bytes); /* false and errno */
/* Has memory for so much of it now rather than at its first use; a wish. */
void  index_pool_back(struct index_pool *, size_t bytes);
void  index_pool_fini(struct index_pool *);
/* zeroed, a multiple of 64 bytes; NULL: all is used. Any thread */
void *index_pool_take(struct index_pool *, size_t bytes);

/* Segment pointers; replaced by a longer copy when full, the old ones kept because a reader may
 * still look at them. Cost: the copy takes a nanosecond a segment, so a millisecond comes only with
 * some hundred million items in one index. */
struct index_directory {
    struct index_directory *older;
    uint32_t        room;
    _Atomic(void *) segments[];
};
typedef _Atomic(struct index_directory *) index_array;

/* Gives the array its n-th segment, all before it being there; false: out of memory. */
bool index_array_add(index_array *, uint32_t n, struct index_pool *, size_t segment_bytes);
/* The same with memory of the pool that was taken before. */
bool index_array_put(index_array *, uint32_t n, void *segment);
void index_array_free(index_array *); /* only the directories: segments are the pool's */

/* A segment that is there. */
static inline void *index_array_segment(const index_array *a, uint32_t n) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_acquire);
    return atomic_load_explicit(&d->segments[n], memory_order_acquire);
}
/* A segment by a number that may be anything; NULL: there is none such. */
static inline void *index_array_try(const index_array *a, uint32_t n) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_acquire);
    return d != NULL && n < d->room ? atomic_load_explicit(&d->segments[n], memory_order_acquire)
                                    : NULL;
}
#endif
