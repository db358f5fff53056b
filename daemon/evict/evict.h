/* Who goes next: the order of the items of one slab class in one partition.
 *
 * A policy is one const table of functions over nodes; it never sees items, keys or locks and never
 * allocates. A queue belongs to its partition: every call but evict_find is made under the
 * partition's lock. Hits are noted by the cache in the node's mark (base/node.h), never here. Times
 * are seconds of one clock: in the cache that of its items. Cost: every call but evict_switch is
 * O(1), amortised. */
#ifndef SLATE_EVICT_EVICT_H
#define SLATE_EVICT_EVICT_H
#include "evict/list.h"
#include "evict/queue.h"
#include "evict/tail.h"

extern const struct evict_policy evict_lru, evict_slru, evict_bag, evict_fifo, evict_clock,
    evict_clock2, evict_clock3, evict_sieve, evict_s3fifo, evict_s3skip, evict_s3wide,
    evict_tinylfu, evict_none;
extern const struct evict_policy *const evict_policies[]; /* NULL-terminated */
const struct evict_policy *evict_find(const char *name);  /* NULL: no such policy */
/* Whether they are of one structure: each goes on with the lists, ghosts and hand of the other. */
bool evict_alike(const struct evict_policy *, const struct evict_policy *);

struct image;
/* A queue as a part of an image for the next process (base/image.h), whose nodes lie where this
 * one's do; and back, of a queue that was initialised: it has the policy that it had. False: no
 * memory, no such policy, or the image is not whole. */
void evict_put(struct image *, const struct evict_queue *);
bool evict_get(struct image *, struct evict_queue *);

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

/* Takes in a node that came from another queue, with its history: to the list it was in there, at
 * the end that its last use is nearer to. It must have left the other queue, whose policy was
 * `from`; of another structure it counts as inserted now. */
void evict_adopt(struct evict_queue *, struct node *, const struct evict_policy *from,
                 uint32_t now_s);
/* Takes in a node that a queue had before its process ended, under a policy `from`, or NULL: to the
 * newest end of the list it was in there; of another structure it counts as inserted now. To be
 * called with the oldest first. */
void evict_restore(struct evict_queue *, struct node *, const struct evict_policy *from,
                   uint32_t now_s);
/* Changes the policy. No node moves now: what lies in lists that the new policy does not use is
 * taken from there, by age, before its own. So the order survives as far as the new policy can
 * express it; one that is alike keeps the ghosts, too. O(1). */
void evict_switch(struct evict_queue *, const struct evict_policy *);
/* The node that would go first by plain age; NULL: the queue is empty. Does not reorder. */
struct node *evict_oldest(const struct evict_queue *);
#endif
