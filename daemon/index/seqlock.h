/* The record of a look-up for a later check, versions, and the places of a table that grows by
 * linear hashing. */
#ifndef SLATE_INDEX_SEQLOCK_H
#define SLATE_INDEX_SEQLOCK_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* A line's version at the time of a look-up, for index_unchanged. */
struct index_lookup {
    const _Atomic uint32_t *at;
    uint32_t                version;
};

/* The line where a look-up of a hash begins, found once by index_prefetch for all later steps. A
 * hint of zeroes is allowed, and means that the line is not known. A hint stays valid under all
 * changes: places never move, and the count shows whether the hash has left this one. */
struct index_hint {
    const void *at;
    uint32_t    count; /* number of places when this one was the hash's */
    uint8_t     tag;   /* of the hash, in its own line */
};

/* A version is a word whose low bits belong to the kind, in cuckoo.c a count and in hopscotch.c a
 * map (index_line.h), so that a look-up reads both as of one time. The count above these bits
 * becomes odd before a change of the data under the version, and even again after. The count may
 * overflow. */
enum { INDEX_LOW_BITS = 5, INDEX_VERSION_ONE = 1 << INDEX_LOW_BITS };

static inline void index_version_begin(_Atomic uint32_t *at) {
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + INDEX_VERSION_ONE,
                          memory_order_relaxed);
    /* The version is odd before any change; the fence pairs with that of index_unchanged. */
    atomic_thread_fence(memory_order_release);
}
static inline void index_version_end(_Atomic uint32_t *at) {
    atomic_store_explicit(at, atomic_load_explicit(at, memory_order_relaxed) + INDEX_VERSION_ONE,
                          memory_order_release);
}
/* Whether a change is under way, for asserts. */
static inline bool index_version_is_odd(const _Atomic uint32_t *at) {
    return (atomic_load_explicit(at, memory_order_relaxed) & INDEX_VERSION_ONE) != 0;
}
static inline struct index_lookup index_lookup_begin(const _Atomic uint32_t *at) {
    /* an odd version never compares equal */
    uint32_t version = atomic_load_explicit(at, memory_order_acquire);
    return (struct index_lookup){at, version & ~(uint32_t)INDEX_VERSION_ONE};
}

/* Whether the line has not changed since the look-up. */
static inline bool index_unchanged(const struct index_lookup *lookup) {
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(lookup->at, memory_order_relaxed) == lookup->version;
}

/* The place of a hash among `count` places of a table that grows by linear hashing (Litwin, VLDB
 * 1980): a round ends when their number has doubled; within a round the places below `count` -
 * (places at its start) are split already. `count` > 1. */
static inline uint32_t index_place_of(uint64_t hash, uint32_t count) {
    uint32_t mask = UINT32_MAX >> __builtin_clz(count - 1);
    uint32_t i = (uint32_t)hash & mask;
    return i < count ? i : i & (mask >> 1);
}
static inline uint32_t index_round_of(uint32_t count) { return 1u << (31 - __builtin_clz(count)); }

#endif
