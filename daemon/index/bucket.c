/* The default index: one table of 64-byte buckets, read without a lock.
 *
 *   0         4                 16                           64
 *   | version | 12 one-byte tags | 12 references of items     |   tag 0: empty; the 12th may instead link an overflow bucket
 *
 * A change makes the version of the chain's first bucket odd. The table grows by linear hashing,
 * one bucket split for every LOAD_X10 / 10 items, so its load stays where 64 bytes serve about nine
 * items. Source: the optimistic scheme of Fan et al., "MemC3", NSDI 2013; linear hashing of Litwin,
 * VLDB 1980. Memory: about 7.5 bytes an item at the normal load, see README. */
#include "index/index.h"
#include "index/slots.h"
#include "mem/item.h"

enum {
    LINK_SLOT = SLOTS - 1,
    LINK_TAG = 255,
    SEGMENT_SHIFT = 6, /* buckets come by 64: 4 KiB */
    SEGMENT = 1 << SEGMENT_SHIFT,
    LOAD_X10 = 120,    /* items a bucket before one is split, tenths */
    /* lines of a chain: room for 56 items, where even before its split comes one rarely has 40 */
    CHAIN_MOST = 5,
    CHAIN_PAIRS_MAX = SLOTS * CHAIN_MOST,
};
_Static_assert((int)CHAIN_PAIRS_MAX <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

#define SEGMENT_BYTES (sizeof(struct bucket) * SEGMENT)

static inline uint8_t tag_for(uint64_t hash) {
    uint8_t t = (uint8_t)(hash >> 32);
    return t == 0 ? 1 : t == LINK_TAG ? LINK_TAG - 1 : t;
}
static inline struct bucket *bucket_at(const index_array *a, uint32_t i) {
    return (struct bucket *)index_array_segment(a, i >> SEGMENT_SHIFT) + (i & (SEGMENT - 1));
}
static inline struct bucket *bucket_of(const struct index *ix, uint64_t hash) {
    uint32_t n = atomic_load_explicit(&ix->buckets.count, memory_order_acquire);
    return bucket_at(&ix->buckets.table, index_place_of(hash, n));
}

static bool bucket_init(struct index *ix) {
    atomic_init(&ix->buckets.count, SEGMENT);
    return index_array_add(&ix->buckets.table, 0, ix->pool, SEGMENT_BYTES);
}

static void bucket_fini(struct index *ix) {
    index_array_free(&ix->buckets.table);
    index_array_free(&ix->buckets.overflow);
}

static struct bucket *overflow_at(const struct index *ix, uint32_t number) {
    return bucket_at(&ix->buckets.overflow, number);
}

/* The next bucket of a chain. A reader may meet a link that is being changed: the number is checked
 * against the directory. */
static struct bucket *next_in_chain(const struct index *ix, const struct bucket *b) {
    if (tag_of(b, LINK_SLOT) != LINK_TAG) {
        return NULL;
    }
    uint32_t number = ref_of(b, LINK_SLOT);
    struct bucket *segment = index_array_try(&ix->buckets.overflow, number >> SEGMENT_SHIFT);
    return segment != NULL ? &segment[number & (SEGMENT - 1)] : NULL;
}

/* --- reading --- */

/* The chain's first bucket, and its version as it was while the hash belonged there: a later split
 * changes it. */
static struct bucket *look_at(const struct index *ix, uint64_t hash, struct index_look *look) {
    uint32_t n = atomic_load_explicit(&ix->buckets.count, memory_order_acquire), now = n;
    struct bucket *b;
    do {
        n = now;
        b = bucket_at(&ix->buckets.table, index_place_of(hash, n));
        *look = index_look_at(&b->version);
        now = atomic_load_explicit(&ix->buckets.count, memory_order_acquire);
    } while (now != n);
    return b;
}

void bucket_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(bucket_of(ix, hash));
}

/* A reader sees a slot's tag and its number at different times, so it may take the number of an
 * overflow bucket, linked or free, for a reference. A number below the first reference, which would
 * lead into the arena's page table, is none; one above leads into some page, where any chunk may be
 * read (mem/item.h): there are fewer overflow buckets than items, so it ends within the arena. The
 * version has changed either way, and the reader looks again. */
uint32_t bucket_find(const struct index *ix, const struct key *k, struct index_look *look) {
    uint8_t tag = tag_for(k->hash);
    struct bucket *b = look != NULL ? look_at(ix, k->hash, look) : bucket_of(ix, k->hash);
    /* links that change may lead round for ever */
    for (unsigned lines = 0; b != NULL && lines < CHAIN_MOST; lines++) {
        for (unsigned slots = match_slots(b, tag); slots != 0; slots &= slots - 1) {
            uint32_t ref = ref_of(b, (unsigned)__builtin_ctz(slots));
            if (ref >= ix->space->first && item_key_is(node_at(ix->space, ref), k)) {
                return ref;
            }
        }
        b = next_in_chain(ix, b);
    }
    return 0;
}

uint32_t bucket_guess(const struct index *ix, uint64_t hash) {
    uint8_t tag = tag_for(hash);
    const struct bucket *b = bucket_of(ix, hash);
    unsigned slots = match_slots(b, tag);
    if (slots == 0) {
        b = next_in_chain(ix, b);
        slots = b != NULL ? match_slots(b, tag) : 0;
    }
    uint32_t ref = slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
    return ref >= ix->space->first ? ref : 0;
}

/* --- writing, under the partition's lock --- */

static struct index_change bucket_change(struct index *ix, uint64_t hash, const void *item) {
    (void)item;
    return (struct index_change){{&bucket_of(ix, hash)->version, NULL}};
}

static struct bucket *overflow_take(struct index *ix, uint32_t *number) {
    if (ix->buckets.overflow_free != 0) {
        *number = ix->buckets.overflow_free - 1;
        struct bucket *b = overflow_at(ix, *number);
        ix->buckets.overflow_free = ref_of(b, 0);
        set_slot(b, 0, 0, 0);
        ix->buckets.overflow_used++;
        return b;
    }
    if (ix->buckets.overflow_count % SEGMENT == 0 &&
        !index_array_add(&ix->buckets.overflow, ix->buckets.overflow_count >> SEGMENT_SHIFT,
                         ix->pool, SEGMENT_BYTES)) {
        return NULL;
    }
    *number = ix->buckets.overflow_count++;
    ix->buckets.overflow_used++;
    return overflow_at(ix, *number);
}

/* Puts a pair into a chain whose version is odd, or that nobody can see yet. False: the chain is
 * full, or there is no memory. */
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
            next = lines < CHAIN_MOST ? overflow_take(ix, &number) : NULL;
            if (next == NULL) {
                return false;
            }
            set_slot(next, 0, tag_of(b, LINK_SLOT), ref_of(b, LINK_SLOT));
            set_slot(b, LINK_SLOT, LINK_TAG, number);
        }
        b = next;
    }
}

/* Empties a bucket and gives its overflow buckets back; its pairs are in the caller's hands. */
static void chain_clear(struct index *ix, struct bucket *first) {
    struct bucket *b = next_in_chain(ix, first);
    uint32_t number = ref_of(first, LINK_SLOT);
    while (b != NULL) {
        struct bucket *next = next_in_chain(ix, b);
        uint32_t next_number = ref_of(b, LINK_SLOT);
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
            if (tag != 0 && tag != LINK_TAG) {
                pairs[n++] = (struct pair){.ref = ref_of(b, i), .tag = tag};
            }
        }
    }
    return n;
}

/* Splits the next bucket of the round. Without memory it does nothing: chains grow longer, nothing
 * is lost. */
static void split_one(struct index *ix) {
    uint32_t n = atomic_load_explicit(&ix->buckets.count, memory_order_relaxed);
    if (n % SEGMENT == 0 &&
        !index_array_add(&ix->buckets.table, n >> SEGMENT_SHIFT, ix->pool, SEGMENT_BYTES)) {
        return;
    }
    struct bucket *from = bucket_at(&ix->buckets.table, n - index_round_of(n)),
                  *to = bucket_at(&ix->buckets.table, n);
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
    /* before the version: a reader checks both */
    atomic_store_explicit(&ix->buckets.count, n + 1, memory_order_release);
    index_version_end(&from->version);
}

static bool bucket_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = bucket_of(ix, hash);
    index_version_begin(&first->version);
    bool put = chain_put(ix, first, tag_for(hash), ref);
    index_version_end(&first->version);
    uint64_t buckets = atomic_load_explicit(&ix->buckets.count, memory_order_relaxed);
    if (put && (ix->item_count + UINT64_C(1)) * 10 > buckets * LOAD_X10) {
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
    struct bucket *b = chain_seek(ix, first, old_ref, tag_for(hash), &slot);
    if (b == NULL) {
        return false;
    }
    index_version_begin(&first->version);
    atomic_store_explicit(&b->refs[slot], new_ref, memory_order_relaxed);
    index_version_end(&first->version);
    return true;
}

/* Whether a chain of several buckets holds so few that one is enough. */
static bool fits_one(const struct index *ix, const struct bucket *b) {
    int n = 0;
    for (; b != NULL && n <= SLOTS; b = next_in_chain(ix, b)) {
        unsigned full = ~match_slots(b, 0) & ((1u << SLOTS) - 1);
        n += __builtin_popcount(full) - (tag_of(b, LINK_SLOT) == LINK_TAG);
    }
    return n <= SLOTS;
}

static bool bucket_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first = bucket_of(ix, hash);
    unsigned slot = 0;
    struct bucket *b = chain_seek(ix, first, ref, tag_for(hash), &slot);
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
    *count = chain_refs(ix, bucket_at(&ix->buckets.table, i), refs, max);
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
    .prefetch = bucket_prefetch,
    .guess = bucket_guess,
    .find = bucket_find,
    .insert = bucket_insert,
    .replace = bucket_replace,
    .remove = bucket_remove,
    .change = bucket_change,
    .chain = bucket_chain,
    .rivals = bucket_rivals,
    .bytes = bucket_bytes,
    .buckets = bucket_count,
};
