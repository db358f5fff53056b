/* The tuner: a background thread that moves pages, decides when to (automove), sweeps and crawls
 * for expired items.
 *
 * A decision is a pure function of two snapshots (tune/snapshot.h, tune/policies/automove.h).
 * Requests come from any thread; the work is done on the tuner's thread, but for what a second one
 * copies while the first waits (tune/pages/pace.h): through one cache_thread. */
#ifndef SLATE_TUNE_TUNE_H
#define SLATE_TUNE_TUNE_H
#include <stdbool.h>
#include <stdint.h>

#include "base/asked.h"
#include "cache/cache.h"
#include "tune/policies/automove.h"
#include "tune/geometry/geometry.h"

struct tune_config {
    const char *automove;    /* a mode's name or number (tune/policies/automove.h); NULL: off */
    const char *policy_dir;  /* of policies in Lua; NULL: none */
    /* Called on the tuner's thread, no lock held, when a mode failed and `now`, the one before or
     * off, took its place; may be NULL. */
    void      (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void       *on_failure_arg;
    double   ratio;          /* slab_automove_ratio */
    unsigned window_s;       /* slab_automove_window */
    bool     reassign;       /* slab_reassign: false: no page ever moves */
    bool     sweeps;         /* lru_maintainer: what is dead is freed each second */
    bool     crawler;        /* lru_crawler */
    uint32_t crawler_sleep_us, crawler_tocrawl;
    double   geometry_rate_pct; /* slab_geometry_rate */
    bool     geometry_auto;     /* slab_geometry_auto */
    double   sample_rate;       /* as of whatif_set */
    bool     sample_follow;
    unsigned worker_count;      /* threads whose keys may be sampled, beside the tuner's own */
    const char *record; /* automove_record: a file, see tune/shown.h; NULL: none */
    bool     rests;   /* from the start, until tuner_go_on */
    bool     by_hand; /* no thread is started: nothing happens but in tuner_tend_at */
};

struct tuner;
/* starts the threads; NULL and errno */
struct tuner *tuner_create(struct cache *, const struct tune_config *);
void          tuner_destroy(struct tuner **);                            /* stops and joins them */

/* Has the thread do nothing from its next step on, which is waited for, `most_us` at most. False:
 * it did not come to that, and goes on. While it rests no page is half moved. One caller; a page's
 * move at hand ends before, an order of some goes on after. */
bool tuner_rest(struct tuner *, uint64_t most_us);
void tuner_go_on(struct tuner *);

/* For a tuner by hand: decides what is due at `now_us`, which is not 0 and never goes back, and
 * does it. Outside a turn, on one thread. Expired items are not looked for, and chunk sizes
 * stay. */
void tuner_tend_at(struct tuner *, uint64_t now_us);

enum tune_status { TUNE_OK, TUNE_BUSY, TUNE_BAD_CLASS, TUNE_NO_SPARE, TUNE_SAME, TUNE_DISABLED };
/* Queues the move of `pages` pages; from -1: the tuner chooses; to 0: the pool. Returns at once. */
enum tune_status tuner_reassign(struct tuner *, int from_class, int to_class, unsigned pages);

/* Ends the request that is under way: the page being emptied goes back, those that are empty
 * already change hands. Waits for that, outside a turn: until the next step of the mover's job has
 * seen it, a chunk or a kilobyte of them later and at most its nap (see tune/pages/pace.h), and for
 * the workers' turns when pages change hands. False: there is none. `moved` of `wanted` pages had
 * moved. */
bool tuner_cancel(struct tuner *, unsigned *moved, unsigned *wanted);

/* By name or number. False: there is no such mode. When one cannot start, or fails later, the mode
 * that ran before takes its place, or off, and on_failure is told: try it first. */
bool tuner_set_automove(struct tuner *, const char *name);
/* as automove_spell has it */
void tuner_automove(struct tuner *, char to[AUTOMOVE_NAME_BYTES]);
bool tuner_set_ratio(struct tuner *, double ratio);       /* false: out of range */
bool tuner_set_window(struct tuner *, unsigned window_s); /* false: not 3..1800 */

/* Whether a mode would start, tried on the tuner's thread, where alone a policy's code runs. */
struct automove_trial {
    struct asked asked;
    char         name[AUTOMOVE_NAME_BYTES];
    bool         starts;            /* once it is answered; */
    char         why[REASON_BYTES]; /* if not, why */
};
struct automove_trial *automove_trial_create(const char *name); /* NULL: out of memory */
/* by whoever created it; also before it is answered */
void automove_trial_release(struct automove_trial **);
/* Hands it over, keeping the caller's hold; false: another waits for its answer. Waits for
 * nobody. */
bool tuner_try_automove(struct tuner *, struct automove_trial *);

/* Hands an order to the tuner's thread (tune/geometry/geometry.h); false: another waits for its
 * answer. */
bool tuner_order_geometry(struct tuner *, struct geometry_order *);
void tuner_set_geometry_rate(struct tuner *, double rate_pct);
void tuner_set_geometry_auto(struct tuner *, bool on);
void tuner_geometry(struct tuner *, struct geometry_facts *);

/* What the sampled keys tell, and whether the policy follows it (tune/whatif/whatif.h). */
struct whatif;
void           tuner_set_sampling(struct tuner *, double rate, bool follow);
void           tuner_samples_give_way(struct tuner *, bool); /* whatif_give_way, soon */
struct whatif *tuner_whatif(struct tuner *);

enum crawl_status { CRAWL_OK, CRAWL_BUSY, CRAWL_BAD_CLASS, CRAWL_NOT_STARTED };
/* now; frees expired items of these classes */
enum crawl_status tuner_crawl(struct tuner *, const struct class_set *);
void tuner_set_crawler(struct tuner *, bool enabled, uint32_t sleep_us, uint32_t tocrawl);

struct tune_facts {
    double   ratio;
    unsigned window_s;
    bool     reassign, crawler, crawling;
    bool     moving; /* pages are on the move, or a request is not done yet */
    uint32_t crawler_sleep_us, crawler_tocrawl;
    uint32_t pages_over; /* that are still to be given back after the memory limit was lowered */
    uint64_t pages_moved, rescues, chunk_rescues, inline_reclaim, busy_items, busy_deletes,
        busy_nomem, evictions_by_move, moves_given_up, crawler_starts;
    const char *last_busy; /* why the last chunk could not move: none, draft, reader, no room */
};
void tuner_facts(struct tuner *, struct tune_facts *);

struct tune_words {
    char mode[AUTOMOVE_NAME_BYTES]; /* by name */
    char why[REASON_BYTES];         /* the last decision */
    char state[REASON_BYTES];       /* what the mode says of itself; may be empty */
    /* the mode that failed last, and why; empty: none since a mode was set */
    char failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
};
void tuner_words(struct tuner *, struct tune_words *);

/* What pages are worth, as of the last window of a mode that weighs them. */
struct tune_worth {
    bool     known;       /* false: no such mode runs, or its first window has not ended */
    uint64_t requests;    /* since the cache began, at its end */
    unsigned class_count; /* classes 1 to class_count */
    uint32_t pages[SLAB_CLASSES_MAX];
    struct page_worth classes[SLAB_CLASSES_MAX];
};
void tuner_worth(struct tuner *, struct tune_worth *);

struct move_log;
struct move_log *tuner_moves(struct tuner *); /* the last moves: tune/pages/moves.h */
#endif
