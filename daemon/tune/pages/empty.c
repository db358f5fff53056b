#include "tune/pages/empty.h"

#include <time.h>

enum {
    REST_MAX_US = 200, /* the longest rest after a turn */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
};

struct passing {
    const struct emptying *e;
    struct page_driver     driver;
    struct pace_job        job;
};

static bool cancelled(const struct emptying *e) {
    return e->cancel != NULL && atomic_load_explicit(e->cancel, memory_order_relaxed);
}

/* True: chunks of this pass are left. */
static bool empty_some(void *arg) {
    struct passing *p = arg;
    const struct emptying *e = p->e;
    page_move_step(e->page, &p->driver);
    uint64_t rest_us = p->job.rest_us + e->rest_us * e->page->passed_bytes / PAGE_BYTES;
    p->job.rest_us = rest_us < REST_MAX_US ? rest_us : REST_MAX_US;
    return e->page->state == PAGE_MOVE_EMPTYING && e->page->at > 0 && !cancelled(e);
}

bool emptying_run(struct emptying *e) {
    struct passing p = {.e = e,
                        .driver = {.ct = e->ct,
                                   .step_bytes = PACE_STEP_BYTES,
                                   .patience_us = PAGE_PATIENCE_US,
                                   .chunk = e->chunk,
                                   .arg = e->arg}};
    struct timespec backoff = {.tv_nsec = BACKOFF_MIN_US * 1000};
    while (e->page->state == PAGE_MOVE_EMPTYING) {
        p.job = (struct pace_job){.ct = e->ct, .step = empty_some, .arg = &p};
        pace_run(e->pace, &p.job);
        if (e->page->state == PAGE_MOVE_EMPTYING && (cancelled(e) || !e->again(e->arg))) {
            page_move_put_back(e->page, e->ct);
        } else if (e->page->state == PAGE_MOVE_EMPTYING) {
            nanosleep(&backoff, NULL);
            backoff.tv_nsec =
                backoff.tv_nsec < BACKOFF_MAX_US * 1000 / 2 ? backoff.tv_nsec * 2
                                                            : BACKOFF_MAX_US * 1000;
        }
    }
    return e->page->state == PAGE_MOVE_EMPTIED;
}
