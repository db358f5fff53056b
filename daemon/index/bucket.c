/* The default index: one table of 64-byte buckets, read without a lock.
 *
 *   0         4                 16                           64
 *   | version | 12 one-byte tags | 12 references of items     |
 *
 * Tag 0: empty. The 12th reference may instead link an overflow bucket.
 *
 * A change makes the version of the chain's first bucket odd. The table grows by linear hashing,
 * one bucket split for every LOAD_X10 / 10 items, so its load stays where 64 bytes serve about nine
 * items. Source: the optimistic scheme of Fan et al., "MemC3", NSDI 2013; linear hashing of Litwin,
 * VLDB 1980. Memory: about 7.5 bytes an item at the normal load, see README. */
#include "index/index.h"

enum {
    LOAD_X10 = 120, /* items a bucket at which one is split, in tenths */
    CHAIN_PAIRS_MAX = SLOTS * BUCKET_CHAIN_MOST,
};
_Static_assert((int)CHAIN_PAIRS_MAX <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

#define SEGMENT_BYTES (sizeof(struct bucket) * BUCKET_SEGMENT)

static struct bucket *bucket_of(const struct index *ix, uint64_t hash) {
    return bucket_place(&ix->buckets, hash, bucket_places(&ix->buckets));
}
static struct bucket *next_in_chain(const struct index *ix, const struct bucket *b) {
    return bucket_next(&ix->buckets, b);
}

static bool bucket_init(struct index *ix) {
    atomic_init(&ix->buckets.count, BUCKET_SEGMENT);
    return index_array_add(&ix->buckets.table, 0, ix->pool, SEGMENT_BYTES);
}

static void bucket_fini(struct index *ix) {
    index_array_free(&ix->buckets.table);
    index_array_free(&ix->buckets.overflow);
}

static struct bucket *overflow_at(const struct index *ix, uint32_t number) {
    return bucket_line(&ix->buckets.overflow, number);
}

uint32_t bucket_find_behind(const struct index_buckets *t, const struct node_space *space,
                            struct index_spot spot, const struct key *k) {
    const struct bucket *b = bucket_next(t, spot.at);
    /* links that are being changed may form a circle */
    for (unsigned lines = 1; b != NULL && lines < BUCKET_CHAIN_MOST; lines++) {
        uint32_t ref = bucket_find_in(b, space, spot.tag, k);
        if (ref != 0) {
            return ref;
        }
        b = bucket_next(t, b);
    }
    return 0;
}

/* --- writing; the caller holds the partition's lock --- */

static struct bucket *overflow_take(struct index *ix, uint32_t *number) {
    if (ix->buckets.overflow_free != 0) {
        *number = ix->buckets.overflow_free - 1;
        struct bucket *b = overflow_at(ix, *number);
        ix->buckets.overflow_free = ref_of(b, 0);
        set_slot(b, 0, 0, 0);
        ix->buckets.overflow_used++;
        return b;
    }
    if (ix->buckets.overflow_count % BUCKET_SEGMENT == 0 &&
        !index_array_add(&ix->buckets.overflow, ix->buckets.overflow_count >> BUCKET_SEGMENT_SHIFT,
                         ix->pool, SEGMENT_BYTES)) {
        return NULL;
    }
    *number = ix->buckets.overflow_count++;
    ix->buckets.overflow_used++;
    return overflow_at(ix, *number);
}

/* Puts a pair into a chain whose version is odd, or that no reader can see yet. False: the chain is
 * full, or memory is out. */
static bool chain_put(struct index *ix, struct bucket *b, uint8_t tag, uint32_t ref) {
    for (unsigned lines = 1;; lines++) {
        unsigned empty = match_slots(b, 0);
        if (empty != 0) {
            set_slot(b, (unsigned)__builtin_ctz(empty), tag, ref);
            return true;
        }
        struct bucket *next = next_in_chain(ix, b);
        if (next == NULL) {
            uint32_t number = 0;
            next = lines < BUCKET_CHAIN_MOST ? overflow_take(ix, &number) : NULL;
            if (next == NULL) {
                return false;
            }
            set_slot(next, 0, tag_of(b, BUCKET_LINK_SLOT), ref_of(b, BUCKET_LINK_SLOT));
            set_slot(b, BUCKET_LINK_SLOT, BUCKET_LINK_TAG, number);
        }
        b = next;
    }
}

/* Empties a bucket and gives its overflow buckets back. The caller has copied its pairs. */
static void chain_clear(struct index *ix, struct bucket *first) {
    struct bucket *b = next_in_chain(ix, first);
    uint32_t number = ref_of(first, BUCKET_LINK_SLOT);
    while (b != NULL) {
        struct bucket *next = next_in_chain(ix, b);
        uint32_t next_number = ref_of(b, BUCKET_LINK_SLOT);
        for (unsigned i = 0; i < SLOTS; i++) {
            set_slot(b, i, 0, 0);
        }
        set_slot(b, 0, 0, ix->buckets.overflow_free);
        ix->buckets.overflow_free = number + 1;
        ix->buckets.overflow_used--;
        b = next;
        number = next_number;
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        set_slot(first, i, 0, 0);
    }
}

struct pair {
    uint32_t ref;
    uint8_t  tag;
};

static unsigned chain_collect(const struct index *ix, const struct bucket *b, struct pair *pairs,
                              unsigned max) {
    unsigned n = 0;
    for (; b != NULL; b = next_in_chain(ix, b)) {
        for (unsigned i = 0; i < SLOTS && n < max; i++) {
            uint8_t tag = tag_of(b, i);
            if (tag != 0 && tag != BUCKET_LINK_TAG) {
                pairs[n++] = (struct pair){.ref = ref_of(b, i), .tag = tag};
            }
        }
    }
    return n;
}

/* Splits the next bucket of the round. Without memory it does nothing: chains grow longer, but no
 * item is lost. */
static void split_one(struct index *ix) {
    uint32_t n = atomic_load_explicit(&ix->buckets.count, memory_order_relaxed);
    if (n % BUCKET_SEGMENT == 0 &&
        !index_array_add(&ix->buckets.table, n >> BUCKET_SEGMENT_SHIFT, ix->pool, SEGMENT_BYTES)) {
        return;
    }
    struct bucket *from = bucket_line(&ix->buckets.table, n - index_round_of(n)),
                  *to = bucket_line(&ix->buckets.table, n);
    struct pair pairs[CHAIN_PAIRS_MAX];
    unsigned count = chain_collect(ix, from, pairs, CHAIN_PAIRS_MAX);
    for (unsigned i = 0; i < count; i++) {
        __builtin_prefetch(node_at(ix->space, pairs[i].ref));
        __builtin_prefetch((const char *)node_at(ix->space, pairs[i].ref) + 64);
    }
    index_version_begin(&from->version);
    chain_clear(ix, from);
    for (unsigned i = 0; i < count; i++) {
        struct bucket *home =
            index_place_of(ix->space->hash_of(node_at(ix->space, pairs[i].ref)), n + 1) == n ? to
                                                                                             : from;
        /* cannot fail: at least as many overflow buckets came back */
        chain_put(ix, home, pairs[i].tag, pairs[i].ref);
    }
    /* the count changes before the version: a reader checks both */
    atomic_store_explicit(&ix->buckets.count, n + 1, memory_order_release);
    index_version_end(&from->version);
}

static bool is_loaded(const struct index *ix, uint64_t items) {
    return items * 10 >
           (uint64_t)atomic_load_explicit(&ix->buckets.count, memory_order_relaxed) * LOAD_X10;
}

/* Splits empty buckets, which moves nothing. */
static void bucket_expect(struct index *ix, uint64_t items) {
    uint64_t before = 0;
    while (is_loaded(ix, items) && before != ix->buckets.count) {
        before = ix->buckets.count;
        split_one(ix);
    }
}

static bool bucket_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = bucket_of(ix, hash);
    index_version_begin(&first->version);
    bool put = chain_put(ix, first, bucket_tag(hash), ref);
    index_version_end(&first->version);
    if (put && is_loaded(ix, ix->item_count + UINT64_C(1))) {
        split_one(ix);
    }
    return put;
}

static struct bucket *chain_seek(const struct index *ix, struct bucket *b, uint32_t ref,
                                 uint8_t tag, unsigned *slot) {
    for (; b != NULL; b = next_in_chain(ix, b)) {
        for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
            *slot = (unsigned)__builtin_ctz(slots);
            if (ref_of(b, *slot) == ref) {
                return b;
            }
        }
    }
    return NULL;
}

static bool bucket_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct bucket *first = bucket_of(ix, hash);
    unsigned slot = 0;
    struct bucket *b = chain_seek(ix, first, old_ref, bucket_tag(hash), &slot);
    if (b == NULL) {
        return false;
    }
    index_version_begin(&first->version);
    atomic_store_explicit(&b->refs[slot], new_ref, memory_order_relaxed);
    index_version_end(&first->version);
    return true;
}

/* Whether the pairs of a chain of several buckets would fit into one. */
static bool fits_one(const struct index *ix, const struct bucket *b) {
    int n = 0;
    for (; b != NULL && n <= SLOTS; b = next_in_chain(ix, b)) {
        unsigned full = ~match_slots(b, 0) & ((1u << SLOTS) - 1);
        n += __builtin_popcount(full) - (tag_of(b, BUCKET_LINK_SLOT) == BUCKET_LINK_TAG);
    }
    return n <= SLOTS;
}

static bool bucket_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = bucket_of(ix, hash);
    unsigned slot = 0;
    struct bucket *b = chain_seek(ix, first, ref, bucket_tag(hash), &slot);
    if (b == NULL) {
        return false;
    }
    index_version_begin(&first->version);
    set_slot(b, slot, 0, 0);
    if (next_in_chain(ix, first) != NULL && fits_one(ix, first)) {
        struct pair pairs[SLOTS];
        unsigned left = chain_collect(ix, first, pairs, SLOTS);
        chain_clear(ix, first);
        for (unsigned i = 0; i < left; i++) {
            set_slot(first, i, pairs[i].tag, pairs[i].ref);
        }
    }
    index_version_end(&first->version);
    return true;
}

static unsigned chain_refs(const struct index *ix, const struct bucket *b, uint32_t *refs,
                           unsigned max) {
    struct pair pairs[CHAIN_PAIRS_MAX];
    unsigned n = chain_collect(ix, b, pairs, max < CHAIN_PAIRS_MAX ? max : CHAIN_PAIRS_MAX);
    for (unsigned i = 0; i < n; i++) {
        refs[i] = pairs[i].ref;
    }
    return n;
}

static bool bucket_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                         unsigned *count) {
    if (i >= atomic_load_explicit(&ix->buckets.count, memory_order_relaxed)) {
        return false;
    }
    *count = chain_refs(ix, bucket_line(&ix->buckets.table, i), refs, max);
    return true;
}

static unsigned bucket_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return chain_refs(ix, bucket_of(ix, hash), refs, INDEX_CHAIN_MOST);
}

static uint64_t bucket_count(const struct index *ix) {
    return atomic_load_explicit(&ix->buckets.count, memory_order_relaxed);
}

static uint64_t bucket_bytes(const struct index *ix) {
    return (bucket_count(ix) + ix->buckets.overflow_count) * sizeof(struct bucket);
}

const struct index_kind index_bucket = {
    .name = "bucket",
    .item_bytes_most = 12,
    .init = bucket_init,
    .fini = bucket_fini,
    .expect = bucket_expect,
    .insert = bucket_insert,
    .replace = bucket_replace,
    .remove = bucket_remove,
    .chain = bucket_chain,
    .rivals = bucket_rivals,
    .bytes = bucket_bytes,
    .buckets = bucket_count,
};
