/* S3-FIFO: a small queue, which most new items soon leave again; a main queue for those that came
 * back; and ghosts of items that left the small queue unread. Hits count up to three and move
 * nothing.
 *
 * New items go to the small queue (small_pct of the items), items whose ghost is still there to the
 * main one. At the small queue's old end an item with at least promote_hits hits goes to the main
 * queue; the hits of its way through the first skip_pct of the small queue do not count. Any other
 * item there is the victim, and leaves its ghost; as many ghosts as ghost_pct of the items stay. At
 * the main queue's old end an item that was hit gets another round with a hit less. With
 * readmit_pct below 100, only so many of the items whose ghost is there go to the main queue, and
 * the main queue is filled up with any items: then part of a loop of keys that is larger than the
 * cache stays. Sources: Yang and others, "FIFO queues are all you need for cache eviction", SOSP
 * 2023; the part that is skipped is the correlation window of Clock2Q+, VLDB 2026 (arXiv
 * 2511.21958); that ghosts need more than one miss is from S4-FIFO, OSDI 2026, and one in so many
 * is the bimodal insertion of Qureshi and others, ISCA 2007. Differences: shares count the class's
 * items of this partition; a ghost is a 12-bit tag (evict/evict_memory.h); an item that leaves the
 * skipped part moves to a list of its own and loses its hits there, so hits pay nothing for it.
 * s3fifo uses the numbers of the tuning; the other policies here use numbers of their own, whatever
 * the tuning says. insert O(1) and two cache lines; victim O(1) amortised over hits, at most
 * EVICT_SEARCH_MOST nodes at a time. */
#include "evict/evict.h"
#include "evict/evict_memory.h"

enum { SMALL = EVICT_NEW, MAIN = EVICT_MAIN, COUNTED = EVICT_OLD, OTHERS = 1 << EVICT_TEMP };
enum {
    COUNT_MAX = 3,
    LEAVE_AT_ONCE = 4, /* more than come in the same time, so that a surplus shrinks */
};

/* The policy's numbers: those of its record if it has one, else those of the tuning. */
static inline struct evict_s3fifo_knobs s3fifo_knobs(const struct evict_queue *q) {
    const struct evict_tuning *t = q->tuning;
    return q->policy->record != NULL
               ? *q->policy->record
               : (struct evict_s3fifo_knobs){.small_pct = evict_knob(&t->small_pct),
                                             .ghost_pct = evict_knob(&t->ghost_pct),
                                             .promote_hits = evict_knob(&t->promote_hits),
                                             .skip_pct = evict_knob(&t->skip_pct),
                                             .readmit_pct = 100};
}

static bool s3fifo_readmits(struct evict_queue *q) {
    uint32_t pct = s3fifo_knobs(q).readmit_pct;
    return pct == 100 || q->ghosts_met++ * pct % 100 < pct;
}

static void s3fifo_insert(struct evict_queue *q, struct node *n, bool temporary, uint32_t now_s) {
    (void)temporary, (void)now_s;
    evict_list_push(q, evict_ghosts_take(q, n) && s3fifo_readmits(q) ? MAIN : SMALL, n);
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

/* Takes a few items out of the skipped part of the small queue, without the hits that they had
 * there. If more than twice as many are in that part as belong there, because the queue evicts for
 * the first time or was of another policy, the surplus has been there for longer, and keeps its
 * hits; so do items that a switch found there. */
static void s3fifo_leave_skipped(struct evict_queue *q, const struct evict_s3fifo_knobs *k,
                                 uint32_t now_s) {
    uint64_t most = (uint64_t)evict_lists_count(q) * k->small_pct * k->skip_pct / 10000;
    for (unsigned i = 0; i < LEAVE_AT_ONCE && q->list[SMALL].count > most; i++) {
        struct node *n = evict_list_oldest(q, SMALL);
        bool renewed = evict_renewed(n);
        if (!renewed && q->unjudged == 0 && q->list[SMALL].count <= 2 * most + 1) {
            node_renew(n, 0, now_s, q->flushed_s);
        }
        evict_list_move(q, n, renewed ? SMALL : COUNTED);
    }
}

static struct node *s3fifo_small_oldest(const struct evict_queue *q) {
    return evict_list_oldest(q, q->list[COUNTED].count > 0 ? COUNTED : SMALL);
}

/* Whether the main queue would have at most its share if so many more items were in it. */
static inline bool s3fifo_main_has_room(const struct evict_queue *q, uint32_t small_pct,
                                        uint32_t more) {
    return ((uint64_t)q->list[MAIN].count + more) * 100 <=
           (uint64_t)evict_lists_count(q) * (100 - small_pct);
}

/* Moves an item from the small queue's old end if it is not to be evicted: to the main queue's new
 * end if it is wanted, to its old end if that only fills it up, and if it got a new value, to the
 * small queue's new end. */
static inline bool s3fifo_spares(struct evict_queue *q, const struct evict_s3fifo_knobs *k,
                                 struct node *n, uint32_t now_s) {
    if (node_hits(n) >= k->promote_hits || evict_list_read_before(q, n)) {
        node_renew(n, 0, now_s, q->flushed_s);
        q->moves.to_warm++;
        evict_list_move(q, n, MAIN);
        return true;
    }
    if (evict_renewed(n)) {
        evict_list_move(q, n, SMALL);
        return true;
    }
    if (k->readmit_pct < 100 && s3fifo_main_has_room(q, k->small_pct, 1)) {
        evict_list_remove(q, n);
        evict_list_push_oldest(q, MAIN, n);
        return true;
    }
    return false;
}

static struct node *s3fifo_victim(struct evict_queue *q, uint32_t now_s) {
    unsigned tries = EVICT_SEARCH_MOST;
    const struct evict_s3fifo_knobs k = s3fifo_knobs(q);
    if (k.skip_pct > 0) {
        s3fifo_leave_skipped(q, &k, now_s);
    }
    struct node *small = s3fifo_small_oldest(q),
                *left = evict_list_leftover(q, OTHERS, small, k.promote_hits, now_s);
    if (left != NULL) {
        return left;
    }
    while (small != NULL && s3fifo_main_has_room(q, k.small_pct, 0)) {
        if (tries == 0 || !s3fifo_spares(q, &k, small, now_s)) {
            return small;
        }
        small = s3fifo_small_oldest(q);
        tries--;
    }
    struct node *n = s3fifo_main_victim(q, now_s, &tries);
    return n != NULL ? n : s3fifo_small_oldest(q);
}

static void s3fifo_evicted(struct evict_queue *q, const struct node *n) {
    if (evict_list_of(n) != MAIN) {
        evict_ghosts_add(q, n, s3fifo_knobs(q).ghost_pct);
    }
}

#define S3FIFO(variable, called, numbers, text)                                                    \
    const struct evict_policy variable = {                                                         \
        .name = called,                                                                            \
        .source = text,                                                                            \
        .cost = "hit: one byte; insert: one node and two cache lines; victim: the nodes hit "      \
                "since their last round",                                                          \
        .list_names = {[SMALL] = "small", [MAIN] = "main", [COUNTED] = "counted"},                 \
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
#define RECORD(small, ghosts, hits, skipped, readmitted) \
    (&(const struct evict_s3fifo_knobs){(small), (ghosts), (hits), (skipped), (readmitted)})
S3FIFO(evict_s3fifo, "s3fifo", NULL, "S3-FIFO, Yang and others, SOSP 2023");
/* Each of these misses 1 % less than s3fifo's defaults on some load: BENCHMARKS.md. */
S3FIFO(evict_s3skip, "s3skip", RECORD(10, 90, 1, 50, 100),
       "s3fifo with 1 hit that has to come in the second half of the small queue, as in Clock2Q+, "
       "VLDB 2026");
S3FIFO(evict_s3wide, "s3wide", RECORD(30, 90, 1, 0, 100),
       "s3fifo with 1 hit and a small queue of 30 % of the items");
S3FIFO(evict_s3loop, "s3loop", RECORD(5, 90, 1, 0, 6),
       "s3fifo with 1 hit, a small queue of 5 % and 6 % of the ghosts that come back, for loops of "
       "keys; after S4-FIFO, OSDI 2026");
