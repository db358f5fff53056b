#include "tune/pages/empty.h"

#include <time.h>

#include "base/clock.h"

enum {
    REST_MAX_US = 200, /* after a turn */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
};

void emptying_begin(struct emptying *e) {
    const struct page *page = slab_page(cache_slab(e->cache), e->page);
    e->chunk_bytes = atomic_load_explicit(&page->chunk_bytes, memory_order_relaxed);
    e->backoff_us = BACKOFF_MIN_US;
    cache_turn_begin(e->ct);
    cache_drain_stocks(e->ct, e->page);
    cache_turn_end(e->ct);
}

static bool chunks_left(const struct emptying *e) {
    return slab_page_chunk(cache_slab(e->cache), e->page, e->at) != NULL;
}

static bool empty_some(void *arg) {
    struct emptying *e = arg;
    uint32_t bytes = 0;
    for (; bytes < PACE_STEP_BYTES && chunks_left(e); e->at++) {
        bytes += e->chunk_bytes * e->chunk(e->arg, e->at);
    }
    uint64_t rest_us = e->job.rest_us + e->rest_us * bytes / PAGE_BYTES;
    e->job.rest_us = rest_us < REST_MAX_US ? rest_us : REST_MAX_US;
    return chunks_left(e) &&
           (e->cancel == NULL || !atomic_load_explicit(e->cancel, memory_order_relaxed));
}

bool emptying_pass(struct emptying *e) {
    e->at = 0;
    e->job = (struct pace_job){.ct = e->ct, .step = empty_some, .arg = e};
    pace_run(e->pace, &e->job);
    return slab_drain_empty(cache_slab(e->cache), e->page);
}

bool emptying_again(struct emptying *e, bool rest) {
    uint64_t now_us = clock_mono_us();
    if (e->give_up_us == 0) {
        e->give_up_us = now_us + EMPTY_PATIENCE_US;
    } else if (now_us >= e->give_up_us) {
        return false;
    }
    if (rest) {
        struct timespec t = {.tv_nsec = (long)e->backoff_us * 1000};
        nanosleep(&t, NULL);
    }
    e->backoff_us = e->backoff_us * 2 < BACKOFF_MAX_US ? e->backoff_us * 2 : BACKOFF_MAX_US;
    return true;
}
