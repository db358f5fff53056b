/* Memory of all partitions' indexes, and growing arrays there that are read without a lock.
 *
 * A pool is one reserved mapping, used from its start and never released. So a take needs no lock,
 * and a reader of a part that was emptied meanwhile reads stale numbers, not foreign memory. Unused
 * parts cost nothing. An array consists of segments of equal size, to which a directory points. An
 * array has one writer, under the partition's lock. */
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
/* The first `small_bytes`, a multiple of 4 KiB, get no huge pages, which a small cache never fills
 * with its index. False and errno. */
bool  index_pool_init(struct index_pool *, size_t reserve_bytes, size_t small_bytes);
void  index_pool_fini(struct index_pool *);
/* Takes zeroed bytes, a multiple of 64; NULL: the pool is used up. Any thread. */
void *index_pool_take(struct index_pool *, size_t bytes);

/* Pointers to segments. A full directory is replaced by a longer copy; the old one stays, because a
 * reader may still use it. The copy takes a nanosecond a segment: a millisecond only with some
 * hundred million items in one index. */
struct index_directory {
    struct index_directory *older;
    uint32_t        room;
    _Atomic(void *) segments[];
};
typedef _Atomic(struct index_directory *) index_array;

/* Adds the n-th segment to an array that has all before that one. False: out of memory. */
bool index_array_add(index_array *, uint32_t n, struct index_pool *, size_t segment_bytes);
void index_array_free(index_array *); /* frees only the directories: the segments are the pool's */

/* The n-th segment, which is there. */
static inline void *index_array_segment(const index_array *a, uint32_t n) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_acquire);
    return atomic_load_explicit(&d->segments[n], memory_order_acquire);
}
/* The segment of a number that may be anything; NULL: there is no such segment. */
static inline void *index_array_try(const index_array *a, uint32_t n) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_acquire);
    return d != NULL && n < d->room ? atomic_load_explicit(&d->segments[n], memory_order_acquire)
                                    : NULL;
}
#endif
