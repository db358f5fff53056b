/* A queue, its policy, and the marks in nodes: the types that the files of this folder share with
 * their callers. evict.h has the functions. */
#ifndef SLATE_EVICT_QUEUE_H
#define SLATE_EVICT_QUEUE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/node.h"

enum { EVICT_LISTS = 4 }; /* as many as any policy needs */

/* Settings that change while the cache serves. All queues share them; an admin's command writes
 * them; they are read relaxed. evict_tuning_copy takes the struct as an array. */
struct evict_tuning {
    _Atomic uint32_t hot_pct, warm_pct;           /* share of the class's items, 0..100 */
    /* in hundredths of the age of the cold tail, 100 = 1.0 */
    _Atomic uint32_t hot_factor_pct, warm_factor_pct;
    /* For s3fifo: the shares of the class's items that the small queue and the ghosts have; the
     * hits that take an item from the small queue to the main one; and the first part of the small
     * queue, in hundredths, whose hits do not count. */
    _Atomic uint32_t small_pct, ghost_pct, promote_hits, skip_pct;
};
/* s3fifo's settings as plain values. readmit_pct is no setting: in hundredths, how many of the
 * items whose ghost is there go to the main queue. */
struct evict_s3fifo_knobs {
    uint32_t small_pct, ghost_pct, promote_hits, skip_pct, readmit_pct;
};
static inline uint32_t evict_knob(const _Atomic uint32_t *k) {
    return atomic_load_explicit(k, memory_order_relaxed);
}
/* Copies the settings. Returns whether they were the same before. Each one is read by itself, so a
 * change at the same time may be copied in part; the next call then copies the rest. */
bool evict_tuning_copy(struct evict_tuning *to, const struct evict_tuning *from);

struct evict_list {
    uint32_t newest, oldest, count;
};

/* The tail: the nodes that the class would lose first if it had one page less, in two parts of
 * `want` nodes each. These nodes carry EVICT_TAIL_* in `where`, so that a hit shows without a lock
 * how near its item was to eviction. */
enum { EVICT_TAILS = 2 };
struct evict_tail {
    uint32_t want; /* nodes of one part; 0: no tail, at the cost of a branch a call */
    uint32_t newest[EVICT_TAILS]; /* the newest node of the first part, and of the second */
    uint32_t count[EVICT_TAILS];  /* nodes of the first part, and of both */
};

/* Moves while a call ran; the cache adds these to its counters. */
struct evict_moves {
    uint32_t to_cold, to_warm, within;
};

struct evict_policy;
struct evict_memory; /* a policy's memory of nodes that are gone (evict/evict_memory.h) */
struct evict_queue {
    const struct evict_policy *policy;
    const struct evict_tuning *tuning;
    const struct node_space   *space;
    struct evict_list    list[EVICT_LISTS];
    struct evict_tail    tail;
    struct evict_moves   moves;  /* moves since the cache last took them */
    uint32_t             hand;   /* the next node of a policy that goes round; 0: the oldest */
    /* nodes of the last switch that no search for a victim has met since; too high by the nodes
     * that were removed meanwhile */
    uint32_t             unjudged;
    uint32_t ghosts_met;         /* insertions of s3fifo's structure whose ghost was there */
    uint32_t memory_retry_calls; /* calls until the next attempt, after memory was refused */
    /* Nodes of this time and before are flushed, and stay so. The owner sets this time and now_s
     * from one reading of the clock. */
    uint32_t             flushed_s;
    /* NULL: the policy had no need yet, or memory was out */
    struct evict_memory *memory;
};

/* A policy is a structure, which its functions define, and its numbers. Some policies share one
 * structure and differ only in these numbers (evict_same_structure). */
struct evict_policy {
    const char *name;
    const char *source;   /* origin, for `stats policies` */
    const char *list_names[EVICT_LISTS]; /* for statistics; NULL where unused */
    unsigned    tail_list; /* victims are the oldest nodes of this list */
    const char *cost;     /* of a hit, an insert and a victim, in words */
    unsigned    hit_max;  /* the highest count of hits */
    unsigned    bytes_per_item; /* at most, in addition to the node */
    /* for s3fifo's structure: the numbers to use in place of the tuning's; NULL: the tuning's */
    const struct evict_s3fifo_knobs *record;
    void (*insert)(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
    void (*remove)(struct evict_queue *, struct node *);
    /* May reorder, but does not remove; NULL: nothing is ever evicted. */
    struct node *(*victim)(struct evict_queue *, uint32_t now_s);
    /* NULL unless a hit changes the order, which costs a lock. */
    void (*hit)(struct evict_queue *, struct node *, uint32_t now_s);
    /* NULL: the same as remove and insert. Most policies have evict_list_renew. */
    void (*renew)(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
    /* NULL unless the policy remembers evicted nodes. */
    void (*evicted)(struct evict_queue *, const struct node *);
};

/* The lists of the structure that all policies share, so that a switch need not move any node. Each
 * policy uses some of them, under names of its own (list_names). */
enum { EVICT_NEW, EVICT_MAIN, EVICT_OLD, EVICT_TEMP };
/* node->where: the list in these bits, the tails that the node is in above them; the other bits are
 * the policy's, and a push clears them. */
enum { EVICT_WHERE_LIST = 3, EVICT_TAIL_FIRST = 1 << 2, EVICT_TAIL_BOTH = 1 << 3 };
static inline unsigned evict_list_of(const struct node *n) {
    return node_where(n) & EVICT_WHERE_LIST;
}
/* Set in a node that got a new value in its place, just as a hit is only marked. A policy that
 * meets the node at an old end treats it as new then. Every push clears the bit. */
enum { EVICT_RENEWED = 1 << 7 };
static inline bool evict_renewed(const struct node *n) { return node_where(n) & EVICT_RENEWED; }
#endif
