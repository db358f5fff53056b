/* The sampled keys of a curve, and their order of use: a treap for each slab class, ordered by the
 * time of the last use, a heap by mixed hashes. Each node has the sum of the bytes below it, so the
 * bytes that were used since a key's last use cost O(log keys). Entry 0 is none. Threading: one
 * owner. */
#ifndef SLATE_SAMPLE_CURVE_ENTRIES_H
#define SLATE_SAMPLE_CURVE_ENTRIES_H
#include "sample/curve_copies.h"

enum { CURVE_CLASS_BITS = 8 };

struct curve_entry {
    uint64_t hash;
    uint64_t used;  /* when, counted in uses of any key; the low CURVE_CLASS_BITS are the class */
    uint64_t sum;   /* bytes of this entry and of both its subtrees */
    uint32_t bytes; /* 0: dead, or free: the entry is in no treap */
    uint32_t next;  /* in its bucket, or of the free entries */
    uint32_t older, newer;
    struct curve_copies copies;
};

static inline unsigned curve_entry_class(const struct curve_entry *e) {
    return (unsigned)(e->used & ((1u << CURVE_CLASS_BITS) - 1));
}

void curve_entries_sum_up(struct curve_entry *entries, uint32_t i);
/* Joins two treaps; all of `a` is older than all of `b`. Returns the root. */
uint32_t curve_entries_join(struct curve_entry *entries, uint32_t a, uint32_t b);
/* Returns the root of the treap without the entry `which`. */
uint32_t curve_entries_take_out(struct curve_entry *entries, uint32_t root, uint32_t which);
/* Bytes of the treap's entries that were used after this one, which may be another treap's. */
uint64_t curve_entries_bytes_since(const struct curve_entry *entries, uint32_t root,
                                   uint32_t which);

#endif
