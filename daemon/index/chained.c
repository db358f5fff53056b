/* The classic: chain heads, fifteen in a cache line, and an entry of twelve bytes for each item.
 *
 *   line    | version | number | number | …       0: an empty chain
 *   entry   | number of the next | reference of the item | low half of the hash |
 *
 * With half of the hash in each entry, a walk along a chain passes other keys' items without
 * touching them, and a split touches none. Heads grow by linear hashing, one split for each insert
 * above LOAD_X10 / 10 items a head. The version covers the line's fifteen chains. One array of 256
 * versions for all keys was tried first: when a writer lost its processor within a change, one
 * look-up of 256 waited until the writer had it again, once for 2.8 ms. Source: memcached's table,
 * without its pause, its lock for readers and its eight bytes for each link. Memory: 12 bytes an
 * item and 4.3 a head, some 15 in all, at any size. */
#include "index/index.h"
#include "mem/item.h"

enum {
    LINE_HEADS = 15,
    LINES_SHIFT = 6,    /* lines come in segments of 4 KiB */
    LINES = 1 << LINES_SHIFT,
    SEGMENT_HEADS = LINES * LINE_HEADS,
    SEGMENT_SHIFT = 10, /* entries come in segments of 12 KiB */
    SEGMENT = 1 << SEGMENT_SHIFT,
    LOAD_X10 = 15,      /* items a head at which one is split, in tenths; as in memcached */
    CHAIN_MOST = 32,    /* entries of a chain; just before its split a chain rarely has 12 */
};
_Static_assert((int)CHAIN_MOST <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

struct chain_line {
    _Atomic uint32_t version, heads[LINE_HEADS];
};
_Static_assert(sizeof(struct chain_line) == 64, "a cache line");
struct chain_entry {
    _Atomic uint32_t next, ref, hash;
};

static uint32_t load(const _Atomic uint32_t *at) {
    return atomic_load_explicit(at, memory_order_acquire);
}
static void store(_Atomic uint32_t *at, uint32_t v) {
    atomic_store_explicit(at, v, memory_order_release);
}

/* A chain's head, and the version of its line. */
struct chain {
    _Atomic uint32_t *head, *version;
};
static struct chain chain_at(const struct index *ix, uint32_t place) {
    uint32_t i = place / LINE_HEADS;
    struct chain_line *line =
        (struct chain_line *)index_array_segment(&ix->chains.lines, i >> LINES_SHIFT) +
        (i & (LINES - 1));
    return (struct chain){&line->heads[place - i * LINE_HEADS], &line->version};
}
/* The chain of a hash, if the caller keeps it from being split; otherwise a guess. */
static struct chain chain_of(const struct index *ix, uint64_t hash) {
    return chain_at(ix, index_place_of(hash, load(&ix->chains.count)));
}
/* NULL: the number is no entry's. A reader may meet any number; 0 is no entry's. */
static struct chain_entry *entry_at(const struct index *ix, uint32_t number) {
    struct chain_entry *segment =
        number != 0 ? index_array_try(&ix->chains.entries, number >> SEGMENT_SHIFT) : NULL;
    return segment != NULL ? &segment[number & (SEGMENT - 1)] : NULL;
}

static bool chained_init(struct index *ix) {
    struct index_chains *c = &ix->chains;
    c->entry_count = 1; /* no entry has number 0 */
    atomic_init(&c->count, SEGMENT_HEADS);
    return index_array_add(&c->lines, 0, ix->pool, LINES * sizeof(struct chain_line)) &&
           index_array_add(&c->entries, 0, ix->pool, SEGMENT * sizeof(struct chain_entry));
}

static void chained_fini(struct index *ix) {
    index_array_free(&ix->chains.lines);
    index_array_free(&ix->chains.entries);
}

/* --- reading --- */

static void chained_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(chain_of(ix, hash).head);
}

static uint32_t chained_guess(const struct index *ix, uint64_t hash) {
    const struct chain_entry *e = entry_at(ix, load(chain_of(ix, hash).head));
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        if (load(&e->hash) == (uint32_t)hash) {
            return load(&e->ref);
        }
        e = entry_at(ix, load(&e->next));
    }
    return 0;
}

static uint32_t chained_find(const struct index *ix, const struct key *k, struct index_look *look) {
    uint32_t count, now = load(&ix->chains.count);
    struct chain chain;
    struct index_look at;
    do { /* The version is read while the hash belongs there: a later split changes it. */
        count = now;
        chain = chain_at(ix, index_place_of(k->hash, count));
        at = index_look_at(chain.version);
        now = load(&ix->chains.count);
    } while (__builtin_expect(now != count, false));
    if (look != NULL) {
        *look = at;
    }
    const struct chain_entry *e = entry_at(ix, load(chain.head));
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

static struct index_change chained_change(struct index *ix, uint64_t hash, const void *item) {
    (void)item;
    return (struct index_change){{chain_of(ix, hash).version, NULL}};
}

static uint32_t entry_take(struct index *ix) {
    struct index_chains *c = &ix->chains;
    if (c->entry_free != 0) {
        uint32_t number = c->entry_free;
        c->entry_free = load(&entry_at(ix, number)->next);
        return number;
    }
    if (c->entry_count % SEGMENT == 0 &&
        !index_array_add(&c->entries, c->entry_count >> SEGMENT_SHIFT, ix->pool,
                         SEGMENT * sizeof(struct chain_entry))) {
        return 0;
    }
    return c->entry_count++;
}

/* Splits the next chain of the round. Without memory it does nothing: chains grow longer, but no
 * item is lost. */
static void split_one(struct index *ix) {
    uint32_t n = load(&ix->chains.count);
    if (n % SEGMENT_HEADS == 0 && !index_array_add(&ix->chains.lines, n / SEGMENT_HEADS, ix->pool,
                                                   LINES * sizeof(struct chain_line))) {
        return;
    }
    uint32_t from = n - index_round_of(n), stay = 0, go = 0;
    struct chain chain = chain_at(ix, from);
    uint32_t number = load(chain.head);
    index_version_begin(chain.version);
    while (number != 0) {
        struct chain_entry *e = entry_at(ix, number);
        uint32_t next = load(&e->next),
                 *list = index_place_of(load(&e->hash), n + 1) == n ? &go : &stay;
        store(&e->next, *list);
        *list = number;
        number = next;
    }
    store(chain.head, stay);
    store(chain_at(ix, n).head, go);
    /* the count changes before the version: a reader checks both */
    store(&ix->chains.count, n + 1);
    index_version_end(chain.version);
}

static bool chained_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    struct chain chain = chain_of(ix, hash);
    uint32_t first = load(chain.head);
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
    index_version_begin(chain.version);
    store(&e->ref, ref);
    store(&e->hash, (uint32_t)hash);
    store(&e->next, first);
    store(chain.head, number);
    index_version_end(chain.version);
    if ((ix->item_count + UINT64_C(1)) * 10 > (uint64_t)load(&ix->chains.count) * LOAD_X10) {
        split_one(ix);
    }
    return true;
}

/* The link that leads to the entry of a reference, in the chain's head or in the entry before;
 * NULL: there is no such entry. */
static _Atomic uint32_t *link_to(const struct index *ix, struct chain chain, uint32_t ref) {
    _Atomic uint32_t *link = chain.head;
    for (struct chain_entry *e; (e = entry_at(ix, load(link))) != NULL; link = &e->next) {
        if (load(&e->ref) == ref) {
            return link;
        }
    }
    return NULL;
}

static bool chained_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    struct chain chain = chain_of(ix, hash);
    _Atomic uint32_t *link = link_to(ix, chain, old_ref);
    if (link == NULL) {
        return false;
    }
    index_version_begin(chain.version);
    store(&entry_at(ix, load(link))->ref, new_ref);
    index_version_end(chain.version);
    return true;
}

static bool chained_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    struct chain chain = chain_of(ix, hash);
    _Atomic uint32_t *link = link_to(ix, chain, ref);
    if (link == NULL) {
        return false;
    }
    uint32_t number = load(link);
    struct chain_entry *e = entry_at(ix, number);
    index_version_begin(chain.version);
    store(link, load(&e->next));
    store(&e->ref, 0);
    store(&e->next, ix->chains.entry_free);
    index_version_end(chain.version);
    ix->chains.entry_free = number;
    return true;
}

static unsigned chain_refs(const struct index *ix, const _Atomic uint32_t *head, uint32_t *refs,
                           unsigned max) {
    unsigned n = 0;
    for (const struct chain_entry *e = entry_at(ix, load(head)); e != NULL && n < max;
         e = entry_at(ix, load(&e->next))) {
        refs[n++] = load(&e->ref);
    }
    return n;
}

static bool chained_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                          unsigned *count) {
    if (i >= load(&ix->chains.count)) {
        return false;
    }
    *count = chain_refs(ix, chain_at(ix, i).head, refs, max);
    return true;
}

static unsigned chained_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return chain_refs(ix, chain_of(ix, hash).head, refs, INDEX_CHAIN_MOST);
}

static uint64_t chained_bytes(const struct index *ix) {
    uint64_t lines = (load(&ix->chains.count) + UINT64_C(1) * LINE_HEADS - 1) / LINE_HEADS;
    return lines * sizeof(struct chain_line) +
           (uint64_t)ix->chains.entry_count * sizeof(struct chain_entry);
}

static uint64_t chained_buckets(const struct index *ix) { return load(&ix->chains.count); }

const struct index_kind index_chained = {
    .name = "chained",
    .item_bytes_most = 20,
    .init = chained_init,
    .fini = chained_fini,
    .prefetch = chained_prefetch,
    .guess = chained_guess,
    .find = chained_find,
    .insert = chained_insert,
    .replace = chained_replace,
    .remove = chained_remove,
    .change = chained_change,
    .chain = chained_chain,
    .rivals = chained_rivals,
    .bytes = chained_bytes,
    .buckets = chained_buckets,
};
