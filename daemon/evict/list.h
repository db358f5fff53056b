/* The lists of a queue, for the files of the policies. */
#ifndef SLATE_EVICT_LIST_H
#define SLATE_EVICT_LIST_H
#include "evict/queue.h"

void evict_list_push(struct evict_queue *, unsigned list, struct node *);      /* as the newest */
/* for policy->insert: pushes to EVICT_MAIN */
void evict_list_insert(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
void evict_list_push_oldest(struct evict_queue *, unsigned list, struct node *);
/* Removes a node from its list. */
void evict_list_remove(struct evict_queue *, struct node *);
/* Moves a node to a list, as the newest there. */
void evict_list_move(struct evict_queue *, struct node *, unsigned list);
/* Makes a node the oldest of its list; the nodes that were older follow the newest in their order.
 * No tail may be watched. */
void evict_list_rotate(struct evict_queue *, struct node *);
/* Marks a node that got a new value in its place: for policy->renew. */
void evict_list_renew(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);

/* The most nodes that one search for a victim visits. */
enum { EVICT_SEARCH_MOST = 512 };
/* After a switch: whether a node on the way to a victim was ever read. The previous policy may have
 * counted no hits, or have removed them. */
static inline bool evict_list_read_before(struct evict_queue *q, const struct node *n) {
    if (q->unjudged == 0) {
        return false;
    }
    q->unjudged--;
    return node_mark(n) != 0;
}
/* Whether a search for a victim spares a node: one with at least `spare_hits` hits, one with a new
 * value, or one that was read before a switch. */
static inline bool evict_list_spares(struct evict_queue *q, const struct node *n,
                                     unsigned spare_hits) {
    return node_hits(n) >= spare_hits || evict_renewed(n) || evict_list_read_before(q, n);
}
enum { EVICT_SPARE_NONE = NODE_HITS_MAX + 1 }; /* for spare_hits */
struct node *evict_list_search_leftover(struct evict_queue *, unsigned lists,
                                        const struct node *own, unsigned spare_hits,
                                        uint32_t now_s);
/* The node with the oldest last move among lists that an earlier policy left, unless `own` is older
 * and unread; `lists` has a bit for each list, never for EVICT_MAIN. Nodes that are spared are
 * moved to EVICT_MAIN. NULL: there is none. As the oldest of EVICT_MAIN may be another node then,
 * the caller finds `own` anew. */
static inline struct node *evict_list_leftover(struct evict_queue *q, unsigned lists,
                                               const struct node *own, unsigned spare_hits,
                                               uint32_t now_s) {
    uint32_t any = (lists >> EVICT_NEW & 1 ? q->list[EVICT_NEW].oldest : 0) |
                   (lists >> EVICT_OLD & 1 ? q->list[EVICT_OLD].oldest : 0) |
                   (lists >> EVICT_TEMP & 1 ? q->list[EVICT_TEMP].oldest : 0);
    return any != 0 ? evict_list_search_leftover(q, lists, own, spare_hits, now_s) : NULL;
}
/* For a policy that uses EVICT_MAIN alone: the oldest unspared node there or in lists of an earlier
 * policy. Spared nodes before that one become the newest, with a hit less. */
struct node *evict_list_next_round(struct evict_queue *, unsigned spare_hits, uint32_t now_s);

/* The node at `from` was copied to `to`: `to` takes its place in the order. */
void evict_list_replace(struct evict_queue *, const struct node *from, struct node *to);

uint32_t evict_lists_count(const struct evict_queue *);
/* NULL: the list is empty */
struct node *evict_list_oldest(const struct evict_queue *, unsigned list);
#endif
