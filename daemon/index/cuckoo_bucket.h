/* What the files of the index cuckoo share: where things are in its table. What it is: cuckoo.c. */
#ifndef SLATE_INDEX_CUCKOO_BUCKET_H
#define SLATE_INDEX_CUCKOO_BUCKET_H
#include "index/line.h"

enum {
    SEGMENT_SHIFT = 6, /* buckets come by 64: 4 KiB; a key's buckets differ in the low six bits */
    SEGMENT = 1 << SEGMENT_SHIFT,
    WAYS = SEGMENT,        /* buckets that may be second to one first, by the tag */
    STRAYS_MOST = ABOVE_MOST, /* so many or more: they are not counted any more */
};
#define SEGMENT_BYTES (sizeof(struct bucket) * SEGMENT)

/* --- where things are --- */

static inline uint8_t tag_for(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t;
}
/* What leads from either bucket of a key to the other, as their hashes: the bits in which they
 * differ. The low six are never all zero. */
static inline unsigned way_of(uint8_t tag) { return tag % WAYS; }
static inline uint32_t bits_of(unsigned way) { return way != 0 ? way * UINT32_C(0x9e3779b1) : 1; }

static inline uint32_t count_of(const struct index *ix) {
    return atomic_load_explicit(&ix->cuckoo.count, memory_order_acquire);
}
static inline struct bucket *bucket_at(const struct index *ix, uint32_t i) {
    return (struct bucket *)index_array_segment(&ix->cuckoo.table, i >> SEGMENT_SHIFT) +
           (i & (SEGMENT - 1));
}
static inline uint32_t first_of(uint64_t hash, uint32_t count) {
    return index_place_of(hash, count);
}
static inline uint32_t second_of(uint64_t hash, uint32_t count) {
    return index_place_of((uint32_t)hash ^ bits_of(way_of(tag_for(hash))), count);
}

/* --- versions and strays --- */

static inline uint32_t strays_of(const struct bucket *b) { return above_of(b); }
/* Within a change. */
static inline void set_strays(struct bucket *b, uint32_t strays) {
    set_above(b, strays < STRAYS_MOST ? strays : STRAYS_MOST);
}
static inline void add_strays(struct bucket *b, int more) {
    uint32_t strays = strays_of(b);
    if (strays < STRAYS_MOST) {
        set_strays(b, (uint32_t)((int)strays + more));
    }
}
static inline void change_begin(struct bucket *a, struct bucket *b) {
    index_version_begin(version_of(a));
    if (b != a) {
        index_version_begin(version_of(b));
    }
}
static inline void change_end(struct bucket *a, struct bucket *b) {
    index_version_end(&a->version);
    if (b != a) {
        index_version_end(&b->version);
    }
}

/* --- cuckoo_grow.c, under the partition's lock --- */

/* Looks for the shortest path from one of a hash's two full buckets to one with an empty slot, and
 * moves the keys on it, the last first. False: there is none. `escape`: even from a walk that
 * cannot visit more buckets again. */
bool cuckoo_make_room(struct index *, uint64_t hash, uint32_t count, bool escape);
/* Splits the next bucket of the round; false: out of memory, nothing changed. */
bool cuckoo_split_one(struct index *);
#endif
