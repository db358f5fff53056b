/* The classic: chain heads, twelve in a line, and an entry of twelve bytes for each item.
 *
 *   line    | version | 12 zeroes | number | number | …       0: an empty chain
 *   entry   | number of the next | reference of the item | low half of the hash |
 *
 * The line is that of slots.h, with all tags empty, so that no key lies in its own line. With half
 * of the hash in each entry, a walk along a chain passes other keys' items without touching them,
 * and a split touches none. Lines grow by linear hashing; the high bits of the low half say which
 * of a line's chains is a key's, before and after. The version covers the line's twelve chains.
 * Source: memcached's table, without its pause, its lock for readers and its eight bytes for each
 * link. Memory: 12 bytes an item and 5.3 a head, some 15 in all, at any size. */
#include "index/index_line.h"

enum {
    ENTRIES_SHIFT = 10, /* entries come in segments of 12 KiB */
    ENTRIES = 1 << ENTRIES_SHIFT,
    CHAIN_MOST = 32,    /* entries of a chain; just before its split a chain rarely has 12 */
};
_Static_assert((int)CHAIN_MOST <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

struct chain_entry {
    _Atomic uint32_t next, ref, hash;
};

static uint32_t chained_load(const _Atomic uint32_t *at) {
    return atomic_load_explicit(at, memory_order_acquire);
}
static void chained_store(_Atomic uint32_t *at, uint32_t v) {
    atomic_store_explicit(at, v, memory_order_release);
}

/* The number of a hash's chain in its line. */
static unsigned chained_slot(uint64_t hash) {
    return (unsigned)((uint64_t)(uint32_t)hash * SLOTS >> 32);
}
/* The caller keeps the line from being split. */
static struct index_line *chained_line(const struct index *ix, uint64_t hash) {
    return line_at(ix, index_place_of(hash, index_count(ix)));
}
/* NULL: the number is no entry's. A reader may meet any number; 0 is no entry's. */
static struct chain_entry *chained_entry(const struct index *ix, uint32_t number) {
    struct chain_entry *segment =
        number != 0 ? index_array_try(&ix->more, number >> ENTRIES_SHIFT) : NULL;
    return segment != NULL ? &segment[number & (ENTRIES - 1)] : NULL;
}

/* --- reading --- */

static uint32_t chained_guess_behind(const struct index *ix, uint64_t hash,
                                     struct index_hint hint) {
    const struct index_line *line = hint.at;
    const struct chain_entry *e = chained_entry(ix, chained_load(&line->refs[chained_slot(hash)]));
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        if (chained_load(&e->hash) == (uint32_t)hash) {
            return chained_load(&e->ref);
        }
        e = chained_entry(ix, chained_load(&e->next));
    }
    return 0;
}

static uint32_t chained_find_behind(const struct index *ix, const struct key *k,
                                    struct index_hint hint, struct index_lookup *lookup) {
    (void)lookup; /* has the line's version, which is that of the chain */
    const struct index_line *line = hint.at;
    const struct chain_entry *e =
        chained_entry(ix, chained_load(&line->refs[chained_slot(k->hash)]));
    /* links that are being changed may form a circle */
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        uint32_t ref = chained_load(&e->ref);
        if (chained_load(&e->hash) == (uint32_t)k->hash && ref != 0 &&
            item_has_key(node_at(ix->space, ref), k)) {
            return ref;
        }
        e = chained_entry(ix, chained_load(&e->next));
    }
    return 0;
}

/* --- writing; the caller holds the partition's lock --- */

static uint32_t chained_take_entry(struct index *ix) {
    if (ix->more_free != 0) {
        uint32_t number = ix->more_free;
        ix->more_free = chained_load(&chained_entry(ix, number)->next);
        return number;
    }
    uint32_t segment = ix->more_count >> ENTRIES_SHIFT;
    if (index_array_try(&ix->more, segment) == NULL &&
        !index_array_add(&ix->more, segment, ix->pool, ENTRIES * sizeof(struct chain_entry))) {
        return 0;
    }
    return ix->more_count++;
}

static bool chained_split(struct index *ix) {
    uint32_t n = index_count(ix);
    if (!line_add(ix)) {
        return false;
    }
    struct index_line *from = line_at(ix, n - index_round_of(n)), *to = line_at(ix, n);
    for (unsigned i = 0; i < SLOTS; i++) {
        __builtin_prefetch(chained_entry(ix, chained_load(&from->refs[i])));
    }
    index_version_begin(&from->version);
    for (unsigned i = 0; i < SLOTS; i++) {
        uint32_t number = chained_load(&from->refs[i]), stay = 0, go = 0;
        while (number != 0) {
            struct chain_entry *e = chained_entry(ix, number);
            uint32_t next = chained_load(&e->next),
                     *list = index_place_of(chained_load(&e->hash), n + 1) == n ? &go : &stay;
            chained_store(&e->next, *list);
            *list = number;
            number = next;
        }
        chained_store(&from->refs[i], stay);
        chained_store(&to->refs[i], go);
    }
    /* the count changes before the version: a reader checks both */
    chained_store(&ix->count, n + 1);
    index_version_end(&from->version);
    return true;
}

static bool chained_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *line = chained_line(ix, hash);
    _Atomic uint32_t *head = &line->refs[chained_slot(hash)];
    uint32_t first = chained_load(head);
    unsigned length = 0;
    for (const struct chain_entry *e = chained_entry(ix, first); e != NULL;
         e = chained_entry(ix, chained_load(&e->next))) {
        length++;
    }
    uint32_t number = length < CHAIN_MOST ? chained_take_entry(ix) : 0;
    if (number == 0) {
        return false;
    }
    struct chain_entry *e = chained_entry(ix, number);
    /* The version changes before the entry is written, too: a reader may still walk through that
     * entry. */
    index_version_begin(&line->version);
    chained_store(&e->ref, ref);
    chained_store(&e->hash, (uint32_t)hash);
    chained_store(&e->next, first);
    chained_store(head, number);
    index_version_end(&line->version);
    return true;
}

static struct index_place chained_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *line = chained_line(ix, hash);
    struct chain_entry *e = chained_entry(ix, chained_load(&line->refs[chained_slot(hash)]));
    while (e != NULL && chained_load(&e->ref) != ref) {
        e = chained_entry(ix, chained_load(&e->next));
    }
    return (struct index_place){line, line, e != NULL ? &e->ref : NULL};
}

static void chained_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_place at = chained_seek(ix, hash, ref);
    assert(at.ref != NULL);
    _Atomic uint32_t *link = &at.own->refs[chained_slot(hash)];
    struct chain_entry *e = chained_entry(ix, chained_load(link));
    for (; &e->ref != at.ref; e = chained_entry(ix, chained_load(link))) {
        link = &e->next;
    }
    uint32_t number = chained_load(link);
    index_version_begin(&at.own->version);
    chained_store(link, chained_load(&e->next));
    chained_store(&e->ref, 0);
    chained_store(&e->next, ix->more_free);
    index_version_end(&at.own->version);
    ix->more_free = number;
}

static unsigned chained_refs(const struct index *ix, uint32_t number, uint32_t *refs,
                             unsigned max) {
    unsigned n = 0;
    for (const struct chain_entry *e = chained_entry(ix, number); e != NULL && n < max;
         e = chained_entry(ix, chained_load(&e->next))) {
        refs[n++] = chained_load(&e->ref);
    }
    return n;
}

static bool chained_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                          unsigned *count) {
    bool there = i / SLOTS < index_count(ix);
    *count =
        there ? chained_refs(ix, chained_load(&line_at(ix, i / SLOTS)->refs[i % SLOTS]), refs, max)
              : 0;
    return there;
}

static unsigned chained_candidates(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return chained_refs(ix, chained_load(&chained_line(ix, hash)->refs[chained_slot(hash)]), refs,
                        INDEX_CHAIN_MOST);
}

const struct index_kind index_chained = {
    .name = "chained",
    .item_bytes_most = 20,
    .load_x10 = 15 * SLOTS, /* 1.5 items a head, as in memcached */
    .more_bytes = sizeof(struct chain_entry),
    .find_behind = chained_find_behind,
    .guess_behind = chained_guess_behind,
    .insert = chained_insert,
    .remove = chained_remove,
    .seek = chained_seek,
    .split = chained_split,
    .chain = chained_chain,
    .candidates = chained_candidates,
};
