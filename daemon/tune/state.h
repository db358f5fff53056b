/* The tuner's insides, for the files of this folder only. */
#ifndef SLATE_TUNE_STATE_H
#define SLATE_TUNE_STATE_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
#include "base/rest.h"
#include "tune/active.h"
#include "tune/crawl.h"
#include "tune/sweep.h"
#include "tune/geometry/geometry.h"
#include "tune/pages/mover.h"
#include "tune/pages/moves.h"
#include "tune/shown.h"
#include "tune/snapshot.h"
#include "tune/tune.h"
#include "tune/whatif/whatif.h"

/* A `slabs reassign` that was accepted. */
struct reassignment {
    int      from, to;
    unsigned wanted; /* pages */
    unsigned moved;
    bool     runs;   /* it is not done yet */
    bool     served; /* pages of it are on the move */
};

/* What automove is to be. */
struct automove_wish {
    const struct automove_mode *mode;
    char     argument[AUTOMOVE_NAME_BYTES];
    double   ratio;
    unsigned window_s;
    unsigned version; /* grows with each change */
    unsigned since;   /* the version in which the mode changed last */
};

/* A mode with its argument. */
struct automove_name {
    const struct automove_mode *mode; /* NULL: none */
    char argument[AUTOMOVE_NAME_BYTES];
};

struct tuner {
    struct cache        *cache;
    struct cache_thread *ct;
    pthread_t            thread;
    int                  wake_fd;
    bool                 started;
    bool                 by_hand; /* no thread: tuner_tend_at is called, at */
    uint64_t             hand_us;
    bool                 reassign;
    const char          *policy_dir;
    struct shown        *shown;    /* what policies in Lua see goes there; NULL: nowhere */
    uint64_t             epoch_us; /* of snapshots */
    void               (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void                *on_failure_arg;

    _Atomic bool     crawler_on;
    _Atomic uint32_t crawler_sleep_us, crawler_tocrawl;
    _Atomic bool     stop;
    _Atomic bool     moving;
    struct rest      rest;

    struct lock          lock; /* over what follows: others ask and look, the thread serves */
    struct reassignment       request;
    struct class_set     crawl_classes; /* asked for; none: no run */
    struct automove_wish wish;
    struct automove_trial *trial; /* to be answered; NULL: none */
    struct tune_words    words;
    struct tune_worth    worth;
    struct move_log      moves; /* has a lock of its own */

    /* The thread's own. */
    struct mover       mover;
    struct pace        pace;
    struct geometry_change *geometry; /* others ask it under its own lock */
    struct whatif     *whatif;        /* likewise */
    struct crawler     crawler;
    struct sweeper     sweeper;
    uint32_t           flushed; /* cache_flushed when the crawler last began because of a flush */
    struct active_mode active;
    struct automove_name last; /* that ran before it, and runs again if it fails */
    /* version of the wish; others see by it whether the mode runs that they wished for */
    _Atomic unsigned   adopted;
    struct snapshot    before, now; /* of the window's start (no classes: none); of the last need */
    struct class_curve *curves;     /* by class id, of a mode that wants them; NULL before */
    uint32_t           limit_seen;    /* pages, when the limit was last looked at */
    bool               limit_lowered; /* it was above once, and pages are still over it */
    struct class_set   limit_emptied; /* classes that gave their last page since it was lowered */
    struct class_set   whole_later;   /* classes of tuner_give_whole that have to wait */
    /* when to look again for pages over the limit that could not be had */
    uint64_t           limit_rest_us;
    /* when the window ends, when ages were read, when to look again */
    uint64_t           window_us, ages_us, hunger_rest_us;
    uint64_t           help_bytes, help_until_us; /* what sets had done at the last look */
    /* the last move that sets may go on with, who wanted it, and when it ended */
    struct page_move   helped;
    char               helped_by[2 * AUTOMOVE_NAME_BYTES];
    uint64_t           helped_us;
};

/* --- wake.c --- */
void     tuner_wake(void *tuner); /* any thread */
/* monotonic, or the time of whoever tends it by hand */
uint64_t tuner_now_us(const struct tuner *);
/* somebody waits for an answer or another mode, and not for pages */
bool     tuner_is_asked(void *tuner);

/* --- carry.c --- */
/* Carries out a move and keeps a record of it, under the name of who wanted it; returns how many
 * pages moved. */
unsigned tuner_move(struct tuner *, const char *by, const struct page_move *);
/* Keeps a record of what sets have done with a move after it had ended. */
void     tuner_count_help(struct tuner *);

/* --- requests.c --- */
void tuner_serve_request(struct tuner *); /* moves a few pages of it */
bool tuner_request_waits(struct tuner *);

/* --- trial.c --- */
void tuner_serve_trial(struct tuner *);  /* answers the one that waits */
void tuner_refuse_trial(struct tuner *); /* nobody will any more */

/* --- limit.c --- */
/* pages out beyond a limit that was lowered; any thread */
uint32_t tuner_pages_over(const struct tuner *);
/* gives back a few of them; false: there is nothing to do now */
bool     tuner_shrink(struct tuner *);

/* --- whole.c --- */
/* To the pool, pages that abandoned drafts left free. True: some have to wait until a turn of a
 * worker ends; try again. */
bool tuner_give_whole(struct tuner *);

/* --- decide.c --- */
void tuner_adopt(struct tuner *);         /* starts the mode that is wished for */
void tuner_decide_at_need(struct tuner *);
void tuner_decide_window(struct tuner *);
#endif
