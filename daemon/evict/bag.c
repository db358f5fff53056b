/* Bag LRU: three bags by age. A hit only marks its item; an insert passes over some of the oldest
 * items and moves those that were hit to the newest bag.
 *
 * Each bag holds a third of the items. An insert into the newest bag pushes the oldest item of each
 * bag that is over its share into the next bag; an item with a hit since its last move goes to the
 * newest bag instead. The victim is the oldest item of the oldest bag that was not hit. Source:
 * Wiggins and Langston, "Enhancing the Scalability of Memcached", Intel 2012. Differences: the
 * original counts the items of each bag and has a thread that passes over them; here every insert
 * passes over a few. insert, victim: O(1) amortised. */
#include "evict/evict.h"

/* the bags are EVICT_NEW, EVICT_MAIN, EVICT_OLD, in this order */
enum { BAGS = 3, PASS_PER_INSERT = 2 };

static void bag_refresh(struct evict_queue *q, struct node *n, uint32_t now_s) {
    if (node_hits(n) > 0) {
        node_renew(n, 0, now_s, q->flushed_s);
    }
    evict_list_move(q, n, EVICT_NEW);
    q->moves.within++;
}

static void bag_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary;
    uint32_t share = evict_lists_count(q) / BAGS + 1;
    evict_list_push(q, EVICT_NEW, n);
    for (unsigned bag = EVICT_NEW; bag < EVICT_OLD; bag++) {
        for (unsigned i = 0; i < PASS_PER_INSERT && q->list[bag].count > share; i++) {
            struct node *oldest = evict_list_oldest(q, bag);
            if (node_hits(oldest) > 0 || evict_renewed(oldest)) {
                bag_refresh(q, oldest, now_s);
            } else {
                evict_list_move(q, oldest, bag + 1);
            }
        }
    }
}

static struct node *bag_oldest(const struct evict_queue *q) {
    struct node *n = evict_list_oldest(q, EVICT_OLD);
    n = n != NULL ? n : evict_list_oldest(q, EVICT_MAIN);
    return n != NULL ? n : evict_list_oldest(q, EVICT_NEW);
}

static struct node *bag_victim(struct evict_queue *q, uint32_t now_s) {
    struct node *own = bag_oldest(q);
    for (unsigned i = 0; i < EVICT_SEARCH_MOST && own != NULL && evict_list_spares(q, own, 1);
         i++) {
        bag_refresh(q, own, now_s);
        own = bag_oldest(q);
    }
    struct node *left = evict_list_leftover(q, 1 << EVICT_TEMP, own, 1, now_s);
    return left != NULL ? left : own;
}

const struct evict_policy evict_bag = {
    .name = "bag",
    .source = "bag LRU, Wiggins and Langston, Intel 2012",
    .cost = "hit: one byte; insert: up to five nodes moved; victim: the nodes hit since they last "
            "moved",
    .list_names = {"bag1", "bag2", "bag3"},
    .tail_list = EVICT_OLD,
    .hit_max = 1,
    .insert = bag_insert,
    .remove = evict_list_remove,
    .victim = bag_victim,
    .renew = evict_list_renew,
};
