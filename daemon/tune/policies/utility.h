/* utility: a page goes where it brings more hits than it costs.
 *
 * What a page would gain a class is told by misses of items it evicted lately, what one less would
 * lose it by hits on the items it would evict next (cache_measure). Both are kept as sums that
 * halve each window, a window being 4096 requests or a second, whichever comes first. A page moves
 * when
 *
 *     gain of the receiver - DOUBT * its error  >  1.1 * (loss of the donor + DOUBT * its error) + cost of the move
 *
 * where the gain is the best of gain_k / k over k = 1, 2, 4 … 64 pages: so that a class behind a
 * cliff of its curve is seen too; and the loss is at least what one page more would gain the donor
 * itself. A receiver gets one page, and twice as many each window that confirms it, all together at
 * most 1/16 of all pages a window. For 3 windows a receiver gives nothing and a donor gets nothing,
 * and for 256 only for twice as much; a pair that reversed twice within 16 windows rests for 16.
 *
 * What nobody reads needs no such care: a class that was not read for a second and a window, or
 * never, and a class with a page's worth of free chunks that it has had for 32 windows, give to any
 * class that evicts, each look as much as that one evicted meanwhile. Of two that are not read
 * neither is worth more: pages go to the one that more is stored in, until what is stored in the
 * other stays four times as long, by the bytes stored lately (1/16 of the limit) and their standard
 * errors. A class of pieces of large values, which shows no hits, gives nothing by itself. A class
 * that has nothing at all is served first, and the cache itself takes a page for it at once
 * (cache_config.steal_pages), which is why no pages are held in reserve.
 *
 * Source: marginal hits from shadow queues, Cidon et al., "Cliffhanger", NSDI 2016; the hull over
 * depths stands in for its second pair of queues. Cost: a snapshot a look, 20 a second, 4
 * while the pool has pages, and O(classes) a move. */
#ifndef SLATE_TUNE_POLICIES_UTILITY_H
#define SLATE_TUNE_POLICIES_UTILITY_H
#include "tune/policies/automove.h"

enum {
    UTILITY_WINDOW_REQUESTS = 4096,
    UTILITY_WINDOW_US = 1000 * 1000,
    UTILITY_LOOK_US = 50 * 1000,
    /* while nobody asks for anything, or the pool has pages */
    UTILITY_IDLE_LOOK_US = 250 * 1000,
    UTILITY_PAIRS = 64,  /* pairs of classes whose moves are remembered */
    UTILITY_EPOCH = 1000,
};

/* Sums that halve each window, of what requests met. */
struct utility_class {
    double   gain[CACHE_GHOST_DEPTHS];       /* hits that 1 << d pages more would have made */
    double   gain_error[CACHE_GHOST_DEPTHS]; /* their variances */
    double   loss[CACHE_TAILS];              /* hits on as many pages' worth of tail */
    double   loss_error[CACHE_TAILS];
    double   hits;
    uint64_t hits_seen, read_us, read_requests; /* when a look last saw new hits; 0: never */
    uint64_t sets_seen;
    double   stored_now, stored;                  /* bytes since the look before; lately */
    uint64_t evicted_seen, evicted_us, evicted_bytes; /* the last: since the look before */
    uint32_t received, gave;         /* windows of its last moves; 0: never */
    unsigned step;                   /* pages that it received then */
    bool     done;                   /* with this window */
};

struct utility_pair {
    unsigned from, to;            /* of its last move */
    uint32_t moved, frozen_until; /* windows */
    unsigned reversals;
};

struct automove_utility {
    struct cache *cache;
    uint32_t window, look; /* numbers from UTILITY_EPOCH, so that 0 is long ago */
    double   requests;     /* of the sums */
    uint64_t requests_seen, busy_until_us;
    struct utility_class classes[SLAB_CLASSES_MAX];
    struct utility_pair  pairs[UTILITY_PAIRS];
    char     why[REASON_BYTES]; /* of the last window */
};

/* A look, every UTILITY_LOOK_US or sooner while it moves pages; `before` is the window's start. */
bool automove_utility_decide(void *automove_utility, const struct snapshot *before,
                             const struct snapshot *after, struct decision *);
/* For a class that has nothing. */
bool automove_utility_at_need(void *automove_utility, const struct snapshot *, struct decision *);
#endif
