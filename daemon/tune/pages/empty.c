#include "tune/pages/empty.h"

#include <time.h>

enum {
    REST_MAX_US = 200, /* the longest rest after a turn */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
};

struct picking {
    struct cache_thread *ct;
    unsigned             class_id;
    enum page_pick       pick;
    uint32_t            *pages;
    unsigned             count;
};

static bool pick(void *arg) {
    struct picking *p = arg;
    p->count = cache_spare_pages(p->ct, p->class_id, p->pick, p->pages, CACHE_SPARE_MAX);
    return false;
}

unsigned pick_pages(struct pace *pace, struct cache_thread *ct, unsigned class_id,
                    enum page_pick how, uint32_t pages[CACHE_SPARE_MAX]) {
    struct picking picking = {ct, class_id, how, pages, 0};
    struct pace_job job = {.ct = ct, .step = pick, .arg = &picking};
    pace_run(pace, &job);
    return picking.count;
}

bool page_is_held(struct cache *c, uint32_t page) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(cache_slab(c), page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes > ITEM_COPY_MAX && cache_page_in_use(c, page);
}

static bool cancelled(const struct emptying *e) {
    return e->cancel != NULL && atomic_load_explicit(e->cancel, memory_order_relaxed);
}

struct passing {
    struct emptying *e;
    struct pace_job  job;
};

/* True: chunks of this pass are left. */
static bool empty_some(void *arg) {
    struct passing *p = arg;
    struct emptying *e = p->e;
    page_move_step(e->page, &e->driver);
    uint64_t rest_us = p->job.rest_us + e->rest_us * e->page->passed_bytes / PAGE_BYTES;
    p->job.rest_us = rest_us < REST_MAX_US ? rest_us : REST_MAX_US;
    return e->page->state == PAGE_MOVE_EMPTYING && e->page->at > 0 && !cancelled(e);
}

bool emptying_run(struct emptying *e) {
    struct passing p = {.e = e};
    struct timespec backoff = {.tv_nsec = BACKOFF_MIN_US * 1000};
    e->driver.step_bytes = PACE_STEP_BYTES;
    e->driver.patience_us = PAGE_PATIENCE_US;
    while (e->page->state == PAGE_MOVE_EMPTYING) {
        p.job = (struct pace_job){.ct = e->driver.ct, .step = empty_some, .arg = &p};
        pace_run(e->pace, &p.job);
        if (e->page->state == PAGE_MOVE_EMPTYING && (cancelled(e) || !e->again(e->driver.arg))) {
            page_move_put_back(e->page, e->driver.ct);
        } else if (e->page->state == PAGE_MOVE_EMPTYING) {
            nanosleep(&backoff, NULL);
            backoff.tv_nsec =
                backoff.tv_nsec < BACKOFF_MAX_US * 1000 / 2 ? backoff.tv_nsec * 2
                                                            : BACKOFF_MAX_US * 1000;
        }
    }
    return e->page->state == PAGE_MOVE_EMPTIED;
}
