/* One queue in order of insertion: fifo, and clock, which gives items that were hit another round.
 *
 * clock counts hits up to 1, 3 or 7 (one, two or three bits). An item that reaches the old end with
 * a count above 0 goes to the newest end with one less. Sources: Corbato, "A Paging Experiment with
 * the Multics System", 1968; several bits: GCLOCK of Smith, TODS 1978. `none` keeps the order but
 * has no victims: a full class then refuses stores. insert O(1); victim O(1) amortised over hits,
 * and at most EVICT_SEARCH_MOST nodes at a time. */
#include "evict/evict.h"

static struct node *clock_fifo_victim(struct evict_queue *q, uint32_t now_s) {
    return evict_next_round(q, EVICT_SPARE_NONE, now_s);
}

static struct node *clock_victim(struct evict_queue *q, uint32_t now_s) {
    return evict_next_round(q, 1, now_s);
}

const struct evict_policy evict_fifo = {
    .name = "fifo",
    .source = "first in, first out",
    .cost = "hit: one byte; insert and victim: one node",
    .list_names = {[EVICT_MAIN] = "all"},
    .tail_list = EVICT_MAIN,
    .hit_max = 1,
    .insert = evict_list_insert,
    .remove = evict_list_remove,
    .victim = clock_fifo_victim,
    .renew = evict_mark_renewed,
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
        .victim = clock_victim,                                                                    \
        .renew = evict_mark_renewed,                                                               \
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
