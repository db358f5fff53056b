/* Functions for changes that the kinds of an index share. */
#ifndef SLATE_INDEX_INDEX_LINE_H
#define SLATE_INDEX_INDEX_LINE_H
#include "index/index.h"

#define LINE_SEGMENT_BYTES (sizeof(struct index_line) * INDEX_SEGMENT)

static inline struct index_line *line_at(const struct index *ix, uint32_t i) {
    return index_line_in(&ix->table, i);
}
/* Provides memory for one more line, which the kind fills before it raises the count. False: out of
 * memory. */
static inline bool line_add(struct index *ix) {
    uint32_t n = index_count(ix);
    return n % INDEX_SEGMENT != 0 ||
           index_array_add(&ix->table, n >> INDEX_SEGMENT_SHIFT, ix->pool, LINE_SEGMENT_BYTES);
}

/* --- bits of the kind's own below a version --- */

enum { LOW_MOST = INDEX_VERSION_ONE - 1 };

static inline uint32_t line_low(const struct index_line *b) {
    return atomic_load_explicit(&b->version, memory_order_relaxed) & LOW_MOST;
}
/* The line must be within a change, or not visible to readers. */
static inline void line_set_low(struct index_line *b, uint32_t low) {
    uint32_t v = atomic_load_explicit(&b->version, memory_order_relaxed);
    atomic_store_explicit(&b->version, (v & ~(uint32_t)LOW_MOST) | low, memory_order_relaxed);
}

/* --- changes of a key's own line and of the line that holds the key, which may be the same --- */

static inline void line_change_begin(struct index_line *own, struct index_line *line) {
    index_version_begin(&own->version);
    if (line != own) {
        index_version_begin(&line->version);
    }
}
static inline void line_change_end(struct index_line *own, struct index_line *line) {
    index_version_end(&own->version);
    if (line != own) {
        index_version_end(&line->version);
    }
}

/* Clears slots of a line that was split, whose keys, of these hashes, lie in the new line by now.
 * The line is within a change; `count` is from before. */
static inline void line_clear(const struct index *ix, struct index_line *from, unsigned slots,
                              const uint64_t *hashes, uint32_t count) {
    for (; slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        struct index_line *own = line_at(ix, index_place_of(hashes[slot], count));
        if (own != from) {
            index_version_begin(&own->version);
        }
        slot_set(from, slot, 0, 0);
        if (own != from) {
            index_version_end(&own->version);
        }
    }
}

/* --- slots --- */

static inline uint64_t line_hash(const struct index *ix, const struct index_line *b,
                                 unsigned slot) {
    return ix->space->hash_of(node_at(ix->space, slot_ref(b, slot)));
}
/* Prefetches the keys of these slots. */
static inline void line_prefetch_items(const struct index *ix, const struct index_line *b,
                                       unsigned slots) {
    for (; slots != 0; slots &= slots - 1) {
        const char *it = node_at(ix->space, slot_ref(b, (unsigned)__builtin_ctz(slots)));
        __builtin_prefetch(it);
        __builtin_prefetch(it + 64);
    }
}
/* The place of a reference with this tag in a line; NULL: none. */
static inline _Atomic uint32_t *line_seek(struct index_line *b, uint8_t tag, uint32_t ref) {
    for (unsigned slots = slots_match(b, tag); slots != 0; slots &= slots - 1) {
        unsigned slot = (unsigned)__builtin_ctz(slots);
        if (slot_ref(b, slot) == ref) {
            return &b->refs[slot];
        }
    }
    return NULL;
}
static inline unsigned line_slot(const struct index_line *b, const _Atomic uint32_t *ref) {
    return (unsigned)(ref - b->refs);
}
/* Adds the references in these slots to the first `n` ones; returns their new number. */
static inline unsigned line_add_refs(const struct index_line *b, unsigned slots, uint32_t *refs,
                                     unsigned n, unsigned max) {
    for (; slots != 0 && n < max; slots &= slots - 1) {
        refs[n++] = slot_ref(b, (unsigned)__builtin_ctz(slots));
    }
    return n;
}
#endif
