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
void evict_list_turn(struct evict_queue *, struct node *);
/* Marks a node that got a new value and keeps its place: for policy->renew. */
void evict_renew_late(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
/* What an earlier policy left in lists, which are given as bits: the node that moved last the
 * longest ago, if it is older than `own` (or that is NULL). Nodes with `keep_hits` hits or more are
 * first moved to EVICT_MAIN, a few at a time. NULL: there is none. As the oldest of EVICT_MAIN may
 * be another one then, the caller finds `own` again. */
struct node *evict_leftover(struct evict_queue *, unsigned lists, const struct node *own,
                            unsigned keep_hits, uint32_t now_s);

/* The node at `from` was copied to `to`: `to` takes its place in the order. */
void evict_moved(struct evict_queue *, const struct node *from, struct node *to);

uint32_t evict_count(const struct evict_queue *);
struct node *evict_oldest_in(const struct evict_queue *, unsigned list); /* NULL: it is empty */
#endif
