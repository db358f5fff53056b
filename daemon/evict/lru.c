/* Exact LRU: one list; every hit moves its item to the newest end.
 *
 * That move needs the partition's lock, so `lru` is the exception among the policies: a hit costs a
 * lock and the cache lines of two neighbours. `lru` is the yardstick for the others. */
#include "evict/evict.h"

static void lru_hit(struct evict_queue *q, struct node *n, uint32_t now_s) {
    if (node_next(n) == 0 && evict_list_of(n) == EVICT_MAIN) {
        return; /* the node is the newest already */
    }
    if (now_s > node_time_s(n)) {
        node_set_time_s(n, now_s);
    }
    node_set_mark(n, (uint8_t)(1u << 3 | node_hits(n)));
    evict_list_move(q, n, EVICT_MAIN);
}

static struct node *lru_victim(struct evict_queue *q, uint32_t now_s) {
    return evict_next_round(q, EVICT_SPARE_NONE, now_s);
}

const struct evict_policy evict_lru = {
    .name = "lru",
    .source = "least recently used, exact",
    .cost = "hit: the partition's lock and three nodes; insert and victim: one node",
    .list_names = {[EVICT_MAIN] = "all"},
    .tail_list = EVICT_MAIN,
    .hit_max = 1,
    .insert = evict_list_insert,
    .remove = evict_list_remove,
    .victim = lru_victim,
    .hit = lru_hit,
};
