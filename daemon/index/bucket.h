/* The look-ups of the default index, inline: gets and sets spend most of their time in them.
 * bucket.c has the table and its changes. */
#ifndef SLATE_INDEX_BUCKET_H
#define SLATE_INDEX_BUCKET_H
#include <assert.h>

#include "base/prefetch.h"
#include "index/look.h"
#include "index/pool.h"
#include "index/slots.h"
#include "mem/item.h"

struct index_buckets {
    /* buckets in the table; it gives the round of linear hashing, too */
    _Atomic uint32_t count;
    uint32_t    overflow_count; /* overflow buckets that were ever made */
    index_array table, overflow;
    uint32_t    overflow_free;  /* first free overflow bucket + 1, linked through refs[0] */
    uint32_t    overflow_used;
};

enum {
    BUCKET_LINK_SLOT = SLOTS - 1,
    BUCKET_LINK_TAG = 255,
    BUCKET_SEGMENT_SHIFT = 6, /* buckets come in segments of 64: 4 KiB */
    BUCKET_SEGMENT = 1 << BUCKET_SEGMENT_SHIFT,
    /* lines of a chain: room for 56 items; just before its split a chain rarely has 40 */
    BUCKET_CHAIN_MOST = 5,
};

static inline uint8_t bucket_tag(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t == BUCKET_LINK_TAG ? BUCKET_LINK_TAG - 1 : t;
}
static inline struct bucket *bucket_line(const index_array *a, uint32_t i) {
    return (struct bucket *)index_array_segment(a, i >> BUCKET_SEGMENT_SHIFT) +
           (i & (BUCKET_SEGMENT - 1));
}
static inline struct bucket *bucket_place(const struct index_buckets *t, uint64_t hash,
                                          uint32_t count) {
    return bucket_line(&t->table, index_place_of(hash, count));
}
static inline uint32_t bucket_places(const struct index_buckets *t) {
    return atomic_load_explicit(&t->count, memory_order_acquire);
}
static inline struct index_spot bucket_spot(const struct index_buckets *t, uint64_t hash) {
    uint32_t n = bucket_places(t);
    return (struct index_spot){bucket_place(t, hash, n), n, bucket_tag(hash)};
}
/* The hash's bucket. The caller keeps it from being split. */
static inline struct bucket *bucket_at_spot(const struct index_buckets *t, uint64_t hash,
                                            struct index_spot spot) {
    if (spot.count != bucket_places(t)) {
        spot = bucket_spot(t, hash);
    }
    assert(spot.at == bucket_spot(t, hash).at);
    return (struct bucket *)(uintptr_t)spot.at;
}

/* The next bucket of a chain. A reader may meet a link that is being changed, so the number is
 * checked against the directory. */
static inline struct bucket *bucket_next(const struct index_buckets *t, const struct bucket *b) {
    if (tag_of(b, BUCKET_LINK_SLOT) != BUCKET_LINK_TAG) {
        return NULL;
    }
    uint32_t number = ref_of(b, BUCKET_LINK_SLOT);
    struct bucket *segment = index_array_try(&t->overflow, number >> BUCKET_SEGMENT_SHIFT);
    return segment != NULL ? &segment[number & (BUCKET_SEGMENT - 1)] : NULL;
}

/* Makes the spot this hash's, and notes the version that its bucket had while the hash belonged
 * there: a later split changes it. If the spot was found earlier, its count serves as if it were
 * read here. */
__attribute__((always_inline)) static inline void bucket_look(const struct index_buckets *t,
                                                              uint64_t hash,
                                                              struct index_spot *spot,
                                                              struct index_look *look) {
    if (spot->count == 0) {
        *spot = bucket_spot(t, hash);
    }
    for (;;) {
        *look = index_look_at(&((const struct bucket *)spot->at)->version);
        if (__builtin_expect(spot->count == bucket_places(t), true)) {
            break;
        }
        *spot = bucket_spot(t, hash);
    }
    assert(spot->at == bucket_place(t, hash, spot->count));
}

/* The key's reference in one line; 0: the line does not have the key. */
__attribute__((always_inline)) static inline uint32_t bucket_find_in(
    const struct bucket *b, const struct node_space *space, uint8_t tag, const struct key *k) {
    for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
        uint32_t ref = ref_of(b, (unsigned)__builtin_ctz(slots));
        if (ref >= space->first && item_key_is(node_at(space, ref), k)) {
            return ref;
        }
    }
    return 0;
}

/* Finds the key in the rest of a chain, behind its first line. */
uint32_t bucket_find_behind(const struct index_buckets *, const struct node_space *,
                            struct index_spot, const struct key *);

/* Finds a key. A reader sees a slot's tag and its number at different times, so it may take the
 * number of an overflow bucket, linked or free, for a reference. A number below the first reference
 * would lead into the arena's page table, so it is rejected. A number above leads into some page,
 * where any chunk may be read (mem/item.h); it stays within the arena, since there are fewer
 * overflow buckets than items. Either way the version has changed, and the reader looks again. */
__attribute__((always_inline)) static inline uint32_t bucket_find(
    const struct index_buckets *t, const struct node_space *space, const struct key *k,
    struct index_spot spot, struct index_look *look) {
    if (look != NULL) {
        bucket_look(t, k->hash, &spot, look);
    } else if (spot.count != bucket_places(t)) {
        spot = bucket_spot(t, k->hash);
    }
    uint32_t ref = bucket_find_in(spot.at, space, spot.tag, k);
    return __builtin_expect(ref != 0, true) ? ref : bucket_find_behind(t, space, spot, k);
}

/* The first reference of a line whose tag is the hash's; 0: there is none. */
static inline uint32_t bucket_guess_in(const struct bucket *b, const struct node_space *space,
                                       uint8_t tag) {
    unsigned slots = match_slots(b, tag);
    uint32_t ref = slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
    return ref >= space->first ? ref : 0;
}

/* The guess from a bucket's first line. If that line has none, the next line is prefetched for
 * bucket_guess_behind: waiting for it here would cost as much as the whole rest of a get. If the
 * hash has left this spot, the guess is wrong, which is no worse than none. */
static inline uint32_t bucket_guess(const struct index_buckets *t, const struct node_space *space,
                                    struct index_spot spot) {
    uint32_t ref = bucket_guess_in(spot.at, space, spot.tag);
    if (ref == 0) {
        prefetch(bucket_next(t, spot.at));
    }
    return ref;
}
static inline uint32_t bucket_guess_behind(const struct index_buckets *t,
                                           const struct node_space *space,
                                           struct index_spot spot) {
    const struct bucket *next = bucket_next(t, spot.at);
    return next != NULL ? bucket_guess_in(next, space, spot.tag) : 0;
}
#endif
