/* utility: a page goes where it brings more hits than it costs; among what nobody reads, where more
 * is stored.
 *
 * Hits: what a page would gain a class is told by misses of items that it evicted lately, what one
 * less would lose it by hits on the items that it would evict next (cache_measure). Both are sums
 * that halve each window of UTILITY_WINDOW_REQUESTS. A class gets a page a window from the class
 * that would lose least when
 *
 *     gain - DOUBT * its error  >  HYSTERESIS * (loss + DOUBT * its error)
 *
 * The gain is the best of gain_k / k over k = 1, 2, 4 … 64 pages: so that a class behind a cliff
 * of its curve is seen too. The loss is at least what one page more would gain the donor itself.
 * It is 0 of a class that nobody reads (never, or not for a second and a window), and of a page's
 * worth of free chunks that the class did not get lately.
 *
 * Stores: a class that evicts and surely gains no hits takes pages whose loss is 0, at each look,
 * as long as HYSTERESIS times as many bytes a page were stored in it lately as in the donor, each
 * with its error likewise. So phases of a tenth of a second that only write are followed, and
 * classes that are written to alike keep what they have.
 *
 * A class of pieces of large values, which shows no hits, gives nothing by itself. A class that has
 * nothing at all is served first, and the cache itself takes a page for it at once
 * (cache_config.steal_pages), which is why no pages are held in reserve.
 *
 * Every constant has its experiment in BENCHMARKS.md, section control. Source: marginal hits from
 * shadow queues, Cidon et al., "Cliffhanger", NSDI 2016; the hull over depths stands in for its
 * second pair of queues. Cost: a snapshot a look, 20 a second, 4 while the pool has pages, and
 * O(classes) a move. */
#ifndef SLATE_CONTROL_AUTOMOVE_UTILITY_H
#define SLATE_CONTROL_AUTOMOVE_UTILITY_H
#include "control/automove/automove.h"

enum {
    /* 2048: flicker -2.2 points and 180 moves more; 8192: cdn -0.8 */
    UTILITY_WINDOW_REQUESTS = 4096,
    /* 100 ms: race has 74 % hits in its third second for 100, for a window ends at a look */
    UTILITY_LOOK_US = 50 * 1000,
    /* Between looks while nobody asks for anything, or the pool has pages; for so long after a look
     * moved pages for what is stored they follow each other faster. 60 ms: a phase of calcify ends
     * with 56 pages. */
    UTILITY_LATELY_US = 250 * 1000,
};

/* Sums that halve each window, of what requests met. */
struct utility_class {
    double   gain[CACHE_GHOST_DEPTHS];       /* hits that 1 << d pages more would have made */
    double   gain_error[CACHE_GHOST_DEPTHS]; /* their variances */
    double   loss, loss_error;               /* hits on a page's worth of tail */
    double   hits;
    uint64_t hits_seen, read_us, read_requests; /* when a look last saw new hits; 0: never */
    uint64_t sets_seen, evicted_seen;
    uint64_t evicted_bytes;      /* since the look before */
    double   stored_now, stored; /* bytes since the look before; lately */
    uint32_t filling_windows;    /* that are left to fill what it was given */
};

struct automove_utility {
    struct cache *cache;
    bool     looked;
    double   requests; /* of the sums */
    uint64_t requests_seen, busy_until_us;
    struct utility_class classes[SLAB_CLASSES_MAX];
    char     why[REASON_BYTES]; /* of the last window */
};

/* A look, every UTILITY_LOOK_US or sooner while it moves pages; `before` is the window's start. */
bool automove_utility_decide(void *automove_utility, const struct snapshot *before,
                             const struct snapshot *after, struct decision *);
/* For a class that has nothing. */
bool automove_utility_at_need(void *automove_utility, const struct snapshot *, struct decision *);
#endif
