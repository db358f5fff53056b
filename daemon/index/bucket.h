/* The default index: one table of 64-byte buckets per partition, read without a lock.
 *
 *   0         4                 16                           64
 *   | version | 12 one-byte tags | 12 references of items     |   tag 0: empty; the 12th may instead link an overflow bucket
 *
 * Writers hold the partition's lock and make the version of the chain's first bucket odd while they change the chain. A
 * reader notes an even version, looks, uses what it found, and asks index_unchanged() afterwards; if that says no, what it
 * saw may be false and it starts again. The table grows by linear hashing, one bucket split for every INDEX_LOAD items, so
 * it never stalls and its load stays where 64 bytes serve about ten items.
 * Source: the optimistic scheme of Fan et al., "MemC3", NSDI 2013; linear hashing of Litwin, VLDB 1980.
 * Memory: about 7.5 bytes an item at the normal load, see README. Buckets are never unmapped while the index lives. */
#ifndef SLATE_INDEX_BUCKET_H
#define SLATE_INDEX_BUCKET_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/key.h"
#include "base/node.h"

struct item;

enum {
    INDEX_SLOTS = 12,
    INDEX_LINK_SLOT = 11,
    INDEX_LINK_TAG = 255,
    INDEX_SEGMENT_SHIFT = 6, /* buckets come by 64: 4 KiB */
    INDEX_SEGMENT = 1 << INDEX_SEGMENT_SHIFT,
    INDEX_LOAD_X10 = 120,    /* items a bucket before one is split, tenths */
};

struct bucket {
    _Atomic uint32_t version;
    _Atomic uint32_t tags_high; /* tags 8 to 11 */
    _Atomic uint64_t tags_low;  /* tags 0 to 7 */
    _Atomic uint32_t refs[INDEX_SLOTS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct bucket) == 64, "a bucket is a cache line");

/* Memory of all partitions' buckets: one reserved mapping, used from its start and never given back, so that taking some
 * needs no lock. What is not used costs nothing. Threading: any. */
struct index_pool {
    char          *base;
    size_t         bytes;
    _Atomic size_t used;
};
bool index_pool_init(struct index_pool *, size_t reserve_bytes); /* false and errno */
void index_pool_fini(struct index_pool *);

/* Segment pointers; replaced by a longer copy when full, the old ones kept because a reader may still look at them. */
struct index_directory {
    struct index_directory *older;
    uint32_t                room;
    _Atomic(struct bucket *) segments[];
};
struct index {
    _Atomic uint32_t bucket_count; /* in the table; power-of-two rounds of linear hashing follow from it */
    _Atomic(struct index_directory *) directory, overflow;
    uint32_t         overflow_count;   /* ever made */
    uint32_t         overflow_free;    /* first free overflow bucket + 1, linked through refs[0] */
    uint32_t         overflow_used;
    uint32_t         item_count;
    struct index_pool       *pool;
    const struct node_space *space;
};

bool index_init(struct index *, struct index_pool *, const struct node_space *); /* false: out of memory */
void index_fini(struct index *);

/* What a look saw, to be asked about later. */
struct index_look {
    struct bucket *first;
    uint32_t       version;
};

static inline uint8_t index_tag(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t == INDEX_LINK_TAG ? INDEX_LINK_TAG - 1 : t;
}
static inline uint32_t index_slot_of(uint64_t hash, uint32_t bucket_count) {
    uint32_t mask = UINT32_MAX >> __builtin_clz(bucket_count - 1);
    uint32_t i = (uint32_t)hash & mask;
    return i < bucket_count ? i : i & (mask >> 1);
}
static inline struct bucket *index_segment_bucket(const _Atomic(struct index_directory *) *dir, uint32_t i) {
    struct index_directory *d = atomic_load_explicit(dir, memory_order_acquire);
    struct bucket *s = atomic_load_explicit(&d->segments[i >> INDEX_SEGMENT_SHIFT], memory_order_acquire);
    return &s[i & (INDEX_SEGMENT - 1)];
}
static inline struct bucket *index_bucket_of(const struct index *ix, uint64_t hash) {
    uint32_t n = atomic_load_explicit(&ix->bucket_count, memory_order_acquire);
    return index_segment_bucket(&ix->directory, index_slot_of(hash, n));
}

/* Finds the item of a key: its reference, 0 when there is none. Lock-free when `look` is asked about afterwards; a caller
 * that holds the partition's lock needs no look (NULL). A candidate's key is compared in place. */
uint32_t index_find(const struct index *, const struct key *, struct index_look *look);
/* Whether the chain is still as index_find saw it, and still the one this hash belongs to. */
static inline bool index_unchanged(const struct index *ix, const struct key *k, const struct index_look *look) {
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&look->first->version, memory_order_relaxed) == look->version &&
           index_bucket_of(ix, k->hash) == look->first;
}
/* The reference behind the first matching tag, unchecked: for prefetching. */
uint32_t index_guess(const struct index *, uint64_t hash);

/* Changes, under the partition's lock. */
bool index_insert(struct index *, uint64_t hash, uint32_t ref); /* false: out of memory; the key must not be there */
void index_replace(struct index *, uint64_t hash, uint32_t old_ref, uint32_t new_ref); /* old_ref must be there */
void index_remove(struct index *, uint64_t hash, uint32_t ref);                        /* must be there */

/* Brackets a change of items that stay where they are: whoever looked at this chain before looks again. */
void index_change_begin(struct index *, uint64_t hash);
void index_change_end(struct index *, uint64_t hash);

/* All references of the i-th chain, for walking under the lock; false past the end. Room for `max`; *count says how many. */
bool index_chain(const struct index *, uint32_t i, uint32_t *refs, unsigned max, unsigned *count);
uint64_t index_bytes(const struct index *);
#endif
