/* S3-FIFO: a small queue, which most new items soon leave again; a main queue for those that came
 * back; and ghosts of items that left the small queue unread. Hits count up to three and move
 * nothing.
 *
 * New items go to the small queue (small_pct of the items), items whose ghost is still there to the
 * main one. At the small queue's old end an item with at least promote_hits hits goes to the main
 * queue, unless its last hit came in the first skip_pct of its time in the small queue. Any other
 * item there is the victim, and leaves its ghost; as many ghosts as ghost_pct of the items stay. At
 * the main queue's old end an item that was hit gets another round with a hit less. Sources: Yang
 * and others, "FIFO queues are all you need for cache eviction", SOSP 2023; the part that is
 * skipped is the correlation window of Clock2Q+, VLDB 2026 (arXiv 2511.21958). Differences: shares
 * count the class's items of this partition; a ghost is a 12-bit tag (evict/evict_memory.h); the
 * window is a time, read from the mark of the last hit, so a hit pays nothing for the window.
 * s3fifo uses the numbers of the tuning; the other policies here use numbers of their own, whatever
 * the tuning says. insert O(1) and two cache lines; victim O(1) amortised over hits, at most
 * EVICT_SEARCH_MOST nodes at a time. */
#include "evict/evict.h"
#include "evict/evict_memory.h"

enum { SMALL = EVICT_NEW, MAIN = EVICT_MAIN, OTHERS = 1 << EVICT_OLD | 1 << EVICT_TEMP };
enum { COUNT_MAX = 3 };

static void s3fifo_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary, (void)now_s;
    evict_list_push(q, evict_ghosts_take(q, n) ? MAIN : SMALL, n);
}

/* The oldest of the main queue without hits. Older ones with hits get another round. */
static struct node *s3fifo_main_victim(struct evict_queue *q, uint32_t now_s, unsigned *tries) {
    struct node *n = evict_list_oldest(q, MAIN);
    while (n != NULL && (node_hits(n) > 0 || evict_renewed(n)) && *tries > 0) {
        if (node_hits(n) > 0) {
            node_renew(n, node_hits(n) - 1, now_s, q->flushed_s);
        }
        evict_list_move(q, n, MAIN);
        q->moves.within++;
        n = evict_list_oldest(q, MAIN);
        --*tries;
    }
    return n;
}

/* A number of the policy: from its record if there is one, else from the tuning. */
#define KNOB(q, name) \
    ((q)->policy->record != NULL ? (q)->policy->record->name : evict_knob(&(q)->tuning->name))

/* Whether the item was hit often enough, and the last time after the first part of its time here:
 * by then a burst of reads right after the store is over. */
static bool s3fifo_is_wanted(const struct evict_queue *q, const struct node *n, uint32_t now_s) {
    if (node_hits(n) < KNOB(q, promote_hits)) {
        return false;
    }
    uint32_t skip_pct = KNOB(q, skip_pct), stayed_s = now_s - node_time_s(n);
    return skip_pct == 0 || (int32_t)stayed_s <= 0 ||
           (uint64_t)node_age_s(node_mark(n) >> 3) * 100 >= (uint64_t)stayed_s * skip_pct;
}

static struct node *s3fifo_victim(struct evict_queue *q, uint32_t now_s) {
    unsigned tries = EVICT_SEARCH_MOST;
    uint32_t small_pct = KNOB(q, small_pct);
    struct node *small = evict_list_oldest(q, SMALL),
                *left = evict_list_leftover(q, OTHERS, small, KNOB(q, promote_hits), now_s);
    if (left != NULL) {
        return left;
    }
    while (small != NULL && (uint64_t)q->list[MAIN].count * 100 <=
                                (uint64_t)evict_lists_count(q) * (100 - small_pct)) {
        bool promoted = s3fifo_is_wanted(q, small, now_s) || evict_list_read_before(q, small);
        if ((!promoted && !evict_renewed(small)) || tries == 0) {
            return small;
        }
        if (promoted) {
            node_renew(small, 0, now_s, q->flushed_s);
            q->moves.to_warm++;
        }
        evict_list_move(q, small, promoted ? MAIN : SMALL);
        small = evict_list_oldest(q, SMALL);
        tries--;
    }
    struct node *n = s3fifo_main_victim(q, now_s, &tries);
    return n != NULL ? n : evict_list_oldest(q, SMALL);
}

static void s3fifo_evicted(struct evict_queue *q, const struct node *n) {
    if (evict_list_of(n) == SMALL) {
        evict_ghosts_add(q, n, KNOB(q, ghost_pct));
    }
}

#define S3FIFO(variable, called, numbers, text)                                                    \
    const struct evict_policy variable = {                                                         \
        .name = called,                                                                            \
        .source = text,                                                                            \
        .cost = "hit: one byte; insert: one node and two cache lines; victim: the nodes hit "      \
                "since their last round",                                                          \
        .list_names = {[SMALL] = "small", [MAIN] = "main"},                                        \
        .tail_list = EVICT_MAIN,                                                                   \
        .hit_max = COUNT_MAX,                                                                      \
        .bytes_per_item = EVICT_GHOST_BYTES_PER_NODE,                                              \
        .record = numbers,                                                                         \
        .insert = s3fifo_insert,                                                                   \
        .remove = evict_list_remove,                                                               \
        .victim = s3fifo_victim,                                                                   \
        .evicted = s3fifo_evicted,                                                                 \
        .renew = evict_list_renew,                                                                 \
    }
#define RECORD(small, ghosts, hits, skipped) \
    (&(const struct evict_s3fifo_knobs){(small), (ghosts), (hits), (skipped)})
S3FIFO(evict_s3fifo, "s3fifo", NULL, "S3-FIFO, Yang and others, SOSP 2023");
/* Each of these misses 1 % less than s3fifo's defaults on some load: BENCHMARKS.md. */
S3FIFO(evict_s3skip, "s3skip", RECORD(10, 90, 1, 50),
       "s3fifo with 1 hit that has to come after half of the time in the small queue, as in "
       "Clock2Q+, VLDB 2026");
S3FIFO(evict_s3wide, "s3wide", RECORD(30, 90, 1, 0),
       "s3fifo with 1 hit and a small queue of 30 % of the items");
