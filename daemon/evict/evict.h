/* The order in which items of one slab class in one partition are evicted.
 *
 * A policy is one const table of functions over nodes, without access to items, keys or locks, and
 * never allocates. A queue belongs to its partition: the caller holds the partition's lock in every
 * call but evict_find. The cache notes hits in the node's mark (base/node.h); no hit comes here.
 * Times are seconds of one clock: in the cache, the clock of its items. Cost: every call but
 * evict_switch is O(1), amortised. */
#ifndef SLATE_EVICT_EVICT_H
#define SLATE_EVICT_EVICT_H
#include "evict/list.h"
#include "evict/queue.h"
#include "evict/tail.h"

extern const struct evict_policy evict_lru, evict_slru, evict_bag, evict_fifo, evict_clock,
    evict_clock2, evict_clock3, evict_sieve, evict_s3fifo, evict_s3skip, evict_s3wide, evict_s3loop,
    evict_tinylfu, evict_none;
extern const struct evict_policy *const evict_policies[]; /* NULL-terminated */
const struct evict_policy *evict_find(const char *name);  /* NULL: no such policy */
/* Whether two policies have the same structure: each can continue with the lists, ghosts and hand
 * of the other. */
bool evict_same_structure(const struct evict_policy *, const struct evict_policy *);

/* A queue allocates memory only when its policy first remembers an evicted node; evict_fini frees
 * that memory. */
void evict_fini(struct evict_queue *);
void evict_init(struct evict_queue *, const struct evict_policy *, const struct evict_tuning *,
                const struct node_space *);

static inline void evict_insert(struct evict_queue *q, struct node *n, bool temporary,
                                uint32_t now_s) {
    q->policy->insert(q, n, temporary, now_s);
}
static inline void evict_remove(struct evict_queue *q, struct node *n) { q->policy->remove(q, n); }
/* For a node that got a new value in its place: the node counts as inserted now. */
void evict_renew(struct evict_queue *, struct node *, bool temporary, uint32_t now_s);
/* To be called when the victim is about to be removed because memory is needed, and for no other
 * reason. */
static inline void evict_note_evicted(struct evict_queue *q, const struct node *n) {
    if (q->policy->evicted != NULL) {
        q->policy->evicted(q, n);
    }
}
static inline struct node *evict_victim(struct evict_queue *q, uint32_t now_s) {
    return q->policy->victim != NULL ? q->policy->victim(q, now_s) : NULL;
}

/* Takes in a node that came from another queue, with its history: into the same list, at the end
 * that is nearer to its last use. The node has left the other queue, whose policy was `from`. If
 * `from` is of another structure, the node counts as inserted now. */
void evict_adopt(struct evict_queue *, struct node *, const struct evict_policy *from,
                 uint32_t now_s);
/* Takes in a node that a queue of a process before this one had, under the policy `from`, or NULL:
 * at the newest end of the same list. If `from` is of another structure, the node counts as
 * inserted now. To be called for the oldest node first. */
void evict_restore(struct evict_queue *, struct node *, const struct evict_policy *from,
                   uint32_t now_s);
/* Changes the policy. No node changes its list. Nodes in lists that the new policy does not use
 * become victims unless its own are older and unread. So the order survives as far as the new
 * policy can express it; nodes that a hand passed and spared are the newest. Each node that was
 * ever read is spared once when a search for a victim meets it, under fifo and lru, too. A policy
 * of the same structure takes over the ghosts and the hand, and spares only new nodes. O(1). */
void evict_switch(struct evict_queue *, const struct evict_policy *);
/* The oldest node by its last move, whatever the policy; NULL: the queue is empty. Does not
 * reorder. */
struct node *evict_oldest(const struct evict_queue *);
#endif
