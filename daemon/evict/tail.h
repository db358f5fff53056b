/* The tail of a queue: the nodes that would go next. Code that changes the lists calls these
 * functions, except evict_tail_watch. */
#ifndef SLATE_EVICT_TAIL_H
#define SLATE_EVICT_TAIL_H
#include "evict/queue.h"

/* Maintains a tail of two times `want` nodes from now on; 0: none. O(nodes in the tail); later
 * calls O(1). */
void evict_tail_watch(struct evict_queue *, uint32_t want);

/* Moves boundaries by up to two steps, after the tail's list got or lost a node. */
void evict_tail_fill(struct evict_queue *);
/* To be called before a node of the tail leaves its list. */
void evict_tail_leave(struct evict_queue *, const struct node *);
/* To be called when a node has become the oldest of the tail's list. */
void evict_tail_join(struct evict_queue *, struct node *);
void evict_tail_replace(struct evict_queue *, const struct node *from, const struct node *to);
#endif
