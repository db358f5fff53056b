/* The tuner's insides, for the files of this folder only. */
#ifndef SLATE_CONTROL_TUNER_STATE_H
#define SLATE_CONTROL_TUNER_STATE_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "control/automove/active.h"
#include "control/automove/automove_trace.h"
#include "control/control.h"
#include "control/pages/choose_class.h"
#include "control/pages/mover.h"
#include "control/pages/move_log.h"
#include "control/geometry/geometry.h"
#include "control/sampling/whatif.h"
#include "control/snapshot.h"
#include "control/sweep/crawler.h"
#include "control/sweep/sweeper.h"
#include "control/tuner.h"

/* A `slabs reassign` that is under way. */
struct reassignment {
    int      from, to;
    unsigned wanted; /* pages */
    unsigned moved;
    bool     runs;   /* pages are still to be moved */
    bool     served; /* pages of the request are on the move */
    /* called once these pages have moved or are back; NULL: no cancel waits */
    void   (*cancelled)(void *arg, unsigned moved, unsigned wanted);
    void    *cancelled_arg;
};

/* A mode with its argument. */
struct automove_name {
    const struct automove_mode *mode; /* NULL: none */
    char argument[AUTOMOVE_NAME_BYTES];
};

/* The move in progress: its source, and the name in the log. */
struct current_move {
    const struct move_source *source; /* NULL: no move is in progress */
    unsigned          turn; /* the source that comes next */
    /* any: the class with pages to spare gives them, but none of `except` */
    bool              any, choosing;
    bool              cancelled;
    struct class_set  except;
    struct page_move  move;
    char              by[2 * AUTOMOVE_NAME_BYTES];
    struct class_choice class_choice;
};

/* Memory of the heap store that goes back to the system. */
struct heap_shrink {
    struct cache_shrink *shrink; /* NULL: no memory goes back */
    enum { HEAP_EVICTS, HEAP_WAITS, HEAP_GIVES } state;
    struct pace_job      job;
    uint64_t             turns[THREADS_MAX], until_us;
};

enum { TUNER_TASKS = 6 };

/* When sets have emptied nothing for this long, they need no more pages. */
enum { ASSIST_IDLE_US = 20 * 1000 };

struct tuner {
    struct cache        *cache;
    struct cache_thread *ct;
    struct cache_thread *pages_ct; /* for jobs of the pace, on either thread */
    struct control       control;
    struct control_task  tasks[TUNER_TASKS];
    pthread_t            thread;
    bool                 started;
    bool                 by_hand; /* there is no thread: the owner calls tuner_tend_at */
    bool                 reassign;
    const char          *policy_dir;
    struct automove_trace
        *automove_trace;           /* records what policies in Lua see; NULL: nothing is recorded */
    uint64_t             epoch_us; /* of snapshots */
    void               (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void                *on_failure_arg;

    _Atomic bool         moving, requested;
    struct lock          lock; /* over words and worth, which other threads read */
    struct tuner_words    words;
    struct tuner_worth    worth;
    struct move_log      moves; /* has a lock of its own */

    /* What follows belongs to the control thread. */
    struct tuner_settings settings;
    struct reassignment request;
    struct class_set   crawl_classes; /* classes of a crawl that was ordered; none: no crawl */
    struct automove_trial *trial;     /* the trial that waits for its answer; NULL: none */
    struct pace        pace;
    struct mover       mover;
    struct current_move     current_move;
    struct geometry_change *geometry; /* other threads read its facts under its own lock */
    struct whatif     *whatif;        /* has a lock of its own, too */
    struct crawler     crawler;
    struct sweeper     sweeper;
    uint32_t flushed_s; /* cache_flushed_s when the crawler last began because of a flush */
    struct active_mode active;
    struct lua_call   *trying; /* the policy's call that answers the trial; NULL: none */
    struct automove_name last; /* the previous mode: it runs again when today's mode fails */
    /* the snapshot of the window's start (no classes: there is none), and of the last decision at
     * need */
    struct snapshot    before, now;
    struct class_curve *curves;     /* by class id; made for the first mode that wants them */
    uint32_t           limit_seen;    /* the limit in pages, as of the last step */
    /* the limit was higher once, and there are still pages over it */
    bool               limit_lowered;
    struct class_set   limit_emptied; /* classes that gave their last page since it was lowered */
    struct class_set   left_free;    /* classes that may have empty pages */
    bool               limit_last;    /* the next page may be a class's last */
    /* the next search for pages over the limit, after one found none */
    uint64_t           limit_retry_us;
    _Atomic(const char *) limit_why; /* as of tuner_facts.over_why; any thread reads it */
    struct heap_shrink heap_shrink;
    /* the decision that is carried out: its next move, the pages that have moved, whether the
     * decision was made at need, and whether a move is under way */
    struct decision    decision;
    unsigned           decided_at, decided_moved;
    bool               decided_at_need, decided_moves;
    /* when the window ends; when the ages were last read; the earliest next decision at need */
    uint64_t           window_us, ages_us, need_retry_us;
    /* cache_assist_state.bytes at the last step; when sets are done if it does not change */
    uint64_t           assist_bytes, assist_until_us;
    /* the last move that sets may continue, its name in the log, and when the move ended */
    struct page_move   assisted;
    char               assisted_by[2 * AUTOMOVE_NAME_BYTES];
    uint64_t           assist_begun_us;
};

/* For callbacks of any thread. */
static inline void tuner_wake(void *tuner) { control_wake(&((struct tuner *)tuner)->control); }
/* The move that is under way ends soon. */
static inline void moves_cancel(struct tuner *t) { t->current_move.cancelled = true; }

/* --- run_moves.c --- */
/* Does a slice of each work on pages. Returns when to call it again, as of control/pages/pace.h. */
uint64_t moves_step_all(struct tuner *, uint64_t now_us);
void     moves_stop(struct tuner *); /* puts back pages that are on the move; no thread runs */

/* --- requests.c: moves that an operator asks for --- */
bool request_next_move(struct tuner *, struct current_move *, uint64_t now_us, uint64_t *due_us);
void     request_describe_move(struct tuner *, struct current_move *);
void request_move_ended(struct tuner *, const struct current_move *, unsigned moved,
                        uint64_t now_us);
void     request_end(struct tuner *); /* answers a cancel that waits */

/* --- trial.c --- */
void trial_serve(struct tuner *); /* answers the trial once the policy's code has run */
/* Answers the trial now; the answer is `why` if the policy's code still runs. */
void trial_refuse(struct tuner *, const char *why);

/* --- shrink_to_limit.c: pages over a limit that was lowered, which go back to the system --- */
uint32_t limit_pages_over(const struct tuner *); /* any thread */
bool limit_next_move(struct tuner *, struct current_move *, uint64_t now_us, uint64_t *due_us);
unsigned limit_pages_wanted(struct tuner *);
void limit_move_ended(struct tuner *, const struct current_move *, unsigned moved, uint64_t now_us);
uint64_t shrink_heap_step(struct tuner *, uint64_t now_us); /* as of control/pages/pace.h */

/* --- decide.c --- */
bool     decide_next_move(struct tuner *, struct current_move *, uint64_t now_us, uint64_t *due_us);
void decide_move_ended(struct tuner *, const struct current_move *, unsigned moved,
                       uint64_t now_us);
#endif
