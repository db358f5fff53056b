#include "tune/pages/empty.h"

#include <time.h>

#include "base/clock.h"

enum {
    REST_MAX_US = 200, /* the longest rest after a turn */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
};

static bool empty_some(void *arg) {
    struct emptying *e = arg;
    bool more = cache_page_pass(e->take, PACE_STEP_BYTES, e->chunk, e->arg);
    uint64_t rest_us = e->job.rest_us + e->rest_us * e->take->bytes_passed / PAGE_BYTES;
    e->job.rest_us = rest_us < REST_MAX_US ? rest_us : REST_MAX_US;
    return more &&
           (e->cancel == NULL || !atomic_load_explicit(e->cancel, memory_order_relaxed));
}

bool emptying_pass(struct emptying *e) {
    e->job = (struct pace_job){.ct = e->take->ct, .step = empty_some, .arg = e};
    pace_run(e->pace, &e->job);
    return cache_page_emptied(e->take);
}

bool emptying_again(struct emptying *e, bool rest) {
    uint64_t now_us = clock_mono_us();
    if (e->give_up_us == 0) {
        e->give_up_us = now_us + EMPTY_PATIENCE_US;
    } else if (now_us >= e->give_up_us) {
        return false;
    }
    e->backoff_us = e->backoff_us > BACKOFF_MIN_US ? e->backoff_us : BACKOFF_MIN_US;
    if (rest) {
        struct timespec t = {.tv_nsec = (long)e->backoff_us * 1000};
        nanosleep(&t, NULL);
    }
    e->backoff_us = e->backoff_us * 2 < BACKOFF_MAX_US ? e->backoff_us * 2 : BACKOFF_MAX_US;
    return true;
}
