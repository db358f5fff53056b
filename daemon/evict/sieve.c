/* SIEVE: one queue in order of insertion, and a hand that goes from old to new. A node that was hit
 * stays in its place and loses its mark; the first one that was not hit is the victim. New items
 * wait at the newest end until the hand has come round.
 *
 * Source: Zhang and others, "SIEVE is Simpler than LRU", NSDI 2024. Good on web traffic, bad on
 * streams of pure recency: never the default. insert O(1); victim O(1) amortised over hits, at most
 * EVICT_SEARCH_MOST nodes at a time. */
#include "evict/evict.h"

enum { OTHERS = 1 << EVICT_NEW | 1 << EVICT_OLD | 1 << EVICT_TEMP };

static void sieve_remove(struct evict_queue *q, struct node *n) {
    if (q->hand == node_ref(q->space, n)) {
        q->hand = node_next(n);
    }
    evict_list_remove(q, n);
}

static struct node *sieve_victim(struct evict_queue *q, uint32_t now_s) {
    struct node *left = evict_list_leftover(q, OTHERS, evict_list_oldest(q, EVICT_MAIN), 1, now_s);
    if (left != NULL) {
        return left;
    }
    struct node *oldest = evict_list_oldest(q, EVICT_MAIN);
    struct node *n = q->hand != 0 ? node_at(q->space, q->hand) : oldest;
    for (unsigned i = 0; i < EVICT_SEARCH_MOST && n != NULL && evict_list_spares(q, n, 1); i++) {
        if (node_hits(n) > 0) {
            node_renew(n, 0, now_s, q->flushed_s);
        }
        node_set_where(n, node_where(n) & (unsigned)~EVICT_RENEWED);
        n = node_next(n) != 0 ? node_at(q->space, node_next(n)) : oldest;
    }
    q->hand = n != NULL ? node_ref(q->space, n) : 0;
    return n;
}

const struct evict_policy evict_sieve = {
    .name = "sieve",
    .source = "SIEVE, Zhang and others, NSDI 2024",
    .cost = "hit: one byte; insert: one node; victim: the nodes hit since the hand last came by",
    .list_names = {[EVICT_MAIN] = "all"},
    .tail_list = EVICT_MAIN,
    .hit_max = 1,
    .insert = evict_list_insert,
    .remove = sieve_remove,
    .victim = sieve_victim,
    .renew = evict_list_renew,
};
