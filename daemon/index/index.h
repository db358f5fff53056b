/* Key -> item, in one of several ways; the option `index` chooses one at the start. Each partition
 * has an index.
 *
 * Every kind is a table of lines (slots.h) that grows by linear hashing, and a key's own line
 * follows from its hash. So a look-up begins in the same way in all kinds, and reads a key that
 * lies in its own line without a call of the kind. The lines behind are the kind's: overflow lines
 * in `bucket`, a second line in `cuckoo`, lines that follow in `hopscotch`, all entries in
 * `chained`.
 *
 * Writers hold the partition's lock. Readers take none: they look a key up, use the item, and call
 * index_unchanged() afterwards; if that returns false, their reading may be wrong and they start
 * again. For that each line has a version, which is odd during a change: every change of a key's
 * place, or of its item, changes the version that a look-up of this key noted. A look-up that finds
 * nothing notes its own line's version, and one that finds the key notes the version of the key's
 * line. Every kind grows a little with each insert, so none ever stalls. Memory is never unmapped
 * while the index lives.
 *
 * A look-up is bounded for any stored keys: at most 5 lines of the index in `bucket` and
 * `hopscotch`, 2 in `cuckoo`, 32 entries in `chained`, and at most 56, 60, 24 and 32 items, of
 * which all but one have another key. A full place takes no more items until one leaves, and
 * index_candidates returns the items that could leave. Random hashes fill no place. */
#ifndef SLATE_INDEX_INDEX_H
#define SLATE_INDEX_INDEX_H
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/key.h"
#include "base/node.h"
#include "base/prefetch.h"
#include "index/pool.h"
#include "index/seqlock.h"
#include "index/slots.h"
#include "mem/item.h"

struct index;

/* The place of an item: its key's own line, the line that holds the item, whose version look-ups
 * note, and the reference there; NULL: nowhere. */
struct index_place {
    struct index_line *own, *line;
    _Atomic uint32_t  *ref;
};

/* A kind of index: how keys are found that are not in their own line, and how lines change. Callers
 * of all functions but find_behind and guess_behind hold the partition's lock. */
struct index_kind {
    const char *name;
    unsigned    item_bytes_most; /* the most bytes of the pool for each item of a full index */
    unsigned    own_tags;        /* tags in keys' own lines are from 1 to this number */
    unsigned    load_x10;        /* items a line at which one is split, in tenths */
    unsigned    more_bytes;      /* of an element of index.more */
    /* Finds a key outside its own line. `lookup` has the own line's version, and gets that of the
     * key's line when the key is found. Returns the key's reference, or 0. */
    uint32_t (*find_behind)(const struct index *, const struct key *, struct index_hint,
                            struct index_lookup *);
    uint32_t (*guess_behind)(const struct index *, uint64_t hash, struct index_hint);
    bool     (*insert)(struct index *, uint64_t hash, uint32_t ref);
    void     (*remove)(struct index *, uint64_t hash, uint32_t ref);
    struct index_place (*seek)(const struct index *, uint64_t hash, uint32_t ref);
    /* Splits the next line of the round. False: out of memory, and nothing changed. Lines grow
     * longer then, but no item is lost. */
    bool     (*split)(struct index *);
    bool     (*chain)(struct index *, uint32_t i, uint32_t *refs, unsigned max, unsigned *count);
    unsigned (*candidates)(const struct index *, uint64_t hash, uint32_t *refs);
};

/* The default first; NULL at the end. */
extern const struct index_kind *const index_kinds[];
extern const struct index_kind index_bucket, index_chained, index_cuckoo, index_hopscotch;
const struct index_kind *index_kind_find(const char *name); /* NULL: none of this name */

enum {
    INDEX_SEGMENT_SHIFT = 6, /* lines come in segments of 64: 4 KiB */
    INDEX_SEGMENT = 1 << INDEX_SEGMENT_SHIFT,
    /* in the last slot of a line, with the number of a line in index.more that follows this one */
    INDEX_LINK_TAG = 255,
    INDEX_WALKS = 4,
    INDEX_REVISITS = 4,
    /* the most items that index_chain or index_candidates returns at once */
    INDEX_CHAIN_MOST = 108,
};

struct index_walk { /* cuckoo.c */
    uint32_t next; /* the walk's next line; 0: there is no walk */
    /* the lines that the walk visits again before that one */
    uint32_t revisit_count, revisit[INDEX_REVISITS];
};

struct index {
    _Atomic uint32_t count; /* lines of the table, from which the round of linear hashing follows */
    uint32_t    own_tags;
    index_array table;
    index_array more;       /* overflow lines in `bucket`, entries in `chained` */
    const struct node_space *space;
    const struct index_kind *kind;
    struct index_pool       *pool;
    uint32_t    item_count;
    uint32_t    more_count; /* things in `more` that were ever made; none has number 0 */
    uint32_t    more_free;  /* the first that is free, linked; 0: none */
    struct index_walk walks[INDEX_WALKS];
    uint32_t    walk_forgotten;
};

/* false: out of memory */
bool index_init(struct index *, const struct index_kind *, struct index_pool *,
                const struct node_space *);
void index_fini(struct index *);

/* --- where things are --- */

static inline struct index_line *index_line_in(const index_array *a, uint32_t i) {
    return (struct index_line *)index_array_segment(a, i >> INDEX_SEGMENT_SHIFT) +
           (i & (INDEX_SEGMENT - 1));
}
static inline uint32_t index_count(const struct index *ix) {
    return atomic_load_explicit(&ix->count, memory_order_acquire);
}
static inline uint8_t index_tag(const struct index *ix, uint64_t hash) {
    return (uint8_t)(1 + ((uint8_t)(hash >> 32) * ix->own_tags >> 8));
}
static inline struct index_hint index_hint_of(const struct index *ix, uint64_t hash) {
    uint32_t n = index_count(ix);
    return (struct index_hint){index_line_in(&ix->table, index_place_of(hash, n)), n,
                               index_tag(ix, hash)};
}

/* The overflow line that follows a line. A reader may meet a link that is being changed, so the
 * number is checked against the directory. */
static inline struct index_line *index_next(const struct index *ix, const struct index_line *b) {
    if (slot_tag(b, SLOTS - 1) != INDEX_LINK_TAG) {
        return NULL;
    }
    uint32_t number = slot_ref(b, SLOTS - 1);
    struct index_line *segment = index_array_try(&ix->more, number >> INDEX_SEGMENT_SHIFT);
    return segment != NULL ? &segment[number & (INDEX_SEGMENT - 1)] : NULL;
}

/* --- reading --- */

/* Prefetches the line where a look-up of this hash begins. */
static inline struct index_hint index_prefetch(const struct index *ix, uint64_t hash) {
    struct index_hint hint = index_hint_of(ix, hash);
    prefetch(hint.at);
    return hint;
}

/* The first reference of a line whose tag is this one; 0: there is none. */
static inline uint32_t index_guess_in(const struct index *ix, const struct index_line *b,
                                      uint8_t tag) {
    unsigned slots = slots_match(b, tag);
    uint32_t ref = slots != 0 ? slot_ref(b, (unsigned)__builtin_ctz(slots)) : 0;
    return ref >= ix->space->first ? ref : 0;
}
/* A reference whose item may be the key's, unchecked, for prefetching, with the hint of
 * index_prefetch. 0: the key's own line has none. An overflow line is prefetched then, since a wait
 * for that line would cost as much as all else of a get; index_guess_behind may find a reference
 * there after the caller has guessed for some other keys. */
static inline uint32_t index_guess(const struct index *ix, struct index_hint hint) {
    uint32_t ref = index_guess_in(ix, hint.at, hint.tag);
    if (ref == 0) {
        prefetch(index_next(ix, hint.at));
    }
    return ref;
}
static inline uint32_t index_guess_behind(const struct index *ix, uint64_t hash,
                                          struct index_hint hint) {
    return ix->kind->guess_behind(ix, hash, hint);
}

/* The key's reference in one line, by its tag there; 0: the line does not have the key. A reader
 * sees a slot's tag and its number at different times, and may so take the number of an overflow
 * line, linked or free, for a reference. A number below the first reference would lead into the
 * arena's page table, and is rejected. A number above leads into some page, where any chunk may be
 * read (mem/item.h), and stays within the arena, since there are fewer overflow lines than items.
 * Either way the version has changed, and the reader starts again. */
__attribute__((always_inline)) static inline uint32_t index_find_in(const struct index *ix,
                                                                    const struct index_line *b,
                                                                    const struct key *k,
                                                                    uint8_t tag) {
    for (unsigned slots = slots_match(b, tag); slots != 0; slots &= slots - 1) {
        uint32_t ref = slot_ref(b, (unsigned)__builtin_ctz(slots));
        if (ref >= ix->space->first && item_has_key(node_at(ix->space, ref), k)) {
            return ref;
        }
    }
    return 0;
}

/* Finds the item of a key: its reference, or 0. Takes no lock: the caller checks
 * index_unchanged(lookup) afterwards. Candidates' keys are compared in place. The version is read
 * while the hash belongs to its line, and a later split changes the version. An earlier hint's
 * count serves like a count that is read here. */
__attribute__((always_inline)) static inline uint32_t index_find_from(const struct index *ix,
                                                                      const struct key *k,
                                                                      struct index_hint hint,
                                                                      struct index_lookup *lookup) {
    if (hint.count == 0) {
        hint = index_hint_of(ix, k->hash);
    }
    for (;;) {
        *lookup = index_lookup_begin(&((const struct index_line *)hint.at)->version);
        if (__builtin_expect(hint.count == index_count(ix), true)) {
            break;
        }
        hint = index_hint_of(ix, k->hash);
    }
    uint32_t ref = index_find_in(ix, hint.at, k, hint.tag);
    return __builtin_expect(ref != 0, true) ? ref : ix->kind->find_behind(ix, k, hint, lookup);
}

/* The same under the partition's lock. The hint, which may be zeroes, becomes that of the item's
 * line, for index_change_begin. */
__attribute__((always_inline)) static inline uint32_t index_find_locked(const struct index *ix,
                                                                        const struct key *k,
                                                                        struct index_hint *hint) {
    if (hint->count != index_count(ix)) {
        *hint = index_hint_of(ix, k->hash);
    }
    uint32_t ref = index_find_in(ix, hint->at, k, hint->tag);
    if (__builtin_expect(ref == 0, false)) {
        struct index_lookup lookup =
            index_lookup_begin(&((const struct index_line *)hint->at)->version);
        ref = ix->kind->find_behind(ix, k, *hint, &lookup);
        *hint = (struct index_hint){.at = lookup.at};
    }
    return ref;
}
static inline uint32_t index_find(const struct index *ix, const struct key *k) {
    struct index_hint hint = {0};
    return index_find_locked(ix, k, &hint);
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
 * the insert to succeed. Returns their number; 0: none would help, since memory was out. */
static inline unsigned index_candidates(const struct index *ix, uint64_t hash, uint32_t *refs) {
    return ix->kind->candidates(ix, hash, refs);
}

/* The references of the i-th chain, for a walk under the lock, with i from 0 on without a gap;
 * false past the end. `refs` has room for `max`, of which INDEX_CHAIN_MOST are enough; *count is
 * their number. The walk meets each item that is in the index all the time, and may meet it twice
 * while the index grows. */
static inline bool index_chain(struct index *ix, uint32_t i, uint32_t *refs, unsigned max,
                               unsigned *count) {
    return ix->kind->chain(ix, i, refs, max, count);
}
uint64_t index_bytes(const struct index *);

/* The line of an item that was found without a hint. */
static inline struct index_hint index_hint_at(const struct index *ix, uint64_t hash, uint32_t ref) {
    return (struct index_hint){.at = ix->kind->seek(ix, hash, ref).line};
}
/* Begins a change of an item in its place: readers that have looked this key up meanwhile start
 * again. The hint comes from index_find_locked or index_hint_at. The caller ends the change with
 * index_version_end. */
static inline _Atomic uint32_t *index_change_begin(struct index_hint hint) {
    _Atomic uint32_t *version = &((struct index_line *)(uintptr_t)hint.at)->version;
    index_version_begin(version);
    return version;
}

#endif
