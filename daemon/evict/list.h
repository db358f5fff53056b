/* The lists of a queue, for the files of the policies. */
#ifndef SLATE_EVICT_LIST_H
#define SLATE_EVICT_LIST_H
#include "evict/queue.h"

void evict_list_push(struct evict_queue *, unsigned list, struct node *);      /* as the newest */
void evict_list_push_oldest(struct evict_queue *, unsigned list, struct node *);
/* Removes a node from the list it is in. */
void evict_list_remove(struct evict_queue *, struct node *);
/* Moves a node to a list, as the newest there. */
void evict_list_move(struct evict_queue *, struct node *, unsigned list);
/* Makes a node the oldest of its list; the nodes that were older follow the newest in their order.
 * No tail may be watched. */
void evict_list_rotate(struct evict_queue *, struct node *);
/* Marks a node that got a new value and keeps its place: for policy->renew. */
void evict_mark_renewed(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);

/* The most nodes that one search for a victim moves or passes over. */
enum { EVICT_SEARCH_MOST = 512 };
/* After a switch: whether the node that a search for a victim met was ever read. The policy before
 * may have counted no hits, or have taken them off. */
static inline bool evict_read_before(struct evict_queue *q, const struct node *n) {
    if (q->unjudged == 0) {
        return false;
    }
    q->unjudged--;
    return node_mark(n) != 0;
}
/* Whether a search for a victim spares the node that it met: one with `spare_hits` hits or more,
 * one with a new value, or one that was read before a switch. */
static inline bool evict_spares(struct evict_queue *q, const struct node *n, unsigned spare_hits) {
    return node_hits(n) >= spare_hits || evict_renewed(n) || evict_read_before(q, n);
}
enum { EVICT_SPARE_NONE = NODE_HITS_MAX + 1 }; /* for spare_hits */
struct node *evict_leftover_in(struct evict_queue *, unsigned lists, const struct node *own,
                               unsigned spare_hits, uint32_t now_s);
/* What an earlier policy left in lists, which are given as bits, never EVICT_MAIN: the node that
 * moved last the longest ago, unless `own` is older and unread. Nodes that are spared are moved to
 * EVICT_MAIN. NULL: there is none. As the oldest of EVICT_MAIN may be another one then, the caller
 * finds `own` again. */
static inline struct node *evict_leftover(struct evict_queue *q, unsigned lists,
                                          const struct node *own, unsigned spare_hits,
                                          uint32_t now_s) {
    uint32_t any = (lists >> EVICT_NEW & 1 ? q->list[EVICT_NEW].oldest : 0) |
                   (lists >> EVICT_OLD & 1 ? q->list[EVICT_OLD].oldest : 0) |
                   (lists >> EVICT_TEMP & 1 ? q->list[EVICT_TEMP].oldest : 0);
    return any != 0 ? evict_leftover_in(q, lists, own, spare_hits, now_s) : NULL;
}
/* For a policy that uses EVICT_MAIN alone: the oldest node there or in a list that an earlier
 * policy left, after those before it that are spared have become the newest, with a hit less. */
struct node *evict_next_round(struct evict_queue *, unsigned spare_hits, uint32_t now_s);

/* The node at `from` was copied to `to`: `to` takes its place in the order. */
void evict_list_replace(struct evict_queue *, const struct node *from, struct node *to);

uint32_t evict_count(const struct evict_queue *);
struct node *evict_oldest_in(const struct evict_queue *, unsigned list); /* NULL: it is empty */
#endif
