/* Exact LRU: one list, every hit moves its item to the newest end.
 *
 * That move needs the partition's lock, so `lru` is the exception among the policies: a hit costs a lock and the cache lines
 * of two neighbours. It is here as the yardstick others are measured against. */
#include "evict/evict.h"

static void lru_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary, (void)now_s;
    evict_list_push(q, 0, n);
}

static void lru_hit(struct evict_queue *q, struct node *n, uint32_t now_s) {
    if (node_next(n) == 0) {
        return; /* the newest already */
    }
    evict_list_remove(q, n);
    if (now_s > node_time_s(n)) { /* one stored right after a flush is stamped with the next second */
        node_set_time_s(n, now_s);
    }
    node_set_mark(n, (uint8_t)(1u << 3 | node_hits(n)));
    evict_list_push(q, 0, n);
}

static struct node *lru_victim(struct evict_queue *q, uint32_t now_s) {
    (void)now_s;
    return evict_oldest_in(q, 0);
}

const struct evict_policy evict_lru = {
    .name = "lru",
    .source = "least recently used, exact",
    .list_names = {"all"},
    .hit_max = 1,
    .insert = lru_insert,
    .remove = evict_list_remove,
    .victim = lru_victim,
    .hit = lru_hit,
};
