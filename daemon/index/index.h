/* Key -> item, in one of several ways; the option `index` chooses one at the start. Each partition
 * has an index.
 *
 * Writers hold the partition's lock. Readers take none: they look a key up, use what they found,
 * and call index_unchanged() afterwards; if it says no, what they saw may be false and they start
 * again. For that each kind keeps versions, which are odd while something changes: every change of
 * a key's place, or of its item, changes the version that a look-up of this key noted. Every kind
 * grows a little with each insert, so none ever stalls. Memory is never unmapped while the index
 * lives.
 *
 * A look-up is bounded whatever keys are stored: it reads at most 5 lines of the index in `bucket`
 * and `hopscotch`, 2 in `cuckoo`, 32 entries in `chained`, and touches at most 56, 60, 24 and 32
 * items, of which all but one have another key. A place that is full takes no more items until one
 * leaves it, and index_rivals tells which ones could leave. Random hashes fill no place: in
 * `bucket` they fill one of 10^8 at its fullest, just before it is split.
 *
 * To add a kind: a file with its functions, a struct here for its fields, a line in index_kinds and
 * in the option `index` (serve/config/settings_rows.h). test_index and `make bench-index` then
 * cover it without a change. */
#ifndef SLATE_INDEX_INDEX_H
#define SLATE_INDEX_INDEX_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/key.h"
#include "base/node.h"
#include "base/prefetch.h"
#include "index/bucket.h"
#include "index/look.h"
#include "index/pool.h"

struct index;

/* the most items that index_chain or index_rivals returns at once */
enum { INDEX_CHAIN_MOST = 108 };

/* The versions that are odd while an item changes in its place; the second may be NULL. */
struct index_change {
    _Atomic uint32_t *at[2];
};

struct index_kind {
    const char *name;
    unsigned    item_bytes_most; /* what an item takes of the pool at most while an index is full */
    /* Gets an index of zeroes with kind, pool and space set; false: out of memory. */
    bool     (*init)(struct index *);
    void     (*fini)(struct index *);
    /* The next four are NULL in the default kind, whose functions are called by name. */
    void     (*prefetch)(const struct index *, uint64_t hash);
    uint32_t (*guess)(const struct index *, uint64_t hash);
    uint32_t (*find)(const struct index *, const struct key *, struct index_look *);
    struct index_change (*change)(struct index *, uint64_t hash, const void *item);
    /* NULL: it grows as items come. */
    void     (*expect)(struct index *, uint64_t items);
    bool     (*insert)(struct index *, uint64_t hash, uint32_t ref);
    /* False: old_ref was not there. */
    bool     (*replace)(struct index *, uint64_t hash, uint32_t old_ref, uint32_t new_ref);
    /* False: ref was not there. */
    bool     (*remove)(struct index *, uint64_t hash, uint32_t ref);
    bool     (*chain)(struct index *, uint32_t i, uint32_t *refs, unsigned max, unsigned *count);
    unsigned (*rivals)(const struct index *, uint64_t hash, uint32_t *refs);
    uint64_t (*bytes)(const struct index *);
    uint64_t (*buckets)(const struct index *);
};

/* The default first; NULL at the end. */
extern const struct index_kind *const index_kinds[];
extern const struct index_kind index_bucket, index_chained, index_cuckoo, index_hopscotch;
const struct index_kind *index_kind_find(const char *name); /* NULL: none of this name */

struct index_chains { /* chained.c */
    _Atomic uint32_t  count; /* number of heads */
    uint32_t          entry_count; /* entries that were ever made */
    index_array       lines, entries;
    uint32_t          entry_free; /* first free entry, linked through next; 0: none */
};
enum { INDEX_WALKS = 4, INDEX_AGAIN = 4 };
struct index_walk {
    uint32_t next; /* the walk's next bucket; 0: there is no walk */
    /* and the buckets that it visits once more before that one */
    uint32_t again_count, again[INDEX_AGAIN];
};
struct index_cuckoo { /* cuckoo.c */
    _Atomic uint32_t count; /* number of buckets */
    uint32_t         walk_forgotten;
    index_array      table;
    struct index_walk walks[INDEX_WALKS];
};
struct index_hopscotch { /* hopscotch.c */
    _Atomic uint32_t count; /* number of lines */
    index_array      table;
};
struct index {
    const struct index_kind *kind;
    const struct node_space *space;
    union {
        struct index_buckets buckets;
        struct index_chains  chains;
        struct index_cuckoo  cuckoo;
        struct index_hopscotch hopscotch;
    };
    struct index_pool *pool;
    uint32_t           item_count;
};

/* false: out of memory */
bool index_init(struct index *, const struct index_kind *, struct index_pool *,
                const struct node_space *);
void index_fini(struct index *);

/* --- reading. The default kind's functions are called by name, so the choice costs it only a
 * branch --- */

static inline bool index_is_default(const struct index *ix) {
    return __builtin_expect(ix->kind == &index_bucket, true);
}

/* Prefetches the line where a look-up of this hash begins. */
static inline struct index_spot index_prefetch(const struct index *ix, uint64_t hash) {
    if (index_is_default(ix)) {
        struct index_spot spot = bucket_spot(&ix->buckets, hash);
        prefetch(spot.at);
        return spot;
    }
    ix->kind->prefetch(ix, hash);
    return (struct index_spot){0};
}
/* A reference whose item may be the key's, unchecked, for prefetching. 0: no reference can be read
 * without a wait; index_guess_behind may find one after the caller has guessed for some other
 * keys. */
static inline uint32_t index_guess(const struct index *ix, uint64_t hash, struct index_spot spot) {
    if (!index_is_default(ix)) {
        return ix->kind->guess(ix, hash);
    }
    return bucket_guess(&ix->buckets, ix->space,
                        spot.at != NULL ? spot : bucket_spot(&ix->buckets, hash));
}
static inline uint32_t index_guess_behind(const struct index *ix, struct index_spot spot) {
    return index_is_default(ix) && spot.at != NULL
               ? bucket_guess_behind(&ix->buckets, ix->space, spot)
               : 0;
}
/* Finds the item of a key: its reference, or 0. It takes no lock: the caller asks
 * index_unchanged(look) afterwards; under the partition's lock it needs no look (NULL). Candidates'
 * keys are compared in place. */
__attribute__((always_inline)) static inline uint32_t index_find_from(
    const struct index *ix, const struct key *k, struct index_spot spot, struct index_look *look) {
    return index_is_default(ix) ? bucket_find(&ix->buckets, ix->space, k, spot, look)
                                : ix->kind->find(ix, k, look);
}
static inline uint32_t index_find(const struct index *ix, const struct key *k,
                                  struct index_look *look) {
    return index_find_from(ix, k, (struct index_spot){0}, look);
}

/* --- changes; the caller holds the partition's lock --- */

/* Makes room in an empty index that is about to get so many items, so that they need not be moved
 * as they come. Only a request. */
void index_expect(struct index *, uint64_t items);
/* The key must not be there. False, and nothing is changed: memory is out, or the place of this
 * hash is full. */
bool index_insert(struct index *, uint64_t hash, uint32_t ref);
/* old_ref must be there */
void index_replace(struct index *, uint64_t hash, uint32_t old_ref, uint32_t new_ref);
/* must be there */
void index_remove(struct index *, uint64_t hash, uint32_t ref);

/* After an insert that failed: the items, up to INDEX_CHAIN_MOST, one of which must be removed for
 * the insert to succeed. Returns how many; 0: none would help, since memory was out. */
static inline unsigned index_rivals(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return ix->kind->rivals(ix, hash, refs);
}

/* The references of the i-th chain, for a walk under the lock, with i from 0 on without a gap;
 * false past the end. `refs` has room for `max`, of which INDEX_CHAIN_MOST are enough; *count says
 * how many there are. The walk meets each item that is in the index all the time, and may meet it
 * twice while the index grows. */
static inline bool index_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                               unsigned *count) {
    return ix->kind->chain(ix, i, refs, max, count);
}
static inline uint64_t index_bytes(const struct index *ix) { return ix->kind->bytes(ix); }
static inline uint64_t index_bucket_count(const struct index *ix) { return ix->kind->buckets(ix); }

/* Brackets a change of an item that keeps its place and its chain: readers that looked this key up
 * meanwhile look again. */
static inline struct index_change index_change_begin(struct index *ix, uint64_t hash,
                                                     struct index_spot spot, const void *item) {
    struct index_change change = {{NULL, NULL}};
    if (index_is_default(ix)) {
        change.at[0] = &bucket_at_spot(&ix->buckets, hash, spot)->version;
    } else {
        change = ix->kind->change(ix, hash, item);
    }
    index_version_begin(change.at[0]);
    if (change.at[1] != NULL) {
        index_version_begin(change.at[1]);
    }
    return change;
}
static inline void index_change_end(struct index_change change) {
    index_version_end(change.at[0]);
    if (change.at[1] != NULL) {
        index_version_end(change.at[1]);
    }
}

#endif
