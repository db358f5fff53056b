/* The classic: chain heads, twelve in a line, and an entry of twelve bytes for each item.
 *
 *   line    | version | 12 zeroes | number | number | …       0: an empty chain
 *   entry   | number of the next | reference of the item | low half of the hash |
 *
 * The line is that of slots.h, whose tags say that no key lies in its own line. With half of the
 * hash in each entry, a walk along a chain passes other keys' items without touching them, and a
 * split touches none. Lines grow by linear hashing; the high bits of the low half say which of a
 * line's chains is a key's, before and after. The version covers the line's twelve chains. One
 * array of 256 versions for all keys was tried first: when a writer lost its processor within a
 * change, one look-up of 256 waited until the writer had it again, once for 2.8 ms. Source:
 * memcached's table, without its pause, its lock for readers and its eight bytes for each link.
 * Memory: 12 bytes an item and 5.3 a head, some 15 in all, at any size. */
#include "index/line.h"

enum {
    ENTRIES_SHIFT = 10, /* entries come in segments of 12 KiB */
    ENTRIES = 1 << ENTRIES_SHIFT,
    CHAIN_MOST = 32,    /* entries of a chain; just before its split a chain rarely has 12 */
};
_Static_assert((int)CHAIN_MOST <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

struct chain_entry {
    _Atomic uint32_t next, ref, hash;
};

static uint32_t load(const _Atomic uint32_t *at) {
    return atomic_load_explicit(at, memory_order_acquire);
}
static void store(_Atomic uint32_t *at, uint32_t v) {
    atomic_store_explicit(at, v, memory_order_release);
}

/* The number of a hash's chain in its line. */
static unsigned chain_in(uint64_t hash) {
    return (unsigned)((uint64_t)(uint32_t)hash * SLOTS >> 32);
}
/* The caller keeps the line from being split. */
static struct index_line *line_of(const struct index *ix, uint64_t hash) {
    return line_at(ix, index_place_of(hash, index_count(ix)));
}
/* NULL: the number is no entry's. A reader may meet any number; 0 is no entry's. */
static struct chain_entry *entry_at(const struct index *ix, uint32_t number) {
    struct chain_entry *segment =
        number != 0 ? index_array_try(&ix->more, number >> ENTRIES_SHIFT) : NULL;
    return segment != NULL ? &segment[number & (ENTRIES - 1)] : NULL;
}

/* --- reading --- */

static uint32_t chained_guess_behind(const struct index *ix, uint64_t hash,
                                     struct index_spot spot) {
    const struct index_line *line = spot.at;
    const struct chain_entry *e = entry_at(ix, load(&line->refs[chain_in(hash)]));
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        if (load(&e->hash) == (uint32_t)hash) {
            return load(&e->ref);
        }
        e = entry_at(ix, load(&e->next));
    }
    return 0;
}

static uint32_t chained_find_behind(const struct index *ix, const struct key *k,
                                    struct index_spot spot, struct index_look *look) {
    (void)look; /* is the line's, whose version is that of the chain */
    const struct index_line *line = spot.at;
    const struct chain_entry *e = entry_at(ix, load(&line->refs[chain_in(k->hash)]));
    /* links that are being changed may form a circle */
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        uint32_t ref = load(&e->ref);
        if (load(&e->hash) == (uint32_t)k->hash && ref != 0 &&
            item_key_is(node_at(ix->space, ref), k)) {
            return ref;
        }
        e = entry_at(ix, load(&e->next));
    }
    return 0;
}

/* --- writing; the caller holds the partition's lock --- */

static uint32_t entry_take(struct index *ix) {
    if (ix->more_free != 0) {
        uint32_t number = ix->more_free;
        ix->more_free = load(&entry_at(ix, number)->next);
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
        __builtin_prefetch(entry_at(ix, load(&from->refs[i])));
    }
    index_version_begin(&from->version);
    for (unsigned i = 0; i < SLOTS; i++) {
        uint32_t number = load(&from->refs[i]), stay = 0, go = 0;
        while (number != 0) {
            struct chain_entry *e = entry_at(ix, number);
            uint32_t next = load(&e->next),
                     *list = index_place_of(load(&e->hash), n + 1) == n ? &go : &stay;
            store(&e->next, *list);
            *list = number;
            number = next;
        }
        store(&from->refs[i], stay);
        store(&to->refs[i], go);
    }
    /* the count changes before the version: a reader checks both */
    store(&ix->count, n + 1);
    index_version_end(&from->version);
    return true;
}

static bool chained_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *line = line_of(ix, hash);
    _Atomic uint32_t *head = &line->refs[chain_in(hash)];
    uint32_t first = load(head);
    unsigned length = 0;
    for (const struct chain_entry *e = entry_at(ix, first); e != NULL;
         e = entry_at(ix, load(&e->next))) {
        length++;
    }
    uint32_t number = length < CHAIN_MOST ? entry_take(ix) : 0;
    if (number == 0) {
        return false;
    }
    struct chain_entry *e = entry_at(ix, number);
    /* The version changes before the entry is written, too: a reader may still walk through that
     * entry. */
    index_version_begin(&line->version);
    store(&e->ref, ref);
    store(&e->hash, (uint32_t)hash);
    store(&e->next, first);
    store(head, number);
    index_version_end(&line->version);
    return true;
}

static struct index_place chained_seek(const struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_line *line = line_of(ix, hash);
    struct chain_entry *e = entry_at(ix, load(&line->refs[chain_in(hash)]));
    while (e != NULL && load(&e->ref) != ref) {
        e = entry_at(ix, load(&e->next));
    }
    return (struct index_place){line, line, e != NULL ? &e->ref : NULL};
}

static void chained_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct index_place at = chained_seek(ix, hash, ref);
    assert(at.ref != NULL);
    _Atomic uint32_t *link = &at.own->refs[chain_in(hash)];
    struct chain_entry *e;
    while (e = entry_at(ix, load(link)), &e->ref != at.ref) {
        link = &e->next;
    }
    uint32_t number = load(link);
    index_version_begin(&at.own->version);
    store(link, load(&e->next));
    store(&e->ref, 0);
    store(&e->next, ix->more_free);
    index_version_end(&at.own->version);
    ix->more_free = number;
}

static unsigned chain_refs(const struct index *ix, uint32_t number, uint32_t *refs, unsigned max) {
    unsigned n = 0;
    for (const struct chain_entry *e = entry_at(ix, number); e != NULL && n < max;
         e = entry_at(ix, load(&e->next))) {
        refs[n++] = load(&e->ref);
    }
    return n;
}

static bool chained_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                          unsigned *count) {
    bool there = i / SLOTS < index_count(ix);
    *count = there ? chain_refs(ix, load(&line_at(ix, i / SLOTS)->refs[i % SLOTS]), refs, max) : 0;
    return there;
}

static unsigned chained_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return chain_refs(ix, load(&line_of(ix, hash)->refs[chain_in(hash)]), refs, INDEX_CHAIN_MOST);
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
    .rivals = chained_rivals,
};
