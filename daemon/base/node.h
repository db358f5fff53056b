/* The part of an item that an eviction policy may see, and how 32-bit references become nodes.
 *
 * A reference is an offset into the arena in units of 1 << shift bytes; 0 is none, and no item's is
 * below `first`. `next`, `prev` and `where` change only under the partition's lock; they are atomic
 * because prefetching reads them without the lock. Hits write `mark` without a lock (one relaxed
 * byte store, and none if the byte would stay the same). Three bits of `mark` count hits for the
 * policy; five hold the time of the last hit, as a code that grows with the item's age. So an item
 * takes at most some 30 such stores between two moves, however many reads it has. */
#ifndef SLATE_BASE_NODE_H
#define SLATE_BASE_NODE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct node {
    /* the newer neighbour and the older one; in a free chunk next links the free list */
    _Atomic uint32_t next, prev;
    _Atomic uint8_t  mark;
    _Atomic uint8_t  where;          /* for the policy: which of its lists the node is in */
    /* for the item, not for a policy (mem/item.h), in place of padding */
    _Atomic uint8_t  flags, key_len;
    /* time of the last store, touch or move to another list, by the queue's clock; the age in
     * `mark` counts from here */
    _Atomic uint32_t time_s;
};
_Static_assert(sizeof(struct node) == 16, "a node is sixteen bytes of an item's header");

struct node_space {
    char    *base;
    unsigned shift;
    uint32_t first; /* the lowest of all nodes' references; not 0 */
    /* hash of the node's key, as by key_hash; the caller holds the lock of the node's partition */
    uint64_t (*hash_of)(const struct node *);
};

static inline void *node_at(const struct node_space *s, uint32_t ref) {
    return s->base + ((size_t)ref << s->shift);
}
static inline uint32_t node_ref(const struct node_space *s, const void *node) {
    return (uint32_t)((size_t)((const char *)node - s->base) >> s->shift);
}

/* --- mark: hits in the low three bits, last-hit code in the high five --- */
enum { NODE_HITS_MAX = 7 };

/* Last-hit codes: 0 never hit since stored; then 0 1 2 3 4 6 8 12 16 24 … 32768 seconds after
 * `time_s`. */
static inline uint8_t node_age_code(uint32_t age_s) {
    if (age_s < 4) {
        return (uint8_t)(1 + age_s);
    }
    unsigned octave = 31u - (unsigned)__builtin_clz(age_s); /* >= 2 */
    unsigned half = (age_s >> (octave - 1)) & 1u;
    unsigned code = 5 + 2 * (octave - 2) + half;
    return (uint8_t)(code > 31 ? 31 : code);
}
static inline uint32_t node_age_s(uint8_t code) {
    if (code < 5) {
        return code ? code - 1u : 0u;
    }
    uint32_t whole = 4u << ((code - 5u) / 2u);
    return (code - 5u) & 1u ? whole + whole / 2 : whole;
}

static inline uint8_t node_mark(const struct node *n) {
    return atomic_load_explicit(&n->mark, memory_order_relaxed);
}
static inline void    node_set_mark(struct node *n, uint8_t m) {
    atomic_store_explicit(&n->mark, m, memory_order_relaxed);
}
static inline uint32_t node_next(const struct node *n) {
    return atomic_load_explicit(&n->next, memory_order_relaxed);
}
static inline uint32_t node_prev(const struct node *n) {
    return atomic_load_explicit(&n->prev, memory_order_relaxed);
}
static inline void     node_set_next(struct node *n, uint32_t ref) {
    atomic_store_explicit(&n->next, ref, memory_order_relaxed);
}
static inline void node_set_prev(struct node *n, uint32_t ref) {
    atomic_store_explicit(&n->prev, ref, memory_order_relaxed);
}
static inline uint8_t node_where(const struct node *n) {
    return atomic_load_explicit(&n->where, memory_order_relaxed);
}
static inline void    node_set_where(struct node *n, unsigned where) {
    atomic_store_explicit(&n->where, (uint8_t)where, memory_order_relaxed);
}
static inline uint32_t node_time_s(const struct node *n) {
    return atomic_load_explicit(&n->time_s, memory_order_relaxed);
}
static inline void     node_set_time_s(struct node *n, uint32_t s) {
    atomic_store_explicit(&n->time_s, s, memory_order_relaxed);
}
/* Time of the last store, touch or read (memcached's `la`), to the precision of the mark. */
static inline uint32_t node_used_s(const struct node *n) {
    return node_time_s(n) + node_age_s(node_mark(n) >> 3);
}
static inline unsigned node_hits(const struct node *n) { return node_mark(n) & 7u; }
static inline bool     node_fetched(const struct node *n) { return node_mark(n) >> 3 != 0; }
/* Notes a hit. Stores one byte at most, and none if the byte would stay the same. `most` is the
 * policy's highest count. */
static inline void node_note_hit(struct node *n, unsigned most, uint32_t now_s) {
    uint8_t mark = node_mark(n);
    uint32_t since_s = node_time_s(n);
    uint8_t code = node_age_code(now_s > since_s ? now_s - since_s : 0);
    unsigned hits = mark & 7u;
    uint8_t next = (uint8_t)(code << 3 | (hits < most ? hits + 1 : hits));
    if (next != mark) {
        node_set_mark(n, next);
    }
}
/* Starts a new age at the last use, with this many hits, for a move to another list. A mark may be
 * another item's: a reader whose item is gone may mark the next item of that chunk with the age of
 * the first. So the last use is never later than now. A node that was flushed keeps its time, since
 * no reader can have used the node after the flush, and a later time would revive it. Both times
 * must come from one reading of the clock. */
static inline void node_renew(struct node *n, unsigned hits, uint32_t now_s, uint32_t flushed_s) {
    uint32_t time_s = node_time_s(n), used_s = node_used_s(n);
    if ((int32_t)(used_s - now_s) > 0) {
        used_s = now_s;
    }
    if ((int32_t)(time_s - flushed_s) > 0 && (int32_t)(used_s - time_s) > 0) {
        node_set_time_s(n, used_s);
    }
    node_set_mark(n, (uint8_t)((node_fetched(n) ? 1u << 3 : 0u) | hits));
}
#endif
