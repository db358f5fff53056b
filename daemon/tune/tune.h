/* The tuner: one background thread that moves pages, decides when to (automove), tends queues and crawls for expired items.
 *
 * A decision is a pure function of two snapshots (tune/snapshot.h, tune/automove.h). Requests come from any thread; the
 * work is done on the tuner's thread alone, through its own cache_thread. */
#ifndef SLATE_TUNE_TUNE_H
#define SLATE_TUNE_TUNE_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

enum automove_mode { AUTOMOVE_OFF = 0, AUTOMOVE_RATIO = 1, AUTOMOVE_EVICTION = 2 };

struct tune_config {
    enum automove_mode automove;
    double   ratio;          /* slab_automove_ratio */
    unsigned window_s;       /* slab_automove_window */
    bool     reassign;       /* slab_reassign: false: no page ever moves */
    bool     crawler;        /* lru_crawler */
    uint32_t crawler_sleep_us, crawler_tocrawl;
};

struct tuner;
struct tuner *tuner_create(struct cache *, const struct tune_config *); /* starts the thread; NULL and errno */
void          tuner_destroy(struct tuner **);                            /* stops and joins it */

enum tune_status { TUNE_OK, TUNE_BUSY, TUNE_BAD_CLASS, TUNE_NO_SPARE, TUNE_SAME, TUNE_DISABLED };
/* Queues the move of `pages` pages; from -1: the tuner chooses; to 0: the pool. Returns at once. */
enum tune_status tuner_reassign(struct tuner *, int from_class, int to_class, unsigned pages);

void tuner_set_automove(struct tuner *, enum automove_mode);
enum automove_mode tuner_automove(const struct tuner *);
bool tuner_set_ratio(struct tuner *, double ratio);       /* false: out of range */
bool tuner_set_window(struct tuner *, unsigned window_s); /* false: not 3..1800 */

enum crawl_status { CRAWL_OK, CRAWL_BUSY, CRAWL_BAD_CLASS, CRAWL_NOT_STARTED };
enum crawl_status tuner_crawl(struct tuner *, uint64_t class_bits); /* now; frees expired items of these classes */
void tuner_set_crawler(struct tuner *, bool enabled, uint32_t sleep_us, uint32_t tocrawl);

struct tune_facts {
    enum automove_mode automove;
    double   ratio;
    unsigned window_s;
    bool     reassign, moving, crawler, crawling;
    uint32_t crawler_sleep_us, crawler_tocrawl;
    uint64_t pages_moved, rescues, chunk_rescues, inline_reclaim, busy_items, busy_deletes, busy_nomem, evictions_by_move,
             moves_given_up, crawler_starts;
    const char *last_busy; /* why the last chunk could not move: none, draft, reader, no room */
};
void tuner_facts(const struct tuner *, struct tune_facts *);
#endif
