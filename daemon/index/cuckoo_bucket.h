/* What the files of the index cuckoo share: where things are in its table. cuckoo.c says how the
 * index works. */
#ifndef SLATE_INDEX_CUCKOO_BUCKET_H
#define SLATE_INDEX_CUCKOO_BUCKET_H
#include "index/line.h"

enum {
    /* buckets come in segments of 64: 4 KiB; a key's two buckets differ in the low six bits */
    SEGMENT_SHIFT = 6,
    SEGMENT = 1 << SEGMENT_SHIFT,
    WAYS = SEGMENT,        /* buckets that may be the second one to a given first, by the tag */
    STRAYS_MOST = ABOVE_MOST, /* at this number strays are no longer counted */
};
#define SEGMENT_BYTES (sizeof(struct bucket) * SEGMENT)

/* --- where things are --- */

static inline uint8_t tag_for(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t;
}
/* The way between a key's two buckets, and the bits in which their hashes differ by it. The low six
 * are never all zero. */
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
/* The bucket is within a change. */
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

/* --- cuckoo_grow.c; the caller holds the partition's lock --- */

/* Finds the shortest path from one of a hash's two full buckets to a bucket with an empty slot, and
 * moves the keys along it, the last first. False: there is none. `escape`: keys may move even if a
 * walk cannot note one more bucket to visit again, and so would miss them. */
bool cuckoo_make_room(struct index *, uint64_t hash, uint32_t count, bool escape);
/* Splits the next bucket of the round; false: out of memory, nothing changed. */
bool cuckoo_split_one(struct index *);
#endif
