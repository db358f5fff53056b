/* W-TinyLFU: a window for new items; beyond the window an item stays only if it has more requests
 * than the item that would make room.
 *
 * New items enter the window (a hundredth of the items, at least one). An item that leaves the
 * window goes on probation as the newest there, and is compared with the oldest there: the one with
 * the higher count in the sketch stays. Items that are hit on probation are protected (four fifths
 * of those beyond the window) until they are the oldest there and were not hit again. A hit only
 * counts in the node; the count goes into the sketch when the item reaches an old end, so a hit
 * costs no more than in other policies. Source: Einziger, Friedman and Manes, "TinyLFU: A Highly
 * Efficient Cache Admission Policy", TOS 2017. Differences: hits reach the sketch late, and the
 * window does not adapt. insert O(1) and four cache lines; victim O(1) amortised over hits. */
#include "evict/evict.h"
#include "evict/evict_memory.h"

enum {
    WINDOW = EVICT_NEW,
    PROTECTED = EVICT_MAIN,
    PROBATION = EVICT_OLD,
    OTHERS = 1 << EVICT_TEMP
};
enum { WINDOW_PCT = 1, PROTECTED_PCT = 79, STEPS = 2, COUNT_MAX = 7 };

static bool tinylfu_is_over(uint32_t count, uint32_t total, unsigned pct) {
    return (uint64_t)count * 100 > (uint64_t)total * pct;
}

/* Moves a node to a list, and adds its hits to the sketch. */
static void tinylfu_move(struct evict_queue *q, struct node *n, unsigned list, uint32_t now_s) {
    if (node_hits(n) > 0) {
        evict_sketch_add(q, n, node_hits(n));
        node_renew(n, 0, now_s, q->flushed_s);
    }
    evict_list_move(q, n, list);
}

/* Moves the oldest protected item back on probation if those that were hit there need its room.
 * False: they do not. */
static bool tinylfu_shrink_protected(struct evict_queue *q, uint32_t now_s) {
    struct node *n = evict_list_oldest(q, PROTECTED);
    if (n == NULL ||
        !tinylfu_is_over(q->list[PROTECTED].count, evict_lists_count(q), PROTECTED_PCT)) {
        return false;
    }
    tinylfu_move(q, n, node_hits(n) > 0 ? PROTECTED : PROBATION, now_s);
    return true;
}

/* Moves the window's oldest item on probation. False: the window is within its share. */
static bool tinylfu_shrink_window(struct evict_queue *q, uint32_t now_s) {
    if (q->list[WINDOW].count <= 1 ||
        !tinylfu_is_over(q->list[WINDOW].count, evict_lists_count(q), WINDOW_PCT)) {
        return false;
    }
    struct node *oldest = evict_list_oldest(q, WINDOW);
    tinylfu_move(q, oldest, evict_renewed(oldest) ? WINDOW : PROBATION, now_s);
    return true;
}

/* Another policy may have left the window and the protected list over their shares: each insert
 * moves two nodes out of them. */
static void tinylfu_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary;
    evict_list_push(q, WINDOW, n);
    evict_sketch_add(q, n, 1);
    for (unsigned i = 0; i < STEPS; i++) {
        tinylfu_shrink_protected(q, now_s);
    }
    for (unsigned i = 0; i < STEPS; i++) {
        tinylfu_shrink_window(q, now_s);
    }
}

static void tinylfu_renew(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    evict_sketch_add(q, n, 1);
    evict_list_renew(q, n, temporary, now_s);
}

static unsigned tinylfu_frequency(const struct evict_queue *q, const struct node *n) {
    return evict_sketch_count(q, n) + node_hits(n);
}

/* The oldest node on probation that was not hit there. If there is none, the other lists first
 * shrink to their shares. */
static struct node *tinylfu_probation_victim(struct evict_queue *q, uint32_t now_s) {
    for (unsigned i = 0; i < EVICT_SEARCH_MOST; i++) {
        struct node *n = evict_list_oldest(q, PROBATION);
        if (n == NULL) {
            if (!tinylfu_shrink_window(q, now_s) && !tinylfu_shrink_protected(q, now_s)) {
                return NULL;
            }
            continue;
        }
        if (!evict_list_spares(q, n, 1)) {
            return n;
        }
        bool read = node_mark(n) != 0;
        tinylfu_move(q, n, read ? PROTECTED : WINDOW, now_s);
        q->moves.to_warm += read;
        if (q->list[PROBATION].count > 0) {
            tinylfu_shrink_protected(q, now_s);
        }
    }
    return evict_list_oldest(q, PROBATION);
}

static struct node *tinylfu_victim(struct evict_queue *q, uint32_t now_s) {
    struct node *victim = tinylfu_probation_victim(q, now_s),
                *left = evict_list_leftover(q, OTHERS, victim, 1, now_s);
    if (left != NULL) {
        return left;
    }
    if (victim == NULL) {
        struct node *n = evict_list_oldest(q, PROTECTED);
        return n != NULL ? n : evict_list_oldest(q, WINDOW);
    }
    for (unsigned i = 0; i < EVICT_SEARCH_MOST; i++) {
        struct node *candidate = node_at(q->space, q->list[PROBATION].newest);
        if (candidate == victim || tinylfu_frequency(q, candidate) > tinylfu_frequency(q, victim)) {
            break;
        }
        if (!evict_list_read_before(q, candidate)) {
            return candidate;
        }
        tinylfu_move(q, candidate, PROTECTED, now_s);
    }
    return victim;
}

const struct evict_policy evict_tinylfu = {
    .name = "tinylfu",
    .source = "W-TinyLFU, Einziger and others, TOS 2017",
    .cost = "hit: one byte; insert: one node and four cache lines; victim: two nodes and eight "
            "cache lines",
    .list_names = {"window", "protected", "probation"},
    .tail_list = PROBATION,
    .hit_max = COUNT_MAX,
    .bytes_per_item = EVICT_SKETCH_BYTES_PER_NODE,
    .insert = tinylfu_insert,
    .remove = evict_list_remove,
    .victim = tinylfu_victim,
    .renew = tinylfu_renew,
};
