/* The layout of an item and of the chunks of a chained item. No other file knows this layout.
 *
 *   0      16        20            24    [+8]   [+4]    [+4]           [+4]  [+key_len]
 *   | node | exptime | value_bytes | cas | refs  | chain | client_flags | key | value (no CR LF) |
 *                                    CAS   large   CHAINED  CFLAGS
 *
 * The header is 24 bytes, 32 with CAS. `refs` is there for values over ITEM_COPY_MAX: they are sent
 * from item memory, so their borrowers are counted; smaller values are copied. A chained item keeps
 * its value in chunks that start with a `struct item_tail`. In the block store the room behind its
 * key holds the value's first bytes.
 *
 * Readers without a lock may see any field at any moment, also of a chunk that meanwhile has other
 * content. So every field is read and written by relaxed atomics, keys and values by mem/bytes.h;
 * every length is bounded before it is used; and the index's version decides afterwards whether the
 * read bytes are valid. A reader may even start in the middle of a chunk (index/bucket.c), but only
 * inside the arena's pages and the guard behind them: never in the page table, whose fields are not
 * all atomic. */
#ifndef SLATE_MEM_ITEM_H
#define SLATE_MEM_ITEM_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/key.h"
#include "base/node.h"
#include "mem/bytes.h"
#include "mem/ordered_store.h"

/* Values up to this size are copied: into the reply, and from a request that is complete in the
 * read buffer. Larger ones are borrowed and streamed. */
enum { ITEM_COPY_MAX = 2048 };

enum chunk_state { CHUNK_FREE = 0, CHUNK_FILLING = 1, CHUNK_LINKED = 2, CHUNK_UNLINKED = 3 };
enum {
    ITEM_STATE = 3,        /* the two state bits */
    ITEM_CAS = 1 << 2,     /* the header has the cas field */
    ITEM_CFLAGS = 1 << 3,  /* the header has client flags (they are not zero) */
    ITEM_CHAINED = 1 << 4, /* the value is in tails */
    ITEM_STALE = 1 << 5,   /* a meta command invalidated the item */
    ITEM_WON = 1 << 6,     /* one client got the order to store the item anew */
    ITEM_BINKEY = 1 << 7,  /* the key came in base64 */
};

struct item {
    struct node      node; /* holds the flags and key_len, too */
    _Atomic uint32_t exptime_s; /* cache time; 0: never */
    _Atomic uint32_t value_bytes;
};
_Static_assert(sizeof(struct item) == 24, "header without CAS");

/* Every chunk of a chained value starts like an item. A key_len of 0 marks the chunk as a tail. */
struct item_tail {
    _Atomic uint32_t next;    /* reference of the next tail; 0: the last */
    _Atomic uint32_t head;    /* reference of the item */
    uint8_t          unused[2];
    _Atomic uint8_t  flags;   /* only the state */
    _Atomic uint8_t  key_len; /* 0 */
    _Atomic uint32_t used_bytes;
};
enum { ITEM_TAIL_HEADER = 16 };
_Static_assert(sizeof(struct item_tail) == ITEM_TAIL_HEADER, "tail header");
_Static_assert(offsetof(struct item_tail, flags) == offsetof(struct node, flags) &&
                   offsetof(struct item_tail, key_len) == offsetof(struct node, key_len),
               "a chunk's state stands in the same place in items and tails");

static inline uint8_t item_flags(const struct item *it) {
    return atomic_load_explicit(&it->node.flags, memory_order_relaxed);
}
static inline void item_set_flags(struct item *it, uint8_t flags) {
    atomic_store_explicit(&it->node.flags, flags, memory_order_relaxed);
}
static inline enum chunk_state item_state(const struct item *it) {
    return (enum chunk_state)(item_flags(it) & ITEM_STATE);
}
static inline void item_set_state(struct item *it, enum chunk_state s) {
    item_set_flags(it, (uint8_t)((item_flags(it) & (unsigned)~ITEM_STATE) | s));
}
/* The last step of a publish. A reader that finds the item linked also finds all earlier stores,
 * even in a memory file after the process has ended. */
static inline void item_set_linked(struct item *it) {
    ordered_fence();
    item_set_state(it, CHUNK_LINKED);
}
/* The same for an item whose flags, apart from the state, the caller knows. */
static inline void item_link_with(struct item *it, uint8_t flags) {
    ordered_fence();
    item_set_flags(it, (uint8_t)(flags | CHUNK_LINKED));
}
static inline void item_set_unlinked(struct item *it) {
    item_set_state(it, CHUNK_UNLINKED);
    ordered_fence();
}
static inline uint8_t item_key_len(const struct item *it) {
    return atomic_load_explicit(&it->node.key_len, memory_order_relaxed);
}
static inline uint32_t item_load32(const _Atomic uint32_t *p) {
    return atomic_load_explicit(p, memory_order_relaxed);
}
static inline void item_store32(_Atomic uint32_t *p, uint32_t v) {
    atomic_store_explicit(p, v, memory_order_relaxed);
}
static inline uint32_t item_tail_next(const struct item_tail *t) { return item_load32(&t->next); }
static inline char *item_tail_data(const struct item_tail *t) {
    return (char *)t + ITEM_TAIL_HEADER;
}
static inline uint32_t item_value_bytes(const struct item *it) {
    return item_load32(&it->value_bytes);
}
static inline uint32_t item_exptime_s(const struct item *it) { return item_load32(&it->exptime_s); }
static inline uint32_t item_time_s(const struct item *it) { return node_time_s(&it->node); }

/* --- offsets, as functions of flags and value_bytes --- */

/* Bytes between header and key, by the three bits CAS, CFLAGS and CHAINED. */
static const uint8_t item_fields_bytes[8] = {0, 8, 4, 12, 4, 12, 8, 16};
_Static_assert(ITEM_CAS == 1 << 2 && ITEM_CFLAGS == 2 << 2 && ITEM_CHAINED == 4 << 2,
               "the flags are the number of a row");
static inline size_t item_refs_offset(uint8_t flags) {
    return sizeof(struct item) + (flags & ITEM_CAS ? 8 : 0);
}
static inline size_t item_chain_offset(uint8_t flags, uint32_t value_bytes) {
    return item_refs_offset(flags) + (value_bytes > ITEM_COPY_MAX ? 4 : 0);
}
static inline size_t item_cflags_offset(uint8_t flags, uint32_t value_bytes) {
    return item_chain_offset(flags, value_bytes) + (flags & ITEM_CHAINED ? 4 : 0);
}
static inline size_t item_key_offset(uint8_t flags, uint32_t value_bytes) {
    return sizeof(struct item) + item_fields_bytes[flags >> 2 & 7] +
           (value_bytes > ITEM_COPY_MAX ? 4 : 0);
}
static inline size_t item_value_offset(uint8_t flags, uint8_t key_len, uint32_t value_bytes) {
    return item_key_offset(flags, value_bytes) + key_len;
}
/* Bytes of memory that an unchained item of these lengths takes. */
static inline size_t item_total_bytes(uint8_t flags, uint8_t key_len, uint32_t value_bytes) {
    return item_value_offset(flags, key_len, value_bytes) +
           (flags & ITEM_CHAINED ? 0 : value_bytes);
}

static inline uint64_t item_cas(const struct item *it) {
    const _Atomic uint64_t *p = (const void *)((const char *)it + sizeof *it);
    return item_flags(it) & ITEM_CAS ? atomic_load_explicit(p, memory_order_relaxed) : 0;
}
static inline void item_set_cas(struct item *it, uint64_t cas) {
    _Atomic uint64_t *p = (void *)((char *)it + sizeof *it);
    if (item_flags(it) & ITEM_CAS) {
        atomic_store_explicit(p, cas, memory_order_relaxed);
    }
}
static inline _Atomic uint32_t *item_refs(struct item *it) { /* only for large items */
    return (void *)((char *)it + item_refs_offset(item_flags(it)));
}
/* The first tail; only for chained items. */
static inline _Atomic uint32_t *item_chain(struct item *it) {
    return (void *)((char *)it + item_chain_offset(item_flags(it), item_value_bytes(it)));
}
static inline uint32_t item_client_flags(const struct item *it) {
    uint8_t flags = item_flags(it);
    if (!(flags & ITEM_CFLAGS)) {
        return 0;
    }
    return item_load32(
        (const void *)((const char *)it + item_cflags_offset(flags, item_value_bytes(it))));
}
static inline bool item_large(const struct item *it) {
    return item_value_bytes(it) > ITEM_COPY_MAX;
}
static inline bool item_chained(const struct item *it) { return item_flags(it) & ITEM_CHAINED; }

/* Whether the chunk at `it` holds this key. Safe on stale chunks: it reads key->len bytes behind a
 * header. */
__attribute__((always_inline)) static inline bool item_has_key(const struct item *it,
                                                               const struct key *k) {
    return item_key_len(it) == k->len &&
           bytes_equal((const char *)it + item_key_offset(item_flags(it), item_value_bytes(it)),
                       k->ptr, k->len);
}

/* Copies the key out; `to` has room for KEY_BYTES_MAX + 8. Returns its length. */
static inline uint8_t item_copy_key(const struct item *it, char *to) {
    uint8_t len = item_key_len(it);
    bytes_load(to, (const char *)it + item_key_offset(item_flags(it), item_value_bytes(it)), len);
    return len;
}

/* The hash of an item's key. The item must not change meanwhile. */
static inline uint64_t item_hash(const struct node *n) {
    char key[KEY_BYTES_MAX + 14];
    uint8_t len = item_copy_key((const struct item *)(const void *)n, key);
    return key_hash(key, len);
}

/* node_note_hit for an item. */
static inline void item_note_hit(struct item *it, unsigned most, uint32_t now_s) {
    node_note_hit(&it->node, most, now_s);
}

/* Notes that an add met this item. For the policy that counts as a hit, but an item without a read
 * stays unfetched. */
static inline void item_note_wanted(struct item *it, unsigned most, uint32_t now_s) {
    unsigned hits = node_hits(&it->node);
    if (node_fetched(&it->node)) {
        item_note_hit(it, most, now_s);
    } else if (hits < most) {
        node_set_mark(&it->node, (uint8_t)(hits + 1));
    }
}
#endif
