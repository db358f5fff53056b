/* The tuner's insides, for the files of this folder only. */
#ifndef SLATE_CONTROL_STATE_H
#define SLATE_CONTROL_STATE_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "control/automove/active.h"
#include "control/automove/automove_trace.h"
#include "control/control.h"
#include "control/pages/choose_class.h"
#include "control/pages/mover.h"
#include "control/pages/moves.h"
#include "control/resize/resize.h"
#include "control/sampling/whatif.h"
#include "control/snapshot.h"
#include "control/sweep/crawl.h"
#include "control/sweep/sweep.h"
#include "control/tune.h"

/* A `slabs reassign` that was accepted. */
struct reassignment {
    int      from, to;
    unsigned wanted; /* pages */
    unsigned moved;
    bool     runs;   /* not all of it is done yet */
    bool     served; /* some of its pages are on the move */
    /* is called when these pages have moved or are back; NULL: it was not cancelled */
    void   (*cancelled)(void *arg, unsigned moved, unsigned wanted);
    void    *cancelled_arg;
};

/* A mode with its argument. */
struct automove_name {
    const struct automove_mode *mode; /* NULL: none */
    char argument[AUTOMOVE_NAME_BYTES];
};

/* The move that is carried out, for whom it is, and in whose name it is logged. */
struct carried {
    const struct move_source *source; /* NULL: none is */
    unsigned          turn; /* the source that is asked next */
    bool              any, choosing; /* any: whichever class can spare pages, but for `except` */
    bool              cancelled;
    struct class_set  except;
    struct page_move  move;
    char              by[2 * AUTOMOVE_NAME_BYTES];
    struct spare      spare;
};

/* Of the heap store: memory that it gives back. */
struct heap_shrink {
    struct cache_shrink *shrink; /* NULL: it gives none back now */
    enum { HEAP_EVICTS, HEAP_WAITS, HEAP_GIVES } state;
    struct pace_job      job;
    uint64_t             turns[THREADS_MAX], until_us;
};

enum { TUNER_TASKS = 6 };

enum { HELP_IDLE_US = 20 * 1000 }; /* sets that did nothing for so long need no more pages */

struct tuner {
    struct cache        *cache;
    struct cache_thread *ct;
    struct cache_thread *pages_ct; /* for jobs of the pace, on whichever thread they are done */
    struct control       control;
    struct control_task  tasks[TUNER_TASKS];
    pthread_t            thread;
    bool                 started;
    bool                 by_hand; /* there is no thread: somebody calls tuner_tend_at */
    bool                 reassign;
    const char          *policy_dir;
    struct shown        *shown;    /* records what policies in Lua see; NULL: nothing is recorded */
    uint64_t             epoch_us; /* of snapshots */
    void               (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void                *on_failure_arg;

    _Atomic bool         moving, requested;
    struct lock          lock; /* over words and worth, which other threads look at */
    struct tune_words    words;
    struct tune_worth    worth;
    struct move_log      moves; /* has a lock of its own */

    /* What follows belongs to the control thread. */
    struct tune_settings settings;
    struct reassignment request;
    struct class_set   crawl_classes; /* classes that a crawl was asked for; none: no crawl */
    struct automove_trial *trial;     /* waits for its answer; NULL: none */
    struct pace        pace;
    struct mover       mover;
    struct carried     carried;
    struct geometry_change *geometry; /* others ask it under its own lock */
    struct whatif     *whatif;        /* likewise */
    struct crawler     crawler;
    struct sweeper     sweeper;
    uint32_t           flushed; /* cache_flushed when the crawler last began because of a flush */
    struct active_mode active;
    struct lua_call   *trying; /* the call that will answer the trial; NULL: none is under way */
    struct automove_name last; /* the mode that ran before, which runs again if this one fails */
    /* of the window's start (no classes: there is none); of the last decision at need */
    struct snapshot    before, now;
    struct class_curve *curves;     /* by class id; made for the first mode that wants them */
    uint32_t           limit_seen;    /* the limit in pages at the last look */
    /* the limit was higher once, and there are still pages over it */
    bool               limit_lowered;
    struct class_set   limit_emptied; /* classes that gave their last page since it was lowered */
    struct class_set   left_free;    /* classes that may have pages to give as a whole */
    bool               limit_last;    /* the next page may be a class's last */
    /* when to look again for pages over the limit, after none could be had */
    uint64_t           limit_rest_us;
    struct heap_shrink heap_shrink;
    /* the decision that is carried out: its next move, the pages that moved, whether it was made at
     * need, and whether its move is under way */
    struct decision    decision;
    unsigned           decided_at, decided_moved;
    bool               decided_at_need, decided_moves;
    /* when the window ends; when ages were read; when to look at hunger again */
    uint64_t           window_us, ages_us, hunger_rest_us;
    /* bytes that sets had gone over at the last look, and when they count as done */
    uint64_t           help_bytes, help_until_us;
    /* the last move that sets may go on with, who wanted it, and when it ended */
    struct page_move   helped;
    char               helped_by[2 * AUTOMOVE_NAME_BYTES];
    uint64_t           helped_us;
};

/* Ends the move under way soon. */
static inline void tuner_cancel_move(struct tuner *t) { t->carried.cancelled = true; }

/* --- tuner_facts.c --- */
void     tuner_wake(void *tuner); /* any thread */

/* --- move_log.c --- */
/* Goes on with all that concerns pages, a slice of each. Returns when it is due again, as of
 * control/pages/pace.h. */
uint64_t tuner_tend_pages(struct tuner *, uint64_t now_us);
void     tuner_stop_pages(struct tuner *); /* what is on the move goes back; no thread runs */

/* --- requests.c: moves that an operator asks for --- */
bool     tuner_next_requested(struct tuner *, struct carried *, uint64_t now_us, uint64_t *due_us);
void     tuner_requested_chosen(struct tuner *, struct carried *);
void     tuner_requested_ended(struct tuner *, const struct carried *, unsigned moved,
                               uint64_t now_us);
void     tuner_end_request(struct tuner *); /* answers a cancel that waits */

/* --- trial.c --- */
void tuner_serve_trial(struct tuner *); /* answers it, once the policy's code has run */
/* Answers it now, with `why` if it is still under way. */
void tuner_refuse_trial(struct tuner *, const char *why);

/* --- shrink_to_limit.c: pages over a limit that was lowered, which go back to the system --- */
uint32_t tuner_pages_over(const struct tuner *); /* any thread */
bool     tuner_next_over_limit(struct tuner *, struct carried *, uint64_t now_us,
                               uint64_t *due_us);
unsigned tuner_wanted_over_limit(struct tuner *);
void     tuner_over_limit_ended(struct tuner *, const struct carried *, unsigned moved,
                                uint64_t now_us);
uint64_t tuner_shrink_heap(struct tuner *, uint64_t now_us); /* as of control/pages/pace.h */

/* --- reclaim_empty_pages.c: pages that abandoned drafts left free go to the pool --- */
bool     tuner_next_whole(struct tuner *, struct carried *, uint64_t now_us, uint64_t *due_us);
void     tuner_whole_ended(struct tuner *, const struct carried *, unsigned moved,
                           uint64_t now_us);

/* --- decide.c --- */
bool     tuner_next_decided(struct tuner *, struct carried *, uint64_t now_us, uint64_t *due_us);
void     tuner_decided_ended(struct tuner *, const struct carried *, unsigned moved,
                             uint64_t now_us);
#endif
