/* S3-FIFO: a small queue that most new items leave again, a main queue for those that came back,
 * and ghosts of what left the small one unread. Hits count up to three and move nothing.
 *
 * New items go to the small queue (a tenth), ghosts that return to the main one. At the small
 * queue's old end an item hit at least twice goes to the main queue, another is the victim and
 * leaves its ghost; at the main queue's old end one that was hit gets another round with a hit
 * less. Source: Yang and others, "FIFO queues are all you need for cache eviction", SOSP 2023.
 * Differences: shares count the class's items of this partition; a ghost is a 12-bit tag
 * (evict/memory.h). insert O(1) and two cache lines; victim O(1) amortised over hits, at most
 * VICTIM_TRIES nodes at a time. */
#include "evict/evict.h"
#include "evict/memory.h"

enum { SMALL = EVICT_NEW, MAIN = EVICT_MAIN, OTHERS = 1 << EVICT_OLD | 1 << EVICT_TEMP };
enum { SMALL_TENTHS = 1, PROMOTE_HITS = 2, COUNT_MAX = 3, VICTIM_TRIES = 1024 };

static void s3fifo_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary, (void)now_s;
    evict_list_push(q, evict_ghosts_take(q, n) ? MAIN : SMALL, n);
}

/* The next of the main queue, after those that were hit have had their round. */
static struct node *main_victim(struct evict_queue *q, uint32_t now_s, unsigned *tries) {
    struct node *n = evict_oldest_in(q, MAIN);
    while (n != NULL && (node_hits(n) > 0 || evict_renewed(n)) && *tries > 0) {
        if (node_hits(n) > 0) {
            node_renew(n, node_hits(n) - 1, now_s, q->flushed_s);
        }
        evict_list_move(q, n, MAIN);
        q->moves.within++;
        n = evict_oldest_in(q, MAIN);
        --*tries;
    }
    return n;
}

static struct node *s3fifo_victim(struct evict_queue *q, uint32_t now_s) {
    unsigned tries = VICTIM_TRIES;
    struct node *small = evict_oldest_in(q, SMALL),
                *left = evict_leftover(q, OTHERS, small, PROMOTE_HITS, now_s);
    if (left != NULL) {
        return left;
    }
    while (small != NULL &&
           (uint64_t)q->list[MAIN].count * 10 <= (uint64_t)evict_count(q) * (10 - SMALL_TENTHS)) {
        bool promoted = node_hits(small) >= PROMOTE_HITS;
        if ((!promoted && !evict_renewed(small)) || tries == 0) {
            return small;
        }
        if (promoted) {
            node_renew(small, 0, now_s, q->flushed_s);
            q->moves.to_warm++;
        }
        evict_list_move(q, small, promoted ? MAIN : SMALL);
        small = evict_oldest_in(q, SMALL);
        tries--;
    }
    struct node *n = main_victim(q, now_s, &tries);
    return n != NULL ? n : evict_oldest_in(q, SMALL);
}

static void s3fifo_evicted(struct evict_queue *q, const struct node *n) {
    if (evict_list_of(n) == SMALL) {
        evict_ghosts_add(q, n);
    }
}

const struct evict_policy evict_s3fifo = {
    .name = "s3fifo",
    .source = "S3-FIFO, Yang and others, SOSP 2023",
    .cost = "hit: one byte; insert: one node and two cache lines; victim: the nodes hit since "
            "their last round",
    .list_names = {[SMALL] = "small", [MAIN] = "main"},
    .tail_list = EVICT_MAIN,
    .hit_max = COUNT_MAX,
    .bytes_per_item = EVICT_GHOST_BYTES_PER_NODE,
    .insert = s3fifo_insert,
    .remove = evict_list_remove,
    .victim = s3fifo_victim,
    .evicted = s3fifo_evicted,
    .renew = evict_renew_late,
};
