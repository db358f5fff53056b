/* What a policy remembers of nodes that are gone: ghosts (which went lately) and a sketch (how
 * often each was asked for).
 *
 * A queue has at most one of the two, made at first use for as many nodes as it has, and made anew,
 * empty, when it has grown by half; so it is small while a cache fills, when nothing is evicted
 * anyway. Without memory both answer "never seen". Threading: the queue's. Cost: O(1), one cache
 * line (ghosts) or four (sketch); making one anew O(nodes). */
#ifndef SLATE_EVICT_MEMORY_H
#define SLATE_EVICT_MEMORY_H
#include "base/image.h"
#include "evict/queue.h"

/* Ghosts: 16-bit fingerprints in buckets of four, each with the age at which it came; as many as
 * `share_pct` hundredths of the queue's nodes, the oldest forgotten first. One in some 500 of those
 * never seen is taken for a ghost. With 90 %, 2.4 bytes a node, 3.6 at most; 4 with 100 %. Where
 * the share grows beyond the room they have, they begin anew. */
enum { EVICT_GHOST_BYTES_PER_NODE = 4 };
void evict_ghosts_add(struct evict_queue *, const struct node *, uint32_t share_pct);
/* whether it was there; it is not any more */
bool evict_ghosts_take(struct evict_queue *, const struct node *);

/* The sketch: counts up to 15 of how often a key came, of four cells the least; all are halved when
 * ten were added for each node, so that the past fades. Never too low but for that, seldom too
 * high. 1.6 bytes a node, 2.4 at most. Source: count-min of Cormode and Muthukrishnan 2005; the
 * fading of Einziger and others, "TinyLFU", TOS 2017. */
enum { EVICT_SKETCH_BYTES_PER_NODE = 3 };
void     evict_sketch_add(struct evict_queue *, const struct node *, unsigned times);
unsigned evict_sketch_count(const struct evict_queue *, const struct node *);

void evict_memory_free(struct evict_memory **);
/* All of it, or that there is none, as a part of an image; and back. False: no memory, or the image
 * is not whole. */
void evict_memory_put(struct image *, const struct evict_memory *);
bool evict_memory_get(struct image *, struct evict_memory **);
#endif
