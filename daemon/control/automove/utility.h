/* utility: a page goes to the class where it brings more hits than it costs; among classes that are
 * not read, to the class with more stores.
 *
 * Hits: misses of items that a class evicted lately show its gain from one page more, and hits on
 * the items that it would evict next show its loss from one page less (cache_measure). Both are
 * sums that halve each window of UTILITY_WINDOW_REQUESTS. Each window, a class gets a page from the
 * class that would lose least if
 *
 *     gain - DOUBT * its error  >  HYSTERESIS * (loss + DOUBT * its error)
 *
 * The gain is the best of gain_k / k over k = 1, 2, 4 … 64 pages. So a class before a cliff of its
 * curve gets pages, too. The loss is at least the donor's own gain from one page more. The loss is
 * 0 of a class that is not read (never, or not for a second and a window), and of a page's worth of
 * free chunks, if the class got no page lately.
 *
 * Stores: a class that evicts and has no sure gain of hits takes pages whose loss is 0, at each
 * look, as long as HYSTERESIS times as many bytes a page were stored in it lately as in the donor,
 * each with its error as above. So pages follow phases of a tenth of a second that only write, and
 * stay in classes with equal stores.
 *
 * A class of pieces of large values, which shows no hits, gives no page here. A class that has
 * nothing at all comes first; the cache itself takes a page for it at once
 * (cache_config.steal_pages), so no pages are held in reserve.
 *
 * Every constant has its experiment in BENCHMARKS.md, section control. Source: marginal hits from
 * shadow queues, Cidon et al., "Cliffhanger", NSDI 2016; the best over depths replaces the second
 * pair of queues there. Cost: a snapshot a look, 20 a second, 4 while the pool has pages, and
 * O(classes) a move. */
#ifndef SLATE_CONTROL_AUTOMOVE_UTILITY_H
#define SLATE_CONTROL_AUTOMOVE_UTILITY_H
#include "control/automove/automove.h"

enum {
    /* 2048: flicker -2.2 points and 180 moves more; 8192: cdn -0.8 */
    UTILITY_WINDOW_REQUESTS = 4096,
    /* 100 ms: race has 74 % hits in its third second for 100, as a window ends at a look */
    UTILITY_LOOK_US = 50 * 1000,
    /* Between looks while no requests come, or the pool has pages. For so long after a look that
     * moved pages for stores, looks come faster. 60 ms: a phase of calcify ends with 56 pages. */
    UTILITY_LATELY_US = 250 * 1000,
};

/* Sums over requests that halve each window. */
struct utility_class {
    double   gain[CACHE_GHOST_DEPTHS];       /* hits that 1 << d pages more would have brought */
    double   gain_error[CACHE_GHOST_DEPTHS]; /* their variances */
    double   loss, loss_error;               /* hits on a page's worth of tail */
    double   hits;
    uint64_t hits_seen, read_us, read_requests; /* when a look last saw new hits; 0: never */
    uint64_t sets_seen, evicted_seen;
    uint64_t evicted_bytes;      /* since the previous look */
    double   stored_now, stored; /* bytes since the previous look; lately */
    uint32_t filling_windows;    /* left for the class to fill the pages that it got */
};

struct automove_utility {
    struct cache *cache;
    bool     looked;
    double   requests; /* in the windows of the sums, halved each window as these are */
    uint64_t requests_seen, busy_until_us;
    struct utility_class classes[SLAB_CLASSES_MAX];
    char     why[REASON_BYTES]; /* reason of the last window */
};

/* A look, every UTILITY_LOOK_US, or sooner while looks move pages. */
bool automove_utility_decide(void *automove_utility, const struct snapshot *before,
                             const struct snapshot *after, struct decision *);
/* For a class that has no page and no victim. */
bool automove_utility_at_need(void *automove_utility, const struct snapshot *, struct decision *);
#endif
