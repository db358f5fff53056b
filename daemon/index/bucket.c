/* The default index: one table of 64-byte lines, read without a lock.
 *
 *   0         4                 16                           64
 *   | version | 12 one-byte tags | 12 references of items     |
 *
 * Tag 0: empty. The 12th reference may instead link an overflow line.
 *
 * A change makes the version of the chain's first line odd. The table grows by linear hashing,
 * one line split for every load_x10 / 10 items, so its load stays where 64 bytes serve about nine
 * items. Source: the optimistic scheme of Fan et al., "MemC3", NSDI 2013; linear hashing of Litwin,
 * VLDB 1980. Memory: about 7.5 bytes an item at the normal load, see BENCHMARKS.md. */
#include "index/index_line.h"

enum {
    LINK_SLOT = SLOTS - 1,
    /* lines of a chain: room for 56 items; just before its split a chain rarely has 40 */
    LINES_MOST = 5,
    PAIRS_MAX = SLOTS * LINES_MOST,
};
_Static_assert((int)PAIRS_MAX <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

/* --- reading --- */

static uint32_t bucket_guess_behind(const struct index *ix, uint64_t hash,
                                    struct index_hint hint) {
    (void)hash;
    const struct index_line *next = index_next(ix, hint.at);
    return next != NULL ? index_guess_in(ix, next, hint.tag) : 0;
}

static uint32_t bucket_find_behind(const struct index *ix, const struct key *k,
                                   struct index_hint hint, struct index_lookup *lookup) {
    (void)lookup; /* the first line's version is that of the chain */
    const struct index_line *b = index_next(ix, hint.at);
    /* links that are being changed may form a circle */
    for (unsigned lines = 1; b != NULL && lines < LINES_MOST; lines++) {
        uint32_t ref = index_find_in(ix, b, k, hint.tag);
        if (ref != 0) {
            return ref;
        }
        b = index_next(ix, b);
    }
    return 0;
}

/* --- writing; the caller holds the partition's lock --- */

static struct index_line *bucket_take_overflow(struct index *ix, uint32_t *number) {
    if (ix->more_free != 0) {
        *number = ix->more_free;
        struct index_line *b = index_line_in(&ix->more, *number);
        ix->more_free = slot_ref(b, 0);
        slot_set(b, 0, 0, 0);
        return b;
    }
    *number = ix->more_count;
    uint32_t segment = *number >> INDEX_SEGMENT_SHIFT;
    if (index_array_try(&ix->more, segment) == NULL &&
        !index_array_add(&ix->more, segment, ix->pool,
                         sizeof(struct index_line) * INDEX_SEGMENT)) {
        return NULL;
    }
    ix->more_count++;
    return index_line_in(&ix->more, *number);
}

/* Puts a pair into a chain whose version is odd, or that no reader can see yet. False: the chain is
 * full, or memory is out. */
static bool bucket_chain_put(struct index *ix, struct index_line *b, uint8_t tag, uint32_t ref) {
    for (unsigned lines = 1;; lines++) {
        unsigned empty = slots_match(b, 0);
        if (empty != 0) {
            slot_set(b, (unsigned)__builtin_ctz(empty), tag, ref);
            return true;
        }
        struct index_line *next = index_next(ix, b);
        if (next == NULL) {
            uint32_t number = 0;
            next = lines < LINES_MOST ? bucket_take_overflow(ix, &number) : NULL;
            if (next == NULL) {
                return false;
            }
            slot_set(next, 0, slot_tag(b, LINK_SLOT), slot_ref(b, LINK_SLOT));
            slot_set(b, LINK_SLOT, INDEX_LINK_TAG, number);
        }
        b = next;
    }
}

static void bucket_clear_slots(struct index_line *b) {
    for (unsigned i = 0; i < SLOTS; i++) {
        slot_set(b, i, 0, 0);
    }
}

/* Empties a chain and gives its overflow lines back. The caller has copied its pairs. */
static void bucket_chain_clear(struct index *ix, struct index_line *first) {
    assert(index_version_is_odd(&first->version));
    struct index_line *b = index_next(ix, first);
    uint32_t number = slot_ref(first, LINK_SLOT);
    while (b != NULL) {
        struct index_line *next = index_next(ix, b);
        uint32_t next_number = slot_ref(b, LINK_SLOT);
        bucket_clear_slots(b);
        slot_set(b, 0, 0, ix->more_free);
        ix->more_free = number;
        b = next;
        number = next_number;
    }
    bucket_clear_slots(first);
}

/* The slots of a line that have items. */
static unsigned bucket_item_slots(const struct index_line *b) {
    return slots_full(b) & ~(slot_tag(b, LINK_SLOT) == INDEX_LINK_TAG ? 1u << LINK_SLOT : 0);
}

struct pair {
    uint32_t ref;
    uint8_t  tag;
};

static unsigned bucket_chain_collect(const struct index *ix, const struct index_line *b,
                                     struct pair *pairs) {
    unsigned n = 0;
    for (; b != NULL; b = index_next(ix, b)) {
        for (unsigned slots = bucket_item_slots(b); slots != 0; slots &= slots - 1) {
            unsigned slot = (unsigned)__builtin_ctz(slots);
            pairs[n++] = (struct pair){.ref = slot_ref(b, slot), .tag = slot_tag(b, slot)};
        }
    }
    return n;
}

static bool bucket_split(struct index *ix) {
    uint32_t n = index_count(ix);
    if (!line_add(ix)) {
        return false;
    }
    struct index_line *from = line_at(ix, n - index_round_of(n)), *to = line_at(ix, n);
    for (const struct index_line *b = from; b != NULL; b = index_next(ix, b)) {
        line_prefetch_items(ix, b, bucket_item_slots(b));
    }
    struct pair pairs[PAIRS_MAX];
    unsigned count = bucket_chain_collect(ix, from, pairs);
    index_version_begin(&from->version);
    bucket_chain_clear(ix, from);
    for (unsigned i = 0; i < count; i++) {
        uint64_t hash = ix->space->hash_of(node_at(ix->space, pairs[i].ref));
        /* cannot fail: at least as many overflow lines came back */
        bucket_chain_put(ix, index_place_of(hash, n + 1) == n ? to : from, pairs[i].tag,
                         pairs[i].ref);
    }
    /* the count changes before the version: a reader checks both */
    atomic_store_explicit(&ix->count, n + 1, memory_order_release);
    index_version_end(&from->version);
    return true;
}

static bool bucket_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *first = line_at(ix, index_place_of(hash, index_count(ix)));
    index_version_begin(&first->version);
    bool put = bucket_chain_put(ix, first, index_tag(ix, hash), ref);
    index_version_end(&first->version);
    return put;
}

static struct index_place bucket_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *first = line_at(ix, index_place_of(hash, index_count(ix)));
    struct index_place at = {first, first, NULL};
    for (struct index_line *b = first; b != NULL && at.ref == NULL; b = index_next(ix, b)) {
        at.ref = line_seek(b, index_tag(ix, hash), ref);
    }
    return at;
}

/* Whether the items of a chain of several lines would fit into one. */
static bool bucket_fits_one_line(const struct index *ix, const struct index_line *b) {
    unsigned n = 0;
    for (; b != NULL && n <= SLOTS; b = index_next(ix, b)) {
        n += (unsigned)__builtin_popcount(bucket_item_slots(b));
    }
    return n <= SLOTS;
}

static void bucket_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_place at = bucket_seek(ix, hash, ref);
    assert(at.ref != NULL);
    struct index_line *first = at.own,
                      *b = (void *)((uintptr_t)at.ref & ~(uintptr_t)(sizeof *b - 1));
    index_version_begin(&first->version);
    slot_set(b, line_slot(b, at.ref), 0, 0);
    if (index_next(ix, first) != NULL && bucket_fits_one_line(ix, first)) {
        struct pair pairs[PAIRS_MAX];
        unsigned left = bucket_chain_collect(ix, first, pairs);
        bucket_chain_clear(ix, first);
        for (unsigned i = 0; i < left; i++) {
            slot_set(first, i, pairs[i].tag, pairs[i].ref);
        }
    }
    index_version_end(&first->version);
}

/* --- walking --- */

static unsigned bucket_chain_refs(const struct index *ix, const struct index_line *b,
                                  uint32_t *refs, unsigned max) {
    unsigned n = 0;
    for (; b != NULL; b = index_next(ix, b)) {
        n = line_add_refs(b, bucket_item_slots(b), refs, n, max);
    }
    return n;
}

static bool bucket_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                         unsigned *count) {
    bool there = i < index_count(ix);
    *count = there ? bucket_chain_refs(ix, line_at(ix, i), refs, max) : 0;
    return there;
}

static unsigned bucket_candidates(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return bucket_chain_refs(ix, line_at(ix, index_place_of(hash, index_count(ix))), refs,
                             INDEX_CHAIN_MOST);
}

const struct index_kind index_bucket = {
    .name = "bucket",
    .item_bytes_most = 12,
    .own_tags = INDEX_LINK_TAG - 1,
    .load_x10 = 120,
    .more_bytes = sizeof(struct index_line),
    .find_behind = bucket_find_behind,
    .guess_behind = bucket_guess_behind,
    .insert = bucket_insert,
    .remove = bucket_remove,
    .seek = bucket_seek,
    .split = bucket_split,
    .chain = bucket_chain,
    .candidates = bucket_candidates,
};
