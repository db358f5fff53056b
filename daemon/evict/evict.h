/* Who goes next: the order of the items of one slab class in one partition.
 *
 * A policy is one const table of functions over nodes; it never sees items, keys or locks and never allocates. A queue
 * belongs to its partition: every call but evict_find is made under the partition's lock. Hits are noted by the cache in
 * the node's mark (base/node.h), never here. Times are cache seconds. Cost: every call but evict_switch is O(1), amortised. */
#ifndef SLATE_EVICT_EVICT_H
#define SLATE_EVICT_EVICT_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/node.h"

enum { EVICT_LISTS = 4 }; /* what the hungriest policy needs */

/* Knobs that change while the cache serves; shared by all queues, written by the admin, read relaxed. */
struct evict_tuning {
    _Atomic uint32_t hot_pct, warm_pct;           /* share of the class's items, 0..100 */
    _Atomic uint32_t hot_factor_pct, warm_factor_pct; /* of the age of the cold tail, 100 = 1.0 */
};

struct evict_list {
    uint32_t newest, oldest, count;
};

/* What moved while a call ran; the cache adds these to its counters. */
struct evict_moves {
    uint32_t to_cold, to_warm, within;
};

struct evict_policy;
struct evict_queue {
    const struct evict_policy *policy;
    const struct evict_tuning *tuning;
    const struct node_space   *space;
    struct evict_list  list[EVICT_LISTS];
    struct evict_moves moves; /* since the cache last took them */
};

struct evict_policy {
    const char *name;
    const char *source;   /* where it comes from, for `stats policies` */
    const char *list_names[EVICT_LISTS]; /* for statistics; NULL where unused */
    unsigned    hit_max;  /* hits are counted up to this */
    unsigned    bytes_per_item; /* beyond the node */
    void (*insert)(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
    void (*remove)(struct evict_queue *, struct node *);
    struct node *(*victim)(struct evict_queue *, uint32_t now_s); /* may reorder, does not remove; NULL when none may go */
    void (*hit)(struct evict_queue *, struct node *, uint32_t now_s); /* NULL unless order changes on a hit (costs a lock) */
};

extern const struct evict_policy evict_lru, evict_slru;
extern const struct evict_policy *const evict_policies[]; /* NULL-terminated */
const struct evict_policy *evict_find(const char *name);  /* NULL: no such policy */

void evict_init(struct evict_queue *, const struct evict_policy *, const struct evict_tuning *, const struct node_space *);

static inline void evict_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    q->policy->insert(q, n, temporary, now_s);
}
static inline void evict_remove(struct evict_queue *q, struct node *n) { q->policy->remove(q, n); }
static inline struct node *evict_victim(struct evict_queue *q, uint32_t now_s) { return q->policy->victim(q, now_s); }

/* The node at `from` was copied to `to`, which takes its place in the order. */
void evict_moved(struct evict_queue *, const struct node *from, struct node *to);
/* Changes the policy; every node stays, in eviction order as far as the new policy can express it. O(items). */
void evict_switch(struct evict_queue *, const struct evict_policy *, uint32_t now_s);

uint32_t evict_count(const struct evict_queue *);
/* The node that would go first by plain age, and the same for one list; NULL when empty. Does not reorder. */
struct node *evict_oldest(const struct evict_queue *);
struct node *evict_oldest_in(const struct evict_queue *, unsigned list);

/* --- lists, for the policies --- */
void evict_list_push(struct evict_queue *, unsigned list, struct node *);      /* as the newest */
void evict_list_remove(struct evict_queue *, struct node *);                   /* from the list in node->where */
#endif
