/* Finds the pages that a class is to lose, and empties one of them, as jobs of the owner's pace.
 * drain_step never waits, and returns as of pace.h. Threading: the owner's thread. */
#ifndef SLATE_CONTROL_PAGES_DRAIN_H
#define SLATE_CONTROL_PAGES_DRAIN_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cache/pages/page_moves.h"
#include "control/pages/pace.h"

/* cache_choose_pages as a job. */
struct picked {
    struct pace_job job;
    unsigned        class_id;
    enum page_pick  pick;
    unsigned        count;
    uint32_t        pages[CACHE_CHOOSE_MAX];
};
void drain_pick_begin(struct picked *, struct pace *, struct cache_thread *, unsigned class_id,
                      enum page_pick, uint64_t now_us);
/* Whether a page has a chunk that is being stored or sent, perhaps for long. Small values are in
 * use only for a moment, so a page of small chunks is never held. */
bool drain_page_is_held(struct cache *, uint32_t page);

/* The owner sets the members before `job`. */
struct drain {
    struct moving_page *page;
    struct pace        *pace;
    struct page_driver  driver; /* thread, chunk, arg; `did` counts the fates of the items */
    /* called before another pass, as the last one left items; false: the page goes back. NULL:
     * always true */
    bool              (*may_go_on)(void *arg);
    /* the time of all pauses of a pass; 0: the pace's own pauses only */
    uint64_t            nap_us;
    struct pace_job     job;
    uint64_t            due_us, backoff_us;
    _Atomic bool        cancelled;
};
void     drain_begin(struct drain *, uint64_t now_us);
/* Passes over the chunks until all are free. The pauses between passes grow. At the end the page is
 * EMPTIED, or has gone back, at the latest after PAGE_WAIT_US. */
uint64_t drain_step(struct drain *, uint64_t now_us);
void     drain_cancel(struct drain *); /* a page that is not empty yet goes back */
#endif
