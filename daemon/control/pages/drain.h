/* Finds the pages of a class that are to leave it, and empties one, as jobs of the owner's pace.
 * Each has a step, which never waits and returns as of pace.h. Threading: the owner's thread. */
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
/* Whether something in a page is being stored or sent, and may be so for long. Small values are in
 * use only for a moment, so pages of small chunks are not looked at. */
bool drain_page_is_held(struct cache *, uint32_t page);

/* The owner sets what comes before `job`. */
struct drain {
    struct moving_page *page;
    struct pace        *pace;
    struct page_driver  driver; /* thread, chunk, arg; `did` tells what became of the items */
    /* called before another pass that follows one that left something; false: the page goes back
     * instead. NULL: always true */
    bool              (*may_go_on)(void *arg);
    /* the time that all rests of a pass take together; 0: the pace's own rests only */
    uint64_t            nap_us;
    struct pace_job     job;
    uint64_t            due_us, backoff_us;
    _Atomic bool        cancelled;
};
void     drain_begin(struct drain *, uint64_t now_us);
/* Passes over the chunks until all are free. Between two passes it rests, longer each time. At the
 * end the page is EMPTIED, or it went back, at the latest after PAGE_WAIT_US in which something
 * stayed. */
uint64_t drain_step(struct drain *, uint64_t now_us);
void     drain_cancel(struct drain *); /* the page goes back, unless it is empty by then */
#endif
