/* Segmented LRU as memcached has it: HOT, WARM, COLD and TEMP queues; items move between them only
 * at the old ends.
 *
 * New items enter HOT (TEMP if they live only shortly). A second hit makes an item active. At the
 * old end of HOT or COLD an active item goes to WARM; in WARM the item gets another round. An idle
 * item goes to COLD when its queue is over its share, or when its age is above the queue's factor
 * times COLD's age. Victims are COLD's oldest. Hits only mark, and so does a new value in an item's
 * place: such an item goes to HOT at an old end, not at once.
 *
 * Source: memcached 1.4.24 to 1.6.45, doc/new_lru.txt (behaviour). Differences: shares count items,
 * since all items of a class take one chunk each; each insert moves the queues by a step, so no
 * thread has to do so; an active or renewed item moves at an old end, not at its hit or store.
 * insert, victim: O(1) amortised. Memory: the node only. */
#include "evict/evict.h"

enum { HOT = EVICT_NEW, WARM = EVICT_MAIN, COLD = EVICT_OLD, TEMP = EVICT_TEMP };
enum { IDLE_MOST = 1, ACTIVE = 2 };
enum { PULLS_PER_INSERT = 2, RENEWALS_PER_PULL = 4 };

static bool slru_is_renewed(const struct node *n) {
    return evict_renewed(n) && node_hits(n) < ACTIVE;
}

static bool slru_pull(struct evict_queue *q, unsigned list, uint32_t now_s);

/* A list's oldest node. A few older nodes that got a new value in this list first go to HOT. */
static struct node *slru_settled_oldest(struct evict_queue *q, unsigned list, uint32_t now_s) {
    struct node *n = evict_list_oldest(q, list);
    for (unsigned i = 0; i < RENEWALS_PER_PULL && n != NULL && slru_is_renewed(n); i++) {
        evict_list_move(q, n, HOT);
        if (list != HOT) {
            slru_pull(q, HOT, now_s); /* HOT stays within its share */
        }
        n = evict_list_oldest(q, list);
    }
    return n;
}

/* Moves the oldest node of HOT or WARM if a rule says so; false: none does. */
static bool slru_pull(struct evict_queue *q, unsigned list, uint32_t now_s) {
    struct node *n = slru_settled_oldest(q, list, now_s);
    if (n == NULL) {
        return false;
    }
    if (node_hits(n) >= ACTIVE) {
        node_renew(n, IDLE_MOST, now_s, q->flushed_s);
        if (list == WARM) {
            q->moves.within++;
        } else {
            q->moves.to_warm++;
        }
        evict_list_move(q, n, WARM);
        return true;
    }
    uint32_t total = q->list[HOT].count + q->list[WARM].count + q->list[COLD].count;
    uint32_t pct = evict_knob(list == HOT ? &q->tuning->hot_pct : &q->tuning->warm_pct);
    bool over = (uint64_t)q->list[list].count * 100 > (uint64_t)total * pct;
    if (!over) {
        const struct node *cold = evict_list_oldest(q, COLD);
        uint32_t factor_pct =
            evict_knob(list == HOT ? &q->tuning->hot_factor_pct : &q->tuning->warm_factor_pct);
        uint64_t cold_age_s =
            cold != NULL && now_s > node_used_s(cold) ? now_s - node_used_s(cold) : 0;
        uint32_t age_s = now_s > node_used_s(n) ? now_s - node_used_s(n) : 0;
        over = cold_age_s > 0 && (uint64_t)age_s * 100 > cold_age_s * factor_pct;
    }
    if (!over) {
        return false;
    }
    evict_list_move(q, n, COLD);
    q->moves.to_cold++;
    return true;
}

static void slru_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    evict_list_push(q, temporary ? TEMP : HOT, n);
    for (unsigned i = 0; i < PULLS_PER_INSERT && slru_pull(q, HOT, now_s); i++) {
    }
    slru_pull(q, WARM, now_s);
    /* the next pull reads the neighbour of HOT's second oldest node */
    const struct node *oldest = evict_list_oldest(q, HOT);
    __builtin_prefetch(node_at(q->space, node_next(oldest != NULL ? oldest : n)), 1);
}

static void slru_renew(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    if (temporary || evict_list_of(n) == TEMP) {
        evict_list_remove(q, n);
        slru_insert(q, n, temporary, now_s);
    } else {
        evict_list_renew(q, n, temporary, now_s);
    }
}

/* COLD's oldest node, or that of another queue if COLD is empty: HOT's before WARM's, unless a
 * switch has left an older unread one in WARM. TEMP comes last, but even TEMP is better than a
 * refused set. */
static struct node *slru_coldest(const struct evict_queue *q) {
    static const unsigned order[] = {COLD, HOT, WARM, TEMP};
    struct node *hot = evict_list_oldest(q, HOT), *warm = evict_list_oldest(q, WARM), *n = NULL;
    if (q->list[COLD].count == 0 && hot != NULL && warm != NULL && node_mark(warm) == 0 &&
        node_used_s(warm) <= node_used_s(hot)) {
        return warm;
    }
    for (unsigned i = 0; i < EVICT_LISTS && n == NULL; i++) {
        n = evict_list_oldest(q, order[i]);
    }
    return n;
}

static struct node *slru_victim(struct evict_queue *q, uint32_t now_s) {
    struct node *n = slru_coldest(q);
    for (unsigned i = 0; i < EVICT_SEARCH_MOST && n != NULL && evict_list_spares(q, n, ACTIVE);
         i++) {
        if (slru_is_renewed(n)) {
            evict_list_move(q, n, HOT);
            slru_pull(q, HOT, now_s); /* HOT stays within its share */
        } else {
            node_renew(n, IDLE_MOST, now_s, q->flushed_s);
            evict_list_move(q, n, WARM);
            q->moves.to_warm++;
            slru_pull(q, WARM, now_s);
        }
        n = slru_coldest(q);
    }
    return n;
}

const struct evict_policy evict_slru = {
    .name = "slru",
    .source = "memcached's segmented LRU: hot, warm, cold, temporary",
    .list_names = {"hot", "warm", "cold", "temp"},
    .tail_list = COLD,
    .cost = "hit: one byte; insert: up to three nodes moved; victim: the nodes hit twice",
    .hit_max = ACTIVE,
    .insert = slru_insert,
    .remove = evict_list_remove,
    .victim = slru_victim,
    .renew = slru_renew,
};
