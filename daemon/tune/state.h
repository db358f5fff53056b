/* The tuner's insides, for the files of this folder only. */
#ifndef SLATE_TUNE_STATE_H
#define SLATE_TUNE_STATE_H
#include <pthread.h>
#include <stdatomic.h>

#include "base/lock.h"
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
    bool     runs;   /* not all of it is done yet */
    bool     served; /* some of its pages are on the move */
};

/* The mode and the settings of automove that operators want. */
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

enum { HELP_IDLE_US = 20 * 1000 }; /* sets that did nothing for so long need no more pages */

struct tuner {
    struct cache        *cache;
    struct cache_thread *ct;
    pthread_t            thread;
    int                  wake_fd;
    bool                 started;
    bool                 by_hand; /* there is no thread: somebody calls tuner_tend_at, at hand_us */
    uint64_t             hand_us;
    bool                 reassign;
    const char          *policy_dir;
    struct shown        *shown;    /* records what policies in Lua see; NULL: nothing is recorded */
    uint64_t             epoch_us; /* of snapshots */
    void               (*on_failure)(void *, const char *mode, const char *now, const char *why);
    void                *on_failure_arg;

    _Atomic bool     crawler_on;
    _Atomic uint32_t crawler_sleep_us, crawler_tocrawl;
    _Atomic bool     stop;
    _Atomic bool     moving;

    /* over what follows: other threads ask and look, the tuner's thread answers */
    struct lock          lock;
    struct reassignment       request;
    struct class_set     crawl_classes; /* classes that a crawl was asked for; none: no crawl */
    struct automove_wish wish;
    struct automove_trial *trial; /* waits for its answer; NULL: none */
    struct tune_words    words;
    struct tune_worth    worth;
    struct move_log      moves; /* has a lock of its own */

    /* What follows belongs to the tuner's thread. */
    struct mover       mover;
    struct pace        pace;
    struct geometry_change *geometry; /* others ask it under its own lock */
    struct whatif     *whatif;        /* likewise */
    struct crawler     crawler;
    struct sweeper     sweeper;
    uint32_t           flushed; /* cache_flushed when the crawler last began because of a flush */
    struct active_mode active;
    struct lua_call   *trying; /* the call that will answer the trial; NULL: none is under way */
    struct automove_name last; /* the mode that ran before, which runs again if this one fails */
    /* the version of the wish that runs. Other threads see by it whether the mode that they asked
     * for runs */
    _Atomic unsigned   adopted;
    /* of the window's start (no classes: there is none); of the last decision at need */
    struct snapshot    before, now;
    struct class_curve *curves;     /* by class id; made for the first mode that wants them */
    uint32_t           limit_seen;    /* the limit in pages at the last look */
    /* the limit was higher once, and there are still pages over it */
    bool               limit_lowered;
    struct class_set   limit_emptied; /* classes that gave their last page since it was lowered */
    struct class_set   whole_later;   /* classes with whole pages left free that have to wait */
    /* when to look again for pages over the limit, after none could be had */
    uint64_t           limit_rest_us;
    /* when the window ends; when ages were read; when to look at hunger again */
    uint64_t           window_us, ages_us, hunger_rest_us;
    /* bytes that sets had gone over at the last look, and when they count as done */
    uint64_t           help_bytes, help_until_us;
    /* the last move that sets may go on with, who wanted it, and when it ended */
    struct page_move   helped;
    char               helped_by[2 * AUTOMOVE_NAME_BYTES];
    uint64_t           helped_us;
};

/* --- wake.c --- */
void     tuner_wake(void *tuner); /* any thread */
/* The monotonic clock, or the time that tuner_tend_at was called with. */
uint64_t tuner_now_us(const struct tuner *);
/* Whether somebody waits for an answer, or for another mode, rather than for pages. */
bool     tuner_is_asked(void *tuner);
/* Whether the mode that was asked for does not run yet. Until it does, the words are those of the
 * mode before. */
bool     tuner_waits_for_mode_locked(const struct tuner *);

/* --- facts.c --- */
void tuner_forget_words(struct tune_words *); /* removes what the mode before decided and said */

/* --- carry.c --- */
/* Carries out a move and logs it under the name of who wanted it. Returns how many pages moved. */
unsigned tuner_move(struct tuner *, const char *by, const struct page_move *);
/* Logs what sets have done with a move after it had ended. */
void     tuner_count_help(struct tuner *);

/* --- requests.c --- */
void tuner_serve_request(struct tuner *); /* moves a few pages of it */
bool tuner_request_waits(struct tuner *);

/* --- trial.c --- */
void tuner_serve_trial(struct tuner *); /* begins the one that waits, or answers it */
/* Answers it now, with `why` if it is still under way. */
void tuner_refuse_trial(struct tuner *, const char *why);

/* --- limit.c --- */
/* Pages over a limit that was lowered; any thread. */
uint32_t tuner_pages_over(const struct tuner *);
/* Gives back a few of them; false: there is nothing to do now. */
bool     tuner_shrink(struct tuner *);

/* --- whole.c --- */
/* Gives the pages that abandoned drafts left free to the pool. True: some have to wait until a
 * worker's turn ends; call again. */
bool tuner_give_whole(struct tuner *);

/* --- decide.c --- */
void tuner_adopt(struct tuner *);         /* starts the mode that is wished for */
void tuner_decide_at_need(struct tuner *);
/* Follows a decision that came later. True: the mode has not decided yet. */
bool tuner_decides(struct tuner *);
void tuner_decide_window(struct tuner *);
#endif
