/* Policies with one list: lru, fifo, clock, none.
 *
 * lru is exact: every hit moves its item to the newest end. That move needs the partition's lock,
 * so lru is the exception among all policies: a hit costs a lock and the cache lines of two
 * neighbours. lru is the yardstick for the others.
 * fifo keeps the order of insertion. clock gives items that were hit another round: it counts hits
 * up to 1, 3 or 7 (one, two or three bits), and an item that reaches the old end with a count above
 * 0 goes to the newest end with one less. Sources: Corbato, "A Paging Experiment with the Multics
 * System", 1968; several bits: GCLOCK of Smith, TODS 1978. `none` keeps the order but has no
 * victims: a full class then refuses stores. insert O(1); victim O(1) amortised over hits, and at
 * most EVICT_SEARCH_MOST nodes at a time. */
#include "evict/evict.h"

static void one_list_lru_hit(struct evict_queue *q, struct node *n, uint32_t now_s) {
    if (node_next(n) == 0 && evict_list_of(n) == EVICT_MAIN) {
        return; /* the node is the newest already */
    }
    if (now_s > node_time_s(n)) {
        node_set_time_s(n, now_s);
    }
    node_set_mark(n, (uint8_t)(1u << 3 | node_hits(n)));
    evict_list_move(q, n, EVICT_MAIN);
}

static struct node *one_list_oldest(struct evict_queue *q, uint32_t now_s) {
    return evict_list_next_round(q, EVICT_SPARE_NONE, now_s);
}

static struct node *one_list_clock_victim(struct evict_queue *q, uint32_t now_s) {
    return evict_list_next_round(q, 1, now_s);
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
    .victim = one_list_oldest,
    .hit = one_list_lru_hit,
};

const struct evict_policy evict_fifo = {
    .name = "fifo",
    .source = "first in, first out",
    .cost = "hit: one byte; insert and victim: one node",
    .list_names = {[EVICT_MAIN] = "all"},
    .tail_list = EVICT_MAIN,
    .hit_max = 1,
    .insert = evict_list_insert,
    .remove = evict_list_remove,
    .victim = one_list_oldest,
    .renew = evict_list_renew,
};

#define CLOCK(variable, called, counts, text)                                                      \
    const struct evict_policy variable = {                                                         \
        .name = called,                                                                            \
        .source = text,                                                                            \
        .cost = "hit: one byte; insert: one node; victim: the nodes hit since their last round",   \
        .list_names = {[EVICT_MAIN] = "all"},                                                      \
        .tail_list = EVICT_MAIN,                                                                   \
        .hit_max = counts,                                                                         \
        .insert = evict_list_insert,                                                               \
        .remove = evict_list_remove,                                                               \
        .victim = one_list_clock_victim,                                                           \
        .renew = evict_list_renew,                                                                 \
    }
CLOCK(evict_clock, "clock", 1, "second chance: Corbato 1968, one bit");
CLOCK(evict_clock2, "clock2", 3, "second chance with a count up to 3, two bits");
CLOCK(evict_clock3, "clock3", 7, "second chance with a count up to 7, three bits");

const struct evict_policy evict_none = {
    .name = "none",
    .source = "no eviction: a full cache refuses stores",
    .cost = "hit: one byte; insert: one node",
    .list_names = {[EVICT_MAIN] = "all"},
    .tail_list = EVICT_MAIN,
    .hit_max = 1,
    .insert = evict_list_insert,
    .remove = evict_list_remove,
};
