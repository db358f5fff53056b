#include "mem/join.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
    PAIR = 2, /* pages of the arena in a huge page */
    NICE = 10,
    WORK_SHARE = 5,               /* the joiner works for one part in so many of the time */
    REST_LEAST_US = 2 * 1000,
    LOOK_US = 250 * 1000,         /* rest between two walks over all pages */
    LOOK_MOST_US = 60 * 1000 * 1000, /* the longest rest, after walks that could join nothing */
};
_Static_assert(PAIR * PAGE_BYTES == 2u << 20, "a huge page");

struct joiner {
    struct arena    *arena;
    uint64_t        *joined_births; /* for each pair: the births of its pages when it was joined */
    _Atomic uint64_t joined, failed;
    pthread_t        thread;
    pthread_mutex_t  lock; /* guards the fields below */
    pthread_cond_t   wake;
    bool             stop;
};

static uint32_t birth_of(const struct arena *a, uint32_t page) {
    return atomic_load_explicit(&a->table[page].birth, memory_order_relaxed);
}
static bool is_out(const struct arena *a, uint32_t page) {
    return atomic_load_explicit(&a->table[page].state, memory_order_relaxed) != PAGE_FREE;
}

/* Processor time of this thread. On a busy machine the thread mostly waits, and that must not make
 * its rests longer. */
static uint64_t worked_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000u + (uint64_t)now.tv_nsec / 1000u;
}

/* Rests for that time. False: the thread is to stop. */
static bool rest(struct joiner *j, uint64_t us) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t ns = (uint64_t)until.tv_nsec + us * 1000;
    until.tv_sec += (time_t)(ns / 1000000000u);
    until.tv_nsec = (long)(ns % 1000000000u);
    pthread_mutex_lock(&j->lock);
    while (!j->stop && pthread_cond_timedwait(&j->wake, &j->lock, &until) == 0) {
    }
    bool goes_on = !j->stop;
    pthread_mutex_unlock(&j->lock);
    return goes_on;
}

/* Joining gives memory to a page that went to the pool meanwhile: this returns it to the system. */
static void give_back_free(struct arena *a, uint32_t page) {
    lock_take(&a->lock);
    for (uint32_t i = 0; i < a->pool_count; i++) {
        if (a->pool[i] == page) {
            memory_file_unback(a->file, a->head_bytes + ((size_t)page << PAGE_SHIFT), PAGE_BYTES);
            break;
        }
    }
    lock_release(&a->lock);
}

static bool join_pair(struct joiner *j, uint32_t first) {
    struct arena *a = j->arena;
    bool done = madvise(arena_page_start(a, first), PAIR * PAGE_BYTES, MADV_COLLAPSE) == 0;
    for (uint32_t page = first; page < first + PAIR; page++) {
        if (!is_out(a, page)) {
            give_back_free(a, page);
        }
    }
    atomic_fetch_add_explicit(done ? &j->joined : &j->failed, 1, memory_order_relaxed);
    return done;
}

/* Whether both pages are out, and not yet joined since they came. */
static bool is_due(const struct joiner *j, uint32_t first, uint64_t *births) {
    const struct arena *a = j->arena;
    *births = (uint64_t)birth_of(a, first) << 32 | birth_of(a, first + 1);
    return is_out(a, first) && is_out(a, first + 1) && j->joined_births[first / PAIR] != *births;
}

/* Looks at all pairs once. False: the thread is to stop. */
static bool walk(struct joiner *j, unsigned *joined, unsigned *failed) {
    *joined = *failed = 0;
    for (uint32_t first = 0; first + PAIR <= arena_page_end(j->arena); first += PAIR) {
        uint64_t births, before_us = worked_us();
        if (!is_due(j, first, &births)) {
            continue;
        }
        bool done = join_pair(j, first);
        if (done) {
            j->joined_births[first / PAIR] = births;
        }
        *joined += done;
        *failed += !done;
        uint64_t rest_us = (worked_us() - before_us) * (WORK_SHARE - 1);
        if (!rest(j, rest_us > REST_LEAST_US ? rest_us : REST_LEAST_US)) {
            return false;
        }
    }
    return true;
}

static void *joiner_main(void *arg) {
    struct joiner *j = arg;
    unsigned joined, failed;
    uint64_t rest_us = LOOK_US;
    /* On Linux this changes this thread only. It may fail: joining works without it. */
    int now = nice(NICE);
    (void)now;
    while (rest(j, rest_us) && walk(j, &joined, &failed)) {
        rest_us = joined > 0 || failed == 0     ? LOOK_US
                  : rest_us * 2 < LOOK_MOST_US ? rest_us * 2
                                               : LOOK_MOST_US;
        if (joined > 0) {
            log_debug("%u MB of the memory file were joined into huge pages, %u MB could not be",
                      joined * PAIR, failed * PAIR);
        }
    }
    return NULL;
}

static void destroy(struct joiner *j) {
    pthread_cond_destroy(&j->wake);
    pthread_mutex_destroy(&j->lock);
    free(j->joined_births);
    free(j);
}

/* Whether the system knows the call: with 0 bytes it does nothing else. */
static bool can_join(const struct arena *a) {
    return a->file != NULL && a->file->has_small_pages && a->page_max >= PAIR &&
           madvise(a->pages, 0, MADV_COLLAPSE) == 0;
}

struct joiner *joiner_start(struct arena *a) {
    struct joiner *j = can_join(a) ? calloc(1, sizeof *j) : NULL;
    if (j == NULL) {
        return NULL;
    }
    pthread_condattr_t by_mono;
    j->arena = a;
    j->joined_births = calloc(a->page_max / PAIR, sizeof *j->joined_births);
    pthread_mutex_init(&j->lock, NULL);
    pthread_condattr_init(&by_mono);
    pthread_condattr_setclock(&by_mono, CLOCK_MONOTONIC);
    pthread_cond_init(&j->wake, &by_mono);
    pthread_condattr_destroy(&by_mono);
    int error = j->joined_births != NULL ? pthread_create(&j->thread, NULL, joiner_main, j)
                                         : ENOMEM;
    if (error != 0) {
        log_warn("the memory file stays in small pages: %s", strerror(error));
        destroy(j);
        return NULL;
    }
    return j;
}

void joiner_stop(struct joiner **taken) {
    struct joiner *j = *taken;
    *taken = NULL;
    if (j != NULL) {
        pthread_mutex_lock(&j->lock);
        j->stop = true;
        pthread_cond_signal(&j->wake);
        pthread_mutex_unlock(&j->lock);
        pthread_join(j->thread, NULL);
        destroy(j);
    }
}

struct join_facts joiner_facts(const struct joiner *j) {
    struct join_facts f = {0, 0};
    if (j != NULL) {
        f.joined = atomic_load_explicit(&j->joined, memory_order_relaxed);
        f.failed = atomic_load_explicit(&j->failed, memory_order_relaxed);
    }
    return f;
}
