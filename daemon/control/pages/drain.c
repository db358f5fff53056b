#include "control/pages/drain.h"

enum {
    NAP_MAX_US = 200, /* the longest pause after a turn */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
};

static bool drain_pick(void *arg, uint64_t now_us) {
    struct picked *p = arg;
    (void)now_us;
    p->count = cache_choose_pages(p->job.ct, p->class_id, p->pick, p->pages, CACHE_CHOOSE_MAX);
    return false;
}

void drain_pick_begin(struct picked *p, struct pace *pace, struct cache_thread *ct,
                      unsigned class_id, enum page_pick how, uint64_t now_us) {
    p->job = (struct pace_job){.ct = ct, .step = drain_pick, .arg = p};
    p->class_id = class_id;
    p->pick = how;
    p->count = 0;
    pace_begin(pace, &p->job, now_us);
}

bool drain_page_is_held(struct cache *c, uint32_t page) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(cache_slab(c), page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes > ITEM_COPY_MAX && cache_page_in_use(c, page);
}

static bool drain_is_cancelled(const struct drain *d) {
    return atomic_load_explicit(&d->cancelled, memory_order_relaxed);
}

/* True: chunks of this pass are left. */
static bool drain_run_some(void *arg, uint64_t now_us) {
    struct drain *d = arg;
    d->driver.now_us = now_us;
    page_move_step(d->page, &d->driver);
    uint64_t nap_us = d->job.nap_us + d->nap_us * d->page->scanned_bytes / PAGE_BYTES;
    d->job.nap_us = nap_us < NAP_MAX_US ? nap_us : NAP_MAX_US;
    return d->page->state == PAGE_MOVE_EMPTYING && d->page->at > 0 && !drain_is_cancelled(d);
}

void drain_begin(struct drain *d, uint64_t now_us) {
    d->driver.step_bytes = PACE_STEP_BYTES;
    d->driver.wait_us = PAGE_WAIT_US;
    d->driver.did = (struct page_counts){0};
    d->job = (struct pace_job){.ct = d->driver.ct, .step = drain_run_some, .arg = d};
    d->due_us = 0;
    d->backoff_us = BACKOFF_MIN_US;
    atomic_store_explicit(&d->cancelled, false, memory_order_relaxed);
    if (d->page->state == PAGE_MOVE_EMPTYING) {
        pace_begin(d->pace, &d->job, now_us);
    }
}

uint64_t drain_step(struct drain *d, uint64_t now_us) {
    if (!pace_job_done(&d->job)) {
        return PACE_NEVER;
    }
    if (d->page->state != PAGE_MOVE_EMPTYING) {
        return PACE_DONE;
    }
    if (drain_is_cancelled(d)) {
        page_move_put_back(d->page, d->driver.ct);
        return PACE_DONE;
    }
    if (d->due_us == 0) { /* a pass has ended and left items */
        d->due_us = now_us + d->backoff_us;
        d->backoff_us = d->backoff_us < BACKOFF_MAX_US / 2 ? d->backoff_us * 2 : BACKOFF_MAX_US;
    }
    if (now_us < d->due_us) {
        return d->due_us;
    }
    if (d->may_go_on != NULL && !d->may_go_on(d->driver.arg)) {
        page_move_put_back(d->page, d->driver.ct);
        return PACE_DONE;
    }
    d->due_us = 0;
    pace_begin(d->pace, &d->job, now_us);
    return PACE_NEVER;
}

void drain_cancel(struct drain *d) {
    atomic_store_explicit(&d->cancelled, true, memory_order_relaxed);
}
