/* A queue and its policy, and what is marked on their nodes: the types that all files of this
 * folder and their callers share. What can be done with a queue: evict.h. */
#ifndef SLATE_EVICT_QUEUE_H
#define SLATE_EVICT_QUEUE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/node.h"

enum { EVICT_LISTS = 4 }; /* what the hungriest policy needs */

/* Knobs that change while the cache serves; shared by all queues, written by the admin, read
 * relaxed. */
struct evict_tuning {
    _Atomic uint32_t hot_pct, warm_pct;           /* share of the class's items, 0..100 */
    _Atomic uint32_t hot_factor_pct, warm_factor_pct; /* of the age of the cold tail, 100 = 1.0 */
    /* of s3fifo: shares of the class's items that the small queue and the ghosts have, hits that
     * take an item from the small queue to the main one, and the first part of its time there after
     * which one of them has to come */
    _Atomic uint32_t small_pct, ghost_pct, promote_hits, skip_pct;
};
/* Those of s3fifo, as values. */
struct evict_s3fifo_knobs {
    uint32_t small_pct, ghost_pct, promote_hits, skip_pct;
};
static inline uint32_t evict_knob(const _Atomic uint32_t *k) {
    return atomic_load_explicit(k, memory_order_relaxed);
}
/* Returns whether they were the same before. Each is read by itself, so what changes meanwhile may
 * be copied in part; the next call then finds the rest. */
bool evict_tuning_copy(struct evict_tuning *to, const struct evict_tuning *from);

struct evict_list {
    uint32_t newest, oldest, count;
};

/* The tail: the nodes that would go next, two parts of `want` nodes each, that the class would lose
 * first with a page less. Their nodes carry EVICT_TAIL_* in `where`, so that a hit tells without a
 * lock how near its item was to eviction. */
enum { EVICT_TAILS = 2 };
struct evict_tail {
    uint32_t want;                /* nodes of one part; 0: off, which costs a branch a call */
    uint32_t newest[EVICT_TAILS]; /* where the first part ends, and the second with it */
    uint32_t count[EVICT_TAILS];  /* of the first part; of both */
};

/* What moved while a call ran; the cache adds these to its counters. */
struct evict_moves {
    uint32_t to_cold, to_warm, within;
};

struct evict_policy;
struct evict_memory; /* what a policy remembers of nodes that are gone (evict/memory.h) */
struct evict_queue {
    const struct evict_policy *policy;
    const struct evict_tuning *tuning;
    const struct node_space   *space;
    struct evict_list    list[EVICT_LISTS];
    struct evict_tail    tail;
    struct evict_moves   moves;  /* since the cache last took them */
    uint32_t             hand;   /* where a policy that goes round looks next; 0: at the oldest */
    /* nodes of this time and before are gone, and stay so. The owner sets it with the look at
     * the clock that now_s is of */
    uint32_t             flushed_s;
    /* NULL until the policy needs it, and when there was none to be had */
    struct evict_memory *memory;
};

/* A policy is a structure, which is its functions, and the numbers that it goes by. Some policies
 * are records of numbers of one structure (evict_alike). */
struct evict_policy {
    const char *name;
    const char *source;   /* where it comes from, for `stats policies` */
    const char *list_names[EVICT_LISTS]; /* for statistics; NULL where unused */
    unsigned    tail_list; /* victims are the oldest of this one */
    const char *cost;     /* of a hit, an insert and a victim, in words */
    unsigned    hit_max;  /* hits are counted up to this */
    unsigned    bytes_per_item; /* beyond the node, at most */
    /* of s3fifo's structure: the numbers that it goes by, whatever the tuning says; NULL: the
     * tuning's */
    const struct evict_s3fifo_knobs *record;
    void (*insert)(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
    void (*remove)(struct evict_queue *, struct node *);
    /* may reorder, does not remove; NULL: nothing ever goes */
    struct node *(*victim)(struct evict_queue *, uint32_t now_s);
    /* NULL unless order changes on a hit (costs a lock) */
    void (*hit)(struct evict_queue *, struct node *, uint32_t now_s);
    /* NULL: as remove and insert; mostly evict_renew_late */
    void (*renew)(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
    /* NULL unless it remembers those that went */
    void (*evicted)(struct evict_queue *, const struct node *);
};

/* Lists: one structure serves all policies, so that a switch need not move anything: each policy
 * uses some of these, and calls them what it likes (list_names). */
enum { EVICT_NEW, EVICT_MAIN, EVICT_OLD, EVICT_TEMP };
/* node->where: the list in these bits, then the tails the node is in, the others are the policy's;
 * a push clears them. */
enum { EVICT_WHERE_LIST = 3, EVICT_TAIL_FIRST = 1 << 2, EVICT_TAIL_BOTH = 1 << 3 };
static inline unsigned evict_list_of(const struct node *n) {
    return node_where(n) & EVICT_WHERE_LIST;
}
/* A node that got a new value where it lies is only marked, as a hit is: whoever meets it at an old
 * end treats it as new then. Every push clears the mark. */
enum { EVICT_RENEWED = 1 << 7 };
static inline bool evict_renewed(const struct node *n) { return node_where(n) & EVICT_RENEWED; }
#endif
