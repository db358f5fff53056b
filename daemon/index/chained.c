/* The classic: an array of chain heads, and an entry of twelve bytes for each item.
 *
 *   heads   | number | number | …       0: empty
 *   entry   | number of the next | reference of the item | low half of the hash |
 *
 * An entry's half hash lets a walk along a chain pass other keys' items without touching them, and
 * lets chains be split without touching any. Heads grow by linear hashing, one split for each
 * insert above LOAD items a head. Versions are not in the chains but in an array by the low bits of
 * the hash, which keys of one chain share before and after any split; so a look need not know how
 * many heads there were. Source: what memcached does, without its pause, its lock for readers and
 * its eight bytes for each link. Memory: 12 bytes an item and 4 a head, some 15 in all, at any
 * size. */
#include "index/index.h"
#include "mem/item.h"

enum {
    SEGMENT_SHIFT = 10, /* heads come by 4 KiB, entries by 12 KiB */
    SEGMENT = 1 << SEGMENT_SHIFT,
    LOAD_X10 = 15,      /* items a head before one is split, tenths: memcached's */
    VERSIONS = 256,     /* at most a segment, so that a split keeps the version */
    CHAIN_MOST = 32,    /* entries of a chain; even before its split comes one rarely has 12 */
};
_Static_assert((int)CHAIN_MOST <= (int)INDEX_CHAIN_MOST, "a chain fits those who walk");

struct chain_entry {
    _Atomic uint32_t next, ref, hash;
};

static _Atomic uint32_t *head_at(const struct index *ix, uint32_t i) {
    return (_Atomic uint32_t *)index_array_segment(&ix->chains.heads, i >> SEGMENT_SHIFT) +
           (i & (SEGMENT - 1));
}
static _Atomic uint32_t *head_of(const struct index *ix, uint64_t hash) {
    return head_at(
        ix, index_place_of(hash, atomic_load_explicit(&ix->chains.count, memory_order_acquire)));
}
/* A reader may meet any number; NULL: it is none, as 0 is. */
static struct chain_entry *entry_at(const struct index *ix, uint32_t number) {
    struct chain_entry *segment =
        number != 0 ? index_array_try(&ix->chains.entries, number >> SEGMENT_SHIFT) : NULL;
    return segment != NULL ? &segment[number & (SEGMENT - 1)] : NULL;
}
static _Atomic uint32_t *version_of(const struct index *ix, uint64_t hash) {
    return &ix->chains.versions[hash & (VERSIONS - 1)];
}
static uint32_t load(const _Atomic uint32_t *at) {
    return atomic_load_explicit(at, memory_order_acquire);
}
static void store(_Atomic uint32_t *at, uint32_t v) {
    atomic_store_explicit(at, v, memory_order_release);
}

static bool chained_init(struct index *ix) {
    struct index_chains *c = &ix->chains;
    c->versions = index_pool_take(ix->pool, VERSIONS * sizeof *c->versions);
    c->entry_count = 1; /* number 0 is none */
    atomic_init(&c->count, SEGMENT);
    return c->versions != NULL &&
           index_array_add(&c->heads, 0, ix->pool, SEGMENT * sizeof(uint32_t)) &&
           index_array_add(&c->entries, 0, ix->pool, SEGMENT * sizeof(struct chain_entry));
}

static void chained_fini(struct index *ix) {
    index_array_free(&ix->chains.heads);
    index_array_free(&ix->chains.entries);
}

/* --- reading --- */

static void chained_prefetch(const struct index *ix, uint64_t hash) {
    __builtin_prefetch(head_of(ix, hash));
}

static uint32_t chained_guess(const struct index *ix, uint64_t hash) {
    const struct chain_entry *e = entry_at(ix, load(head_of(ix, hash)));
    for (unsigned hops = 0; e != NULL && hops < CHAIN_MOST; hops++) {
        if (load(&e->hash) == (uint32_t)hash) {
            return load(&e->ref);
        }
        e = entry_at(ix, load(&e->next));
    }
    return 0;
}

static uint32_t chained_find(const struct index *ix, const struct key *k, struct index_look *look) {
    if (look != NULL) {
        *look = index_look_at(version_of(ix, k->hash));
    }
    const struct chain_entry *e = entry_at(ix, load(head_of(ix, k->hash)));
    /* links that change may lead round for ever */
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

/* --- writing, under the partition's lock --- */

static struct index_change chained_change(struct index *ix, uint64_t hash, const void *item) {
    (void)item;
    return (struct index_change){{version_of(ix, hash), NULL}};
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

/* Splits the next chain of the round. Without memory it does nothing: chains grow longer, nothing
 * is lost. */
static void split_one(struct index *ix) {
    uint32_t n = load(&ix->chains.count);
    if (n % SEGMENT == 0 && !index_array_add(&ix->chains.heads, n >> SEGMENT_SHIFT, ix->pool,
                                             SEGMENT * sizeof(uint32_t))) {
        return;
    }
    uint32_t from = n - index_round_of(n), stay = 0, go = 0;
    uint32_t number = load(head_at(ix, from));
    _Atomic uint32_t *version = version_of(ix, from);
    index_version_begin(version);
    while (number != 0) {
        struct chain_entry *e = entry_at(ix, number);
        uint32_t next = load(&e->next),
                 *list = index_place_of(load(&e->hash), n + 1) == n ? &go : &stay;
        store(&e->next, *list);
        *list = number;
        number = next;
    }
    store(head_at(ix, from), stay);
    store(head_at(ix, n), go);
    store(&ix->chains.count, n + 1);
    index_version_end(version);
}

static bool chained_insert(struct index *ix, uint64_t hash, uint32_t ref) {
    _Atomic uint32_t *head = head_of(ix, hash);
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
    _Atomic uint32_t *version = version_of(ix, hash);
    /* also before the entry is written: somebody may still be walking through it */
    index_version_begin(version);
    store(&e->ref, ref);
    store(&e->hash, (uint32_t)hash);
    store(&e->next, first);
    store(head, number);
    index_version_end(version);
    if ((ix->item_count + UINT64_C(1)) * 10 > (uint64_t)load(&ix->chains.count) * LOAD_X10) {
        split_one(ix);
    }
    return true;
}

/* The link to the entry of a reference, in its head or in the entry before it; NULL: it is not
 * there. */
static _Atomic uint32_t *link_to(const struct index *ix, uint64_t hash, uint32_t ref) {
    _Atomic uint32_t *link = head_of(ix, hash);
    for (struct chain_entry *e; (e = entry_at(ix, load(link))) != NULL; link = &e->next) {
        if (load(&e->ref) == ref) {
            return link;
        }
    }
    return NULL;
}

static bool chained_replace(struct index *ix, uint64_t hash, uint32_t old_ref, uint32_t new_ref) {
    _Atomic uint32_t *link = link_to(ix, hash, old_ref);
    if (link == NULL) {
        return false;
    }
    index_version_begin(version_of(ix, hash));
    store(&entry_at(ix, load(link))->ref, new_ref);
    index_version_end(version_of(ix, hash));
    return true;
}

static bool chained_remove(struct index *ix, uint64_t hash, uint32_t ref) {
    _Atomic uint32_t *link = link_to(ix, hash, ref);
    if (link == NULL) {
        return false;
    }
    uint32_t number = load(link);
    struct chain_entry *e = entry_at(ix, number);
    index_version_begin(version_of(ix, hash));
    store(link, load(&e->next));
    store(&e->ref, 0);
    store(&e->next, ix->chains.entry_free);
    index_version_end(version_of(ix, hash));
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
    *count = chain_refs(ix, head_at(ix, i), refs, max);
    return true;
}

static unsigned chained_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return chain_refs(ix, head_of(ix, hash), refs, INDEX_CHAIN_MOST);
}

static uint64_t chained_bytes(const struct index *ix) {
    return VERSIONS * sizeof(uint32_t) + (uint64_t)load(&ix->chains.count) * sizeof(uint32_t) +
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
