/* Two places for every key: its first bucket, and a second one that follows from the first and the
 * tag alone.
 *
 *   0                  4                  16                           64
 *   | version : strays | 12 one-byte tags | 12 references of items     |   the line of slots.h
 *
 * A look-up reads the first bucket. It reads the second one only if `strays` says that some key of
 * the first bucket lies in its second: one line for most keys, two at most. A full bucket makes
 * room by moving a key to the key's other bucket; if that is full, too, a key of that one moves,
 * along the shortest path to an empty slot. Each change of a key changes the version of its first
 * bucket, and of each bucket whose slots change. So a look-up that finds nothing checks the first
 * bucket's version, and one that finds the key checks the bucket where it found it.
 *
 * The table grows by linear hashing. A bucket's new half is filled before readers can see it, and
 * the old half is cleared after that; then the keys that had strayed from it are brought home. If a
 * key moves from a bucket that a walk has not reached yet to one that it has passed, the walk
 * visits the latter again: so it meets every key that stays. Source: Fan et al., "MemC3", NSDI
 * 2013, with twelve slots in place of four, and with growth; Litwin, VLDB 1980. Memory: 64 bytes
 * for 10.8 items at any size, 5.9 an item. */
#include "index/cuckoo_bucket.h"

enum {
    LOAD_X10 = 108,        /* items a bucket at which one is split, in tenths */
    /* Below this load no bucket is split because a path is missing: that happens when somebody
     * makes keys collide. */
    LOAD_LEAST_X10 = 72,
    SPLITS_MOST = 8,       /* the most splits in one insert because a path is missing */
};

static bool cuckoo_init(struct index *ix) {
    atomic_init(&ix->cuckoo.count, SEGMENT);
    return index_array_add(&ix->cuckoo.table, 0, ix->pool, SEGMENT_BYTES);
}

static void cuckoo_fini(struct index *ix) { index_array_free(&ix->cuckoo.table); }

/* --- reading --- */

static void cuckoo_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(bucket_at(ix, first_of(hash, count_of(ix))));
}

static uint32_t cuckoo_guess(const struct index *ix, uint64_t hash) {
    uint8_t tag = tag_for(hash);
    uint32_t count = count_of(ix);
    const struct bucket *b = bucket_at(ix, first_of(hash, count));
    unsigned slots = match_slots(b, tag);
    if (slots == 0 && strays_of(b) != 0) {
        b = bucket_at(ix, second_of(hash, count));
        slots = match_slots(b, tag);
    }
    return slots != 0 ? ref_of(b, (unsigned)__builtin_ctz(slots)) : 0;
}

static uint32_t cuckoo_find(const struct index *ix, const struct key *k, struct index_look *look) {
    uint8_t tag = tag_for(k->hash);
    uint32_t count, now = count_of(ix);
    const struct bucket *first;
    struct index_look at_first, at_second;
    do { /* A bucket's version is read while the hash belongs there: a later split changes it. */
        count = now;
        first = bucket_at(ix, first_of(k->hash, count));
        at_first = index_look_at(&first->version);
        now = count_of(ix);
    } while (now != count);
    uint32_t ref = find_in(ix, first, k, tag);
    if (look != NULL) {
        *look = at_first;
    }
    if (ref != 0 || at_first.version >> ABOVE_SHIFT == 0) {
        return ref;
    }
    const struct bucket *second = bucket_at(ix, second_of(k->hash, count));
    at_second = index_look_at(&second->version);
    ref = find_in(ix, second, k, tag);
    if (ref != 0 && look != NULL) {
        *look = at_second;
    }
    return ref;
}

/* --- changes --- */

static bool put(struct index *ix, uint64_t hash, uint32_t ref, uint32_t count) {
    struct bucket *first = bucket_at(ix, first_of(hash, count)), *to = first;
    unsigned empty = match_slots(first, 0);
    if (empty == 0) {
        to = bucket_at(ix, second_of(hash, count));
        empty = match_slots(to, 0);
        if (empty == 0) {
            return false;
        }
    }
    change_begin(first, to);
    set_slot(to, (unsigned)__builtin_ctz(empty), tag_for(hash), ref);
    if (to != first) {
        add_strays(first, 1);
    }
    change_end(first, to);
    return true;
}

static bool fuller_than(const struct index *ix, uint32_t load_x10) {
    return (ix->item_count + UINT64_C(1)) * 10 > (uint64_t)count_of(ix) * load_x10;
}

static bool put_somehow(struct index *ix, uint64_t hash, uint32_t ref) {
    for (unsigned splits = 0;; splits++) {
        uint32_t count = count_of(ix);
        if (put(ix, hash, ref, count) ||
            (cuckoo_make_room(ix, hash, count, false) && put(ix, hash, ref, count))) {
            return true;
        }
        if (splits == SPLITS_MOST || !fuller_than(ix, LOAD_LEAST_X10) || !cuckoo_split_one(ix)) {
            return cuckoo_make_room(ix, hash, count, true) && put(ix, hash, ref, count);
        }
    }
}

static bool cuckoo_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    if (!put_somehow(ix, hash, ref)) {
        return false;
    }
    if (fuller_than(ix, LOAD_X10)) {
        cuckoo_split_one(ix);
    }
    return true;
}

/* Finds where an item is: its bucket and slot, and the first bucket of its key. NULL: nowhere. */
static struct bucket *seek(const struct index *ix, uint64_t hash, uint32_t ref,
                           struct bucket **first, unsigned *slot) {
    uint32_t count = count_of(ix);
    struct bucket *b = *first = bucket_at(ix, first_of(hash, count));
    for (;;) {
        for (unsigned slots = match_slots(b, tag_for(hash)); slots != 0; slots &= slots - 1) {
            *slot = (unsigned)__builtin_ctz(slots);
            if (ref_of(b, *slot) == ref) {
                return b;
            }
        }
        if (b != *first || strays_of(b) == 0) {
            return NULL;
        }
        b = bucket_at(ix, second_of(hash, count));
    }
}

static bool cuckoo_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, old_ref, &first, &slot);
    if (b == NULL) {
        return false;
    }
    change_begin(first, b);
    atomic_store_explicit(&b->refs[slot], new_ref, memory_order_relaxed);
    change_end(first, b);
    return true;
}

static bool cuckoo_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, ref, &first, &slot);
    if (b == NULL) {
        return false;
    }
    change_begin(first, b);
    set_slot(b, slot, 0, 0);
    if (b != first) {
        add_strays(first, -1);
    }
    change_end(first, b);
    return true;
}

/* A look-up that found the key checks the version of the bucket where it found it. */
static struct index_change cuckoo_change(struct index *ix, uint64_t hash, const void *item) {
    struct bucket *first;
    unsigned slot;
    struct bucket *b = seek(ix, hash, node_ref(ix->space, item), &first, &slot);
    return (struct index_change){
        {version_of(first), b != NULL && b != first ? version_of(b) : NULL}};
}

/* --- walking --- */

/* The walk whose next bucket is `i`. There is room for a few walks at a time; one that was broken
 * off is forgotten when others begin. */
static struct index_walk *walk_at(struct index *ix, uint32_t i) {
    struct index_cuckoo *c = &ix->cuckoo;
    struct index_walk *w = c->walks;
    while (w < c->walks + INDEX_WALKS && (i == 0 || w->next != i)) {
        w++;
    }
    if (w == c->walks + INDEX_WALKS) {
        for (w = c->walks; w < c->walks + INDEX_WALKS && w->next != 0; w++) {
        }
        w = w < c->walks + INDEX_WALKS ? w : &c->walks[c->walk_forgotten++ % INDEX_WALKS];
        *w = (struct index_walk){.next = i};
    }
    return w;
}

static unsigned refs_in(const struct index *ix, uint32_t i, uint32_t *refs, unsigned max) {
    const struct bucket *b = bucket_at(ix, i);
    unsigned n = 0;
    for (unsigned slot = 0; slot < SLOTS && n < max; slot++) {
        if (tag_of(b, slot) != 0) {
            refs[n++] = ref_of(b, slot);
        }
    }
    return n;
}

_Static_assert((1 + (int)INDEX_AGAIN) * (int)SLOTS <= (int)INDEX_CHAIN_MOST,
               "a step of a walk fits those who walk");
static bool cuckoo_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                         unsigned *count) {
    struct index_walk *w = walk_at(ix, i);
    unsigned n = 0;
    bool past_end = i >= count_of(ix), more = !past_end || w->again_count > 0;
    if (!past_end) {
        n = refs_in(ix, i, refs, max);
    }
    while (w->again_count > 0) {
        n += refs_in(ix, w->again[--w->again_count], refs + n, max - n);
    }
    w->next = more ? i + 1 : 0;
    *count = n;
    return more;
}

static unsigned cuckoo_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    uint32_t count = count_of(ix);
    unsigned n = refs_in(ix, first_of(hash, count), refs, INDEX_CHAIN_MOST);
    return n + refs_in(ix, second_of(hash, count), refs + n, INDEX_CHAIN_MOST - n);
}

static uint64_t cuckoo_buckets(const struct index *ix) { return count_of(ix); }
static uint64_t cuckoo_bytes(const struct index *ix) {
    return (uint64_t)count_of(ix) * sizeof(struct bucket);
}

const struct index_kind index_cuckoo = {
    .name = "cuckoo",
    .item_bytes_most = 12,
    .init = cuckoo_init,
    .fini = cuckoo_fini,
    .prefetch = cuckoo_prefetch,
    .guess = cuckoo_guess,
    .find = cuckoo_find,
    .insert = cuckoo_insert,
    .replace = cuckoo_replace,
    .remove = cuckoo_remove,
    .change = cuckoo_change,
    .chain = cuckoo_chain,
    .rivals = cuckoo_rivals,
    .bytes = cuckoo_bytes,
    .buckets = cuckoo_buckets,
};
