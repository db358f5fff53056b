/* The tuner: a background thread that moves pages, decides when to (automove), sweeps and crawls
 * for expired items.
 *
 * A decision is a pure function of two snapshots (control/snapshot.h, control/automove/automove.h).
 * Threading: functions that return facts are for any thread; all others are for the control
 * thread, within an order (control/control.h). That thread does the work, except the jobs of the
 * pace, which a second thread does meanwhile (control/pages/pace.h). */
#ifndef SLATE_CONTROL_TUNER_H
#define SLATE_CONTROL_TUNER_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "control/automove/automove.h"
#include "control/control.h"
#include "control/geometry/geometry.h"
#include "control/sampling/policy_auto.h"

/* Settings that may change while the tuner runs: its tasks read them at their next slice. */
struct tuner_settings {
    double   automove_ratio;
    unsigned automove_window_s;
    bool     crawler; /* lru_crawler */
    uint32_t crawler_sleep_us, crawler_tocrawl;
    double   sample_rate; /* as of whatif_set */
    bool sample_follow;
    struct geometry_settings geometry;
};

struct tuner_config {
    struct tuner_settings settings;
    const char *automove;    /* a mode's name or number (control/automove/automove.h); NULL: off */
    const char *policy_dir;  /* of policies in Lua; NULL: none */
    /* Called on the tuner's thread, no lock held, when a mode failed and `now` runs in its place:
     * the previous mode, or off. May be NULL. */
    void      (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void       *on_failure_arg;
    /* Called on the same thread when the hit ratio after a change is known. `words` compare that
     * ratio with the predicted one (control/sampling/prediction.h). */
    void      (*on_prediction)(void *, const char *words);
    void       *on_prediction_arg;
    /* Called on the same thread when the chunk sizes begin to change without an order
     * (geometry_on_own_change). */
    void      (*on_own_sizes)(void *, const char *was, const char *is);
    void       *on_own_sizes_arg;
    bool     reassign;       /* slab_reassign: false: no page ever moves */
    bool     sweeps;         /* lru_maintainer: dead items are freed each second */
    unsigned worker_count;      /* threads whose keys may be sampled, beside the tuner's own */
    const char *record; /* automove_record: a file, see automove_trace.h; NULL: none */
    bool     by_hand; /* no thread is started: all work is done in tuner_tend_at */
};

struct tuner;
/* Starts the threads; NULL and errno. */
struct tuner *tuner_create(struct cache *, const struct tuner_config *);
void          tuner_destroy(struct tuner **);                            /* stops and joins them */
struct control *tuner_control(struct tuner *); /* any thread */

/* For a tuner without a thread: does all work that is due at `now_us`, but sweeps and crawls.
 * Returns when work is due again; UINT64_MAX: after the next order. `now_us` is not 0 and never
 * goes back. Outside a turn, on one thread. */
uint64_t tuner_tend_at(struct tuner *, uint64_t now_us);

enum tuner_status { TUNER_OK, TUNER_BUSY, TUNER_BAD_CLASS, TUNER_NO_SPARE, TUNER_SAME, TUNER_OFF };
/* Begins to move `pages` pages. From -1: the tuner chooses the class. To 0: the pool. */
enum tuner_status tuner_reassign(struct tuner *, int from_class, int to_class, unsigned pages);

/* Ends the request that is under way. `done` is called, at once or later, when the page that is
 * being emptied is back and the empty pages have changed hands. False: no request is under way. */
bool tuner_cancel(struct tuner *, void (*done)(void *arg, unsigned moved, unsigned wanted),
                  void *arg);

void tuner_set(struct tuner *, const struct tuner_settings *);
/* Runs the mode, by name or number. False: there is no such mode. If the mode cannot start, or
 * fails later, the previous mode or off runs in its place, and on_failure is called: try the mode
 * first (automove_trial). */
bool tuner_set_automove(struct tuner *, const char *name);

/* A trial: whether a mode would start. A policy's code runs in a thread of its own. A stop of the
 * server does not wait for that code: the answer then says that the server stops. */
struct automove_trial {
    char name[AUTOMOVE_NAME_BYTES];
    void (*done)(struct automove_trial *); /* called with the answer filled in */
    bool starts;
    char why[REASON_BYTES]; /* why the mode would not start */
};
/* Tries a mode. The trial belongs to the tuner until `done` is called, at once or later. False:
 * another trial is under way. */
bool tuner_try_automove(struct tuner *, struct automove_trial *);

/* Hands over an order (control/geometry/geometry.h). False: another order waits. */
bool tuner_order_geometry(struct tuner *, struct geometry_order *);
void tuner_geometry(struct tuner *, struct geometry_facts *);

/* Curves and miniatures of the sampled keys (control/sampling/whatif.h). */
struct whatif;
struct whatif *tuner_whatif(struct tuner *);

enum crawl_status { CRAWL_OK, CRAWL_BUSY, CRAWL_BAD_CLASS, CRAWL_NOT_STARTED };
/* Starts a crawl now: frees expired items of these classes. */
enum crawl_status tuner_crawl(struct tuner *, const struct class_set *);

struct tuner_facts {
    bool     crawling;
    bool     moving; /* pages are on the move, or a request is not done yet */
    /* pages still to be given back after the memory limit was lowered */
    uint32_t pages_over;
    const char *over_why; /* why the last search for such a page found none; NULL: it found one */
    uint64_t crawler_starts;
    struct move_result moved; /* by all moves but those of sets with nothing left */
};
void tuner_facts(struct tuner *, struct tuner_facts *);

struct tuner_words {
    char mode[AUTOMOVE_NAME_BYTES]; /* by name */
    char why[REASON_BYTES];         /* the reason of the last decision */
    char state[REASON_BYTES];       /* the mode's own description; may be empty */
    /* the mode that failed last, and why; empty: none failed since a mode was set */
    char failed[2 * AUTOMOVE_NAME_BYTES + REASON_BYTES];
};
void tuner_words(struct tuner *, struct tuner_words *);

/* The worth of pages at the end of the last window of a mode that weighs pages. */
struct tuner_worth {
    bool     known; /* false: no mode that weighs pages runs, or its first window has not ended */
    uint64_t requests;    /* from the start of the cache to the end of the window */
    unsigned class_count; /* classes 1 to class_count */
    uint32_t pages[SLAB_CLASSES_MAX];
    struct page_worth classes[SLAB_CLASSES_MAX];
};
void tuner_worth(struct tuner *, struct tuner_worth *);

struct move_log;
struct move_log *tuner_moves(struct tuner *); /* the last moves: control/pages/move_log.h */
#endif
