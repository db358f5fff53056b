/* Who goes next: the order of the items of one slab class in one partition.
 *
 * A policy is one const table of functions over nodes; it never sees items, keys or locks and never
 * allocates. A queue belongs to its partition: every call but evict_find is made under the
 * partition's lock. Hits are noted by the cache in the node's mark (base/node.h), never here. Times
 * are seconds of one clock: in the cache that of its items. Cost: every call but evict_switch is
 * O(1), amortised. */
#ifndef SLATE_EVICT_EVICT_H
#define SLATE_EVICT_EVICT_H
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
};

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

struct evict_policy {
    const char *name;
    const char *source;   /* where it comes from, for `stats policies` */
    const char *list_names[EVICT_LISTS]; /* for statistics; NULL where unused */
    unsigned    tail_list; /* victims are the oldest of this one */
    const char *cost;     /* of a hit, an insert and a victim, in words */
    unsigned    hit_max;  /* hits are counted up to this */
    unsigned    bytes_per_item; /* beyond the node, at most */
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

extern const struct evict_policy evict_lru, evict_slru, evict_bag, evict_fifo, evict_clock,
    evict_clock2, evict_clock3, evict_sieve, evict_s3fifo, evict_tinylfu, evict_none;
extern const struct evict_policy *const evict_policies[]; /* NULL-terminated */
const struct evict_policy *evict_find(const char *name);  /* NULL: no such policy */

/* A queue has no memory of its own until its policy remembers what it evicted; evict_fini gives
 * that back. */
void evict_fini(struct evict_queue *);
void evict_init(struct evict_queue *, const struct evict_policy *, const struct evict_tuning *,
                const struct node_space *);

static inline void evict_insert(struct evict_queue *q, struct node *n, bool temporary,
                                uint32_t now_s) {
    q->policy->insert(q, n, temporary, now_s);
}
static inline void evict_remove(struct evict_queue *q, struct node *n) { q->policy->remove(q, n); }
/* A node that stays where it is got a new value: it counts as inserted now. */
void evict_renew(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
/* The victim is about to be removed because memory is needed, and not for any other reason. */
static inline void evict_note_evicted(struct evict_queue *q, const struct node *n) {
    if (q->policy->evicted != NULL) {
        q->policy->evicted(q, n);
    }
}
static inline struct node *evict_victim(struct evict_queue *q, uint32_t now_s) {
    return q->policy->victim != NULL ? q->policy->victim(q, now_s) : NULL;
}

/* The node at `from` was copied to `to`, which takes its place in the order. */
void evict_moved(struct evict_queue *, const struct node *from, struct node *to);
/* Takes in a node that came from another queue, with its history: to the list it was in there, at
 * the end that its last use is nearer to. It must have left the other queue, whose policy was
 * `from`; of another policy it counts as inserted now. */
void evict_adopt(struct evict_queue *, struct node *, const struct evict_policy *from,
                 uint32_t now_s);
/* Takes in a node that a queue had before its process ended, under a policy `from`, or NULL: to the
 * newest end of the list it was in there; of another policy it counts as inserted now. To be called
 * with the oldest first. */
void evict_restore(struct evict_queue *, struct node *, const struct evict_policy *from,
                   uint32_t now_s);
/* Changes the policy. No node moves now: what lies in lists that the new policy does not use is
 * taken from there, by age, before its own. So the order survives as far as the new policy can
 * express it. O(1). */
void evict_switch(struct evict_queue *, const struct evict_policy *);

/* Keeps track of a tail of two times `want` nodes from now on; 0: no more. O(the tail's nodes);
 * later O(1) a call. */
void evict_watch_tail(struct evict_queue *, uint32_t want);
/* In how many parts of the tail a node is: 0 none, 1 the second, 2 the first, whose nodes go first.
 * No lock needed. */
static inline unsigned evict_tails_of(const struct node *n) {
    return (unsigned)__builtin_popcount(node_where(n) & 12u);
}

uint32_t evict_count(const struct evict_queue *);
/* The node that would go first by plain age, and the same for one list; NULL when empty. Does not
 * reorder. */
struct node *evict_oldest(const struct evict_queue *);
struct node *evict_oldest_in(const struct evict_queue *, unsigned list);

/* --- lists, for the policies ---
 *
 * One structure serves them all, so that a switch need not move anything: each policy uses some of
 * these, and calls them what it likes (list_names). */
enum { EVICT_NEW, EVICT_MAIN, EVICT_OLD, EVICT_TEMP };
/* node->where: the list in these bits, then the tails the node is in, the others are the policy's;
 * a push clears them. */
enum { EVICT_WHERE_LIST = 3, EVICT_TAIL_FIRST = 1 << 2, EVICT_TAIL_BOTH = 1 << 3 };
static inline unsigned evict_list_of(const struct node *n) {
    return node_where(n) & EVICT_WHERE_LIST;
}
void evict_list_push(struct evict_queue *, unsigned list, struct node *);      /* as the newest */
void evict_list_push_oldest(struct evict_queue *, unsigned list, struct node *);
/* from the list it is in */
void evict_list_remove(struct evict_queue *, struct node *);
/* to be the newest there */
void evict_list_move(struct evict_queue *, struct node *, unsigned list);
/* A node that got a new value where it lies is marked only, as a hit is; whoever meets it at an old
 * end treats it as new then. For policy->renew. Every push clears the mark. */
enum { EVICT_RENEWED = 1 << 7 };
void evict_renew_late(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
static inline bool evict_renewed(const struct node *n) { return node_where(n) & EVICT_RENEWED; }
/* What an earlier policy left behind, in lists given as bits: the oldest node by its last move, if
 * it is older than `own` (or that is NULL). Those with `keep_hits` hits or more are first moved to
 * EVICT_MAIN, a few at a time. NULL: none; and the oldest of EVICT_MAIN may be another then, so
 * that `own` is to be looked for again. */
struct node *evict_leftover(struct evict_queue *, unsigned lists, const struct node *own,
                            unsigned keep_hits, uint32_t now_s);

/* --- the tail, for list.c and evict.c: tail.c --- */
/* up to two steps, after its list got or lost a node */
void evict_tail_fill(struct evict_queue *);
/* a node of the tail is about to leave its list */
void evict_tail_leave(struct evict_queue *, const struct node *);
/* a node has become the oldest of the tail's list */
void evict_tail_joined(struct evict_queue *, struct node *);
void evict_tail_moved(struct evict_queue *, const struct node *from, const struct node *to);
#endif
