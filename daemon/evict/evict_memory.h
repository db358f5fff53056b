/* A policy's memory of nodes that are gone: ghosts (recent evictions) and a sketch (requests for
 * each key).
 *
 * A queue has at most one of the two. The first use makes it for the queue's nodes, and it doubles,
 * with its contents, when the queue has half again as many nodes; so it is small while a cache
 * fills and evicts nothing. Without memory both answer "never seen". Threading: the queue's. Cost:
 * O(1), one cache line (ghosts) or four (sketch); a doubling O(nodes). */
#ifndef SLATE_EVICT_EVICT_MEMORY_H
#define SLATE_EVICT_EVICT_MEMORY_H
#include "evict/queue.h"

/* Ghosts: 16-bit fingerprints in words of four, each with the epoch in which it came. There are as
 * many as `share_pct` hundredths of the queue's nodes; the oldest are forgotten first. Of keys that
 * were never seen, one in some 500 is taken for a ghost. With 90 % they take 2.4 bytes a node when
 * they are made, and at most 3.2 when they have grown. */
enum { EVICT_GHOST_BYTES_PER_NODE = 4 };
void evict_ghosts_add(struct evict_queue *, const struct node *, uint32_t share_pct);
/* Removes a ghost. Returns whether the ghost was there. */
bool evict_ghosts_take(struct evict_queue *, const struct node *);

/* The sketch: counts up to 15 of how often a key came, each the least of four cells. All counts are
 * halved after ten additions for each node, so that the past fades. Before that a count is never
 * too low, and seldom too high. 2.4 bytes a node when it is made, at most 3.2 when it has grown.
 * Source: count-min of Cormode and Muthukrishnan 2005; the fading of Einziger and others,
 * "TinyLFU", TOS 2017. */
enum { EVICT_SKETCH_BYTES_PER_NODE = 4 };
void     evict_sketch_add(struct evict_queue *, const struct node *, unsigned times);
unsigned evict_sketch_count(const struct evict_queue *, const struct node *);

void evict_memory_free(struct evict_memory **);
#endif
