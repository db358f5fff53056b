/* The layout of an item and of the chunks of a chained one: the only place that knows it.
 *
 *   0          16        20            24    [+8]   [+4]    [+4]           [+4]  [+key_len]
 *   | node     | exptime | value_bytes | cas | refs  | chain | client_flags | key | value (no CR LF) |
 *                                        CAS   large   CHAINED  CFLAGS
 *
 * The header is 24 bytes, 32 with CAS. `refs` is there for values over ITEM_COPY_MAX, which are sent from item memory and
 * so counted; smaller values are copied. A chained item keeps its value in chunks that start with a `struct tail`; in the
 * block store the room behind its key holds the value's first bytes.
 *
 * Readers without a lock see any field at any moment, also of a chunk that meanwhile became something else: every shared
 * access is a relaxed atomic of at most eight aligned bytes, every length is bounded before it is used, and the index's
 * version decides afterwards whether what was read is true. A reader may even start in the middle of a chunk (index/bucket.c),
 * but not outside the arena's pages and the guard behind them, so never in the page table, whose fields are not all atomic. */
#ifndef SLATE_MEM_ITEM_H
#define SLATE_MEM_ITEM_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/key.h"
#include "base/node.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "item_load_bytes shifts words as a little-endian machine lays them out"
#endif

/* Values up to this are copied into the reply and whole in the read buffer; larger ones are borrowed and streamed. */
enum { ITEM_COPY_MAX = 2048 };

enum chunk_state { CHUNK_FREE = 0, CHUNK_DRAFT = 1, CHUNK_LINKED = 2, CHUNK_LOOSE = 3 };
enum {
    ITEM_STATE = 3,        /* the two state bits */
    ITEM_CAS = 1 << 2,     /* has the cas field */
    ITEM_CFLAGS = 1 << 3,  /* has client flags (they are not zero) */
    ITEM_CHAINED = 1 << 4, /* value in tails */
    ITEM_STALE = 1 << 5,   /* invalidated by a meta command */
    ITEM_WON = 1 << 6,     /* somebody was told to recache it */
    ITEM_BINKEY = 1 << 7,  /* the key came in base64 */
};

struct item {
    struct node      node; /* with flags and key_len */
    _Atomic uint32_t exptime_s; /* cache time; 0 never */
    _Atomic uint32_t value_bytes;
};
_Static_assert(sizeof(struct item) == 24, "header without CAS");

/* Every chunk of a chained value starts like an item, so that whoever meets a chunk can tell: its key_len is 0. */
struct tail {
    _Atomic uint32_t next;    /* reference of the next tail; 0: the last */
    _Atomic uint32_t head;    /* reference of the item */
    uint8_t          unused[2];
    _Atomic uint8_t  flags;   /* only state */
    _Atomic uint8_t  key_len; /* 0 */
    _Atomic uint32_t used_bytes;
};
enum { TAIL_HEADER = 16 };
_Static_assert(sizeof(struct tail) == TAIL_HEADER, "tail header");
_Static_assert(offsetof(struct tail, flags) == offsetof(struct node, flags) &&
                   offsetof(struct tail, key_len) == offsetof(struct node, key_len),
               "a chunk's state stands in the same place in items and tails");

static inline uint8_t item_flags(const struct item *it) {
    return atomic_load_explicit(&it->node.flags, memory_order_relaxed);
}
static inline void item_set_flags(struct item *it, uint8_t flags) {
    atomic_store_explicit(&it->node.flags, flags, memory_order_relaxed);
}
static inline enum chunk_state item_state(const struct item *it) { return (enum chunk_state)(item_flags(it) & ITEM_STATE); }
static inline void item_set_state(struct item *it, enum chunk_state s) {
    item_set_flags(it, (uint8_t)((item_flags(it) & (unsigned)~ITEM_STATE) | s));
}
static inline uint8_t item_key_len(const struct item *it) {
    return atomic_load_explicit(&it->node.key_len, memory_order_relaxed);
}
static inline uint32_t item_load32(const _Atomic uint32_t *p) { return atomic_load_explicit(p, memory_order_relaxed); }
static inline void item_store32(_Atomic uint32_t *p, uint32_t v) { atomic_store_explicit(p, v, memory_order_relaxed); }
static inline uint32_t tail_next(const struct tail *t) { return item_load32(&t->next); }
static inline char *tail_data(const struct tail *t) { return (char *)t + TAIL_HEADER; }
static inline uint32_t item_value_bytes(const struct item *it) { return item_load32(&it->value_bytes); }
static inline uint32_t item_exptime_s(const struct item *it) { return item_load32(&it->exptime_s); }
static inline uint32_t item_time_s(const struct item *it) { return node_time_s(&it->node); }

/* --- offsets, as functions of flags and value_bytes --- */
static inline size_t item_refs_offset(uint8_t flags) { return sizeof(struct item) + (flags & ITEM_CAS ? 8 : 0); }
static inline size_t item_chain_offset(uint8_t flags, uint32_t value_bytes) {
    return item_refs_offset(flags) + (value_bytes > ITEM_COPY_MAX ? 4 : 0);
}
static inline size_t item_cflags_offset(uint8_t flags, uint32_t value_bytes) {
    return item_chain_offset(flags, value_bytes) + (flags & ITEM_CHAINED ? 4 : 0);
}
static inline size_t item_key_offset(uint8_t flags, uint32_t value_bytes) {
    return item_cflags_offset(flags, value_bytes) + (flags & ITEM_CFLAGS ? 4 : 0);
}
static inline size_t item_value_offset(uint8_t flags, uint8_t key_len, uint32_t value_bytes) {
    return item_key_offset(flags, value_bytes) + key_len;
}
/* Bytes of memory that an unchained item of these measures takes. */
static inline size_t item_total_bytes(uint8_t flags, uint8_t key_len, uint32_t value_bytes) {
    return item_value_offset(flags, key_len, value_bytes) + (flags & ITEM_CHAINED ? 0 : value_bytes);
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
static inline _Atomic uint32_t *item_refs(struct item *it) { /* large items only */
    return (void *)((char *)it + item_refs_offset(item_flags(it)));
}
static inline _Atomic uint32_t *item_chain(struct item *it) { /* chained items only: the first tail */
    return (void *)((char *)it + item_chain_offset(item_flags(it), item_value_bytes(it)));
}
static inline uint32_t item_client_flags(const struct item *it) {
    uint8_t flags = item_flags(it);
    if (!(flags & ITEM_CFLAGS)) {
        return 0;
    }
    return item_load32((const void *)((const char *)it + item_cflags_offset(flags, item_value_bytes(it))));
}
static inline bool item_large(const struct item *it) { return item_value_bytes(it) > ITEM_COPY_MAX; }
static inline bool item_chained(const struct item *it) { return item_flags(it) & ITEM_CHAINED; }

/* --- bytes in chunks: aligned relaxed words, also for unaligned places --- */

static inline uint64_t item_word(const char *aligned) {
    return atomic_load_explicit((const _Atomic uint64_t *)(const void *)aligned, memory_order_relaxed);
}

/* Copies n bytes out of a chunk. `to` needs room for n rounded up to eight bytes. */
static inline void item_load_bytes(char *to, const char *from, size_t n) {
    unsigned skew = (unsigned)((uintptr_t)from & 7u);
    const char *at = from - skew;
    if (skew == 0) {
        for (size_t i = 0; i < n; i += 8) {
            uint64_t w = item_word(at + i);
            memcpy(to + i, &w, 8);
        }
        return;
    }
    if (n == 0) {
        return;
    }
    unsigned down = skew * 8, up = 64 - down;
    uint64_t low = item_word(at);
    size_t i = 0;
    for (; i + (8 - skew) < n; i += 8) {
        uint64_t high = item_word(at + i + 8);
        uint64_t w = low >> down | high << up;
        memcpy(to + i, &w, 8);
        low = high;
    }
    if (i < n) {
        uint64_t w = low >> down;
        memcpy(to + i, &w, 8);
    }
}

/* Writes n < 8 bytes within one aligned word of a chunk; its other bytes are kept. */
static inline void item_store_part(char *aligned, unsigned skew, const char *from, size_t n) {
    _Atomic uint64_t *at = (void *)aligned;
    uint64_t w = atomic_load_explicit(at, memory_order_relaxed);
    memcpy((char *)&w + skew, from, n);
    atomic_store_explicit(at, w, memory_order_relaxed);
}

/* Copies n bytes into a chunk that only the caller writes. */
static inline void item_store_bytes(char *to, const char *from, size_t n) {
    unsigned skew = (unsigned)((uintptr_t)to & 7u);
    if (skew != 0) {
        size_t step = 8 - skew < n ? 8 - skew : n;
        item_store_part(to - skew, skew, from, step);
        to += step;
        from += step;
        n -= step;
    }
    for (; n >= 8; n -= 8, to += 8, from += 8) {
        uint64_t w;
        memcpy(&w, from, 8);
        atomic_store_explicit((_Atomic uint64_t *)(void *)to, w, memory_order_relaxed);
    }
    if (n != 0) {
        item_store_part(to, 0, from, n);
    }
}

/* The last 1 to 7 bytes of a key as a word, without reading past its ends. */
static inline uint64_t key_tail_word(const struct key *k, size_t from, size_t n) {
    uint64_t w = 0;
    if (k->len >= 8) {
        memcpy(&w, k->ptr + k->len - 8, 8);
        return w >> (8 * (8 - n));
    }
    for (size_t i = 0; i < n; i++) {
        w |= (uint64_t)(uint8_t)k->ptr[from + i] << (8 * i);
    }
    return w;
}

/* Whether the chunk at `it` holds this key. Safe on stale chunks: reads at most key->len + 7 bytes past a header. */
static inline bool item_key_is(const struct item *it, const struct key *k) {
    if (item_key_len(it) != k->len) {
        return false;
    }
    const char *at = (const char *)it + item_key_offset(item_flags(it), item_value_bytes(it));
    size_t i = 0;
    if ((uintptr_t)at & 4u) { /* key offsets are multiples of four */
        uint32_t w = item_load32((const void *)at), want = 0;
        if (k->len < 4) {
            uint32_t mask = (1u << (8 * k->len)) - 1;
            return ((w ^ (uint32_t)key_tail_word(k, 0, k->len)) & mask) == 0;
        }
        memcpy(&want, k->ptr, 4);
        if (w != want) {
            return false;
        }
        i = 4;
    }
    for (; i + 8 <= k->len; i += 8) {
        uint64_t want;
        memcpy(&want, k->ptr + i, 8);
        if (item_word(at + i) != want) {
            return false;
        }
    }
    size_t left = k->len - i;
    if (left == 0) {
        return true;
    }
    uint64_t mask = ((uint64_t)1 << (8 * left)) - 1;
    return ((item_word(at + i) ^ key_tail_word(k, i, left)) & mask) == 0;
}

/* Copies the key out; `to` has room for KEY_BYTES_MAX + 8. Returns its length. */
static inline uint8_t item_copy_key(const struct item *it, char *to) {
    uint8_t len = item_key_len(it);
    item_load_bytes(to, (const char *)it + item_key_offset(item_flags(it), item_value_bytes(it)), len);
    return len;
}

/* The hash of an item's key, for whoever keeps the item from changing meanwhile. */
static inline uint64_t item_hash(const struct node *n) {
    char key[KEY_BYTES_MAX + 14];
    uint8_t len = item_copy_key((const struct item *)(const void *)n, key);
    return key_hash(key, len);
}

/* Notes a hit: at most one byte is stored, and none when it would not change. `most` is the policy's highest count. */
static inline void item_note_hit(struct item *it, unsigned most, uint32_t now_s) {
    uint8_t mark = node_mark(&it->node);
    uint32_t since = item_time_s(it);
    uint8_t code = node_age_code(now_s > since ? now_s - since : 0);
    unsigned hits = mark & 7u;
    uint8_t next = (uint8_t)(code << 3 | (hits < most ? hits + 1 : hits));
    if (next != mark) {
        node_set_mark(&it->node, next);
    }
}
#endif
