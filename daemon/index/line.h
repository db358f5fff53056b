/* What cuckoo.c and hopscotch.c share: eight bits of their own above the version of a bucket, in
 * cuckoo.c a count, in hopscotch.c a map. These bits and the version are one word, so that a
 * look-up reads both as of one time.
 *
 * Only a writer changes them, under the partition's lock. */
#ifndef SLATE_INDEX_LINE_H
#define SLATE_INDEX_LINE_H
#include "index/index.h"
#include "index/slots.h"
#include "mem/item.h"

enum { ABOVE_SHIFT = 24, ABOVE_MOST = 255 };
#define VERSION_MASK ((UINT32_C(1) << ABOVE_SHIFT) - 1)

static inline uint32_t above_of(const struct bucket *b) {
    return atomic_load_explicit(&b->version, memory_order_relaxed) >> ABOVE_SHIFT;
}
/* The bucket is within a change, or no reader can see it. */
static inline void set_above(struct bucket *b, uint32_t above) {
    uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed) & VERSION_MASK;
    atomic_store_explicit(&b->version, v | above << ABOVE_SHIFT, memory_order_relaxed);
}
/* The version's word. Before a change could carry into the bits above the version, the version
 * starts at 0 again. */
static inline _Atomic uint32_t *version_of(struct bucket *b) {
    uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);
    if ((v & VERSION_MASK) == (VERSION_MASK & ~1u)) {
        atomic_store_explicit(&b->version, v & ~VERSION_MASK, memory_order_relaxed);
    }
    return &b->version;
}

static inline unsigned full_slots(const struct bucket *b) {
    return ~match_slots(b, 0) & ((1u << SLOTS) - 1);
}
/* Prefetches the keys of these slots. */
static inline void prefetch_items(const struct index *ix, const struct bucket *b, unsigned slots) {
    for (; slots != 0; slots &= slots - 1) {
        const char *it = node_at(ix->space, ref_of(b, (unsigned)__builtin_ctz(slots)));
        __builtin_prefetch(it);
        __builtin_prefetch(it + 64);
    }
}
static inline uint64_t hash_in(const struct index *ix, const struct bucket *b, unsigned slot) {
    return ix->space->hash_of(node_at(ix->space, ref_of(b, slot)));
}
/* Finds a key's item among those in the bucket with this tag; 0: it is not there. Any thread. */
static inline uint32_t find_in(const struct index *ix, const struct bucket *b,
                               const struct key *k, uint8_t tag) {
    for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
        uint32_t ref = ref_of(b, (unsigned)__builtin_ctz(slots));
        if (ref != 0 && item_key_is(node_at(ix->space, ref), k)) {
            return ref;
        }
    }
    return 0;
}
#endif
