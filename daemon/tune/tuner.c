#include "tune/tune.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"
#include "base/log.h"
#include "tune/automove.h"
#include "tune/crawl.h"
#include "tune/mover.h"
#include "tune/snapshot.h"

#define SECOND_US ((uint64_t)1000 * 1000)
enum {
    AGES_MAX_US = 100 * 1000,  /* ages for mode 2 are at most this old */
    HUNGER_REST_US = 5 * 1000, /* when hunger could not be stilled, look again after this */
};

/* A `slabs reassign` that was accepted. */
struct request {
    int      from, to;
    unsigned pages; /* still to move; 0: none */
};

struct tuner {
    struct cache        *cache;
    struct cache_thread *ct;
    pthread_t            thread;
    int                  wake_fd;
    bool                 started;

    /* Settings, written by any thread. */
    _Atomic int      automove;
    _Atomic double   ratio;
    _Atomic unsigned window_s;
    _Atomic bool     crawler_on;
    _Atomic uint32_t crawler_sleep_us, crawler_tocrawl;
    bool             reassign;
    _Atomic bool     stop;

    struct lock    lock; /* over the requests */
    struct request request;
    uint64_t       crawl_classes; /* asked for; 0: no run */

    /* The thread's own. */
    struct mover            mover;
    struct crawler          crawler;
    struct automove_ratio   by_ratio;
    struct automove_eviction by_eviction;
    struct snapshot         second, now; /* of the last second (no classes: none); of the last decision of mode 2 */
    uint64_t                second_us, ages_us, hunger_rest_us;
    _Atomic bool            moving;
};

static void wake(void *arg) {
    struct tuner *t = arg;
    uint64_t one = 1;
    /* A full counter, the only way to fail, means that a wake-up is already due. */
    ssize_t written = write(t->wake_fd, &one, sizeof one);
    (void)written;
}

/* --- moving --- */

/* Returns how many pages moved. */
static unsigned move_pages(struct tuner *t, const struct page_move *move) {
    atomic_store_explicit(&t->moving, true, memory_order_relaxed);
    unsigned moved = mover_move(&t->mover, move->from, move->to, move->pages);
    atomic_store_explicit(&t->moving, false, memory_order_relaxed);
    log_debug("%u of %u pages moved from class %u to %u: %s", moved, move->pages, move->from, move->to, move->reason);
    return moved;
}

/* The class with the most pages, at least two of them; SLAB_CLASS_NONE. */
static unsigned richest_class(const struct tuner *t, unsigned except) {
    const struct slab *slab = cache_slab(t->cache);
    unsigned richest = SLAB_CLASS_NONE;
    uint32_t most = 1;
    for (unsigned i = 1; i <= slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        if (i != except && f.pages > most) {
            richest = i;
            most = f.pages;
        }
    }
    return richest;
}

/* A few pages of what an operator asked for, so that automove has its turn in between. */
static void serve_request(struct tuner *t) {
    lock_take(&t->lock);
    struct request r = t->request;
    lock_release(&t->lock);
    if (r.pages == 0) {
        return;
    }
    unsigned from = r.from < 0 ? richest_class(t, (unsigned)r.to) : (unsigned)r.from;
    struct page_move move = {from, (unsigned)r.to, r.pages < MOVER_PAGES_MAX ? r.pages : MOVER_PAGES_MAX, "asked for"};
    bool any = r.from >= 0 || from != SLAB_CLASS_NONE;
    unsigned moved = any ? move_pages(t, &move) : 0;
    lock_take(&t->lock);
    t->request.pages = moved > 0 ? r.pages - moved : 0;
    lock_release(&t->lock);
}

static bool request_waits(struct tuner *t) {
    lock_take(&t->lock);
    bool waits = t->request.pages > 0;
    lock_release(&t->lock);
    return waits;
}

/* Mode 2: as long as classes are hungry and others have pages to spare. */
static void still_hunger(struct tuner *t) {
    struct page_move move;
    uint64_t now_us = clock_mono_us();
    if (!t->reassign || now_us < t->hunger_rest_us) {
        return;
    }
    uint64_t hungry = cache_take_hunger(t->cache);
    while (hungry != 0 && clock_mono_us() < t->second_us && !atomic_load_explicit(&t->stop, memory_order_relaxed) && !request_waits(t)) {
        if (clock_mono_us() - t->ages_us > AGES_MAX_US) {
            snapshot_take(t->cache, hungry, &t->now);
            t->ages_us = t->now.time_us;
        } else {
            snapshot_refresh(t->cache, hungry, &t->now);
        }
        if (!automove_eviction_decide(&t->by_eviction, &t->now, &move)) {
            break;
        }
        if (move_pages(t, &move) == 0) {
            break;
        }
        hungry = cache_take_hunger(t->cache);
    }
    if (hungry != 0) {
        t->hunger_rest_us = clock_mono_us() + HUNGER_REST_US;
    }
}

/* --- every second --- */

static void adopt_window(struct tuner *t) {
    unsigned window_s = atomic_load_explicit(&t->window_s, memory_order_relaxed);
    t->by_ratio.ratio = atomic_load_explicit(&t->ratio, memory_order_relaxed);
    if (window_s != t->by_ratio.window && !automove_ratio_resize(&t->by_ratio, window_s)) {
        log_warn("out of memory for an automove window of %u s", window_s);
    }
}

static bool decide(struct tuner *t, const struct snapshot *after, struct page_move *move) {
    switch (tuner_automove(t)) {
    case AUTOMOVE_OFF: break;
    case AUTOMOVE_RATIO: return automove_ratio_decide(&t->by_ratio, &t->second, after, move);
    case AUTOMOVE_EVICTION: return automove_surplus_decide(&t->second, after, move);
    }
    return false;
}

/* Nothing is to be decided, and a snapshot of a large cache not to be paid for, while the pool has pages. */
static void each_second(struct tuner *t) {
    struct snapshot after;
    struct page_move move;
    bool off = !t->reassign || tuner_automove(t) == AUTOMOVE_OFF;
    adopt_window(t);
    if (off || arena_pages_free(cache_slab(t->cache)->arena) > 0) {
        t->second.class_count = 0;
        return;
    }
    snapshot_take(t->cache, 0, &after);
    if (t->second.class_count != 0 && decide(t, &after, &move)) {
        move_pages(t, &move);
    }
    t->second = after;
}

/* --- crawling --- */

static void start_crawl(struct tuner *t, uint64_t classes) {
    uint64_t each = atomic_load_explicit(&t->crawler_tocrawl, memory_order_relaxed);
    crawler_start(&t->crawler, each * (uint64_t)__builtin_popcountll(classes));
}

/* Whether the crawler has more to do at once. */
static bool tend_crawler(struct tuner *t) {
    lock_take(&t->lock);
    uint64_t asked = t->crawl_classes;
    t->crawl_classes = 0;
    lock_release(&t->lock);
    bool on = atomic_load_explicit(&t->crawler_on, memory_order_relaxed);
    if (on && (asked != 0 || crawler_due(&t->crawler, clock_mono_us()))) {
        start_crawl(t, asked != 0 ? asked : ~(uint64_t)0);
    }
    if (!atomic_load_explicit(&t->crawler.running, memory_order_relaxed)) {
        return false;
    }
    if (!on) {
        crawler_stop(&t->crawler);
        return false;
    }
    return crawler_step(&t->crawler);
}

/* --- the thread --- */

/* Sleeps until something is due or somebody wakes it. */
static void wait_us(struct tuner *t, uint64_t us) {
    struct pollfd p = {.fd = t->wake_fd, .events = POLLIN};
    struct timespec timeout = {.tv_sec = (time_t)(us / SECOND_US), .tv_nsec = (long)(us % SECOND_US) * 1000};
    uint64_t n;
    if (ppoll(&p, 1, &timeout, NULL) > 0 && read(t->wake_fd, &n, sizeof n) < 0 && errno != EAGAIN) {
        log_warn("tuner: cannot read its wake-up");
    }
}

static uint64_t until(uint64_t due_us, uint64_t now_us) { return due_us > now_us ? due_us - now_us : 0; }

static void *tuner_main(void *arg) {
    struct tuner *t = arg;
    t->second_us = clock_mono_us();
    while (!atomic_load_explicit(&t->stop, memory_order_acquire)) {
        serve_request(t);
        if (tuner_automove(t) == AUTOMOVE_EVICTION) {
            still_hunger(t);
        }
        if (clock_mono_us() >= t->second_us) {
            each_second(t);
            t->second_us = clock_mono_us() + SECOND_US;
        }
        bool crawling = tend_crawler(t);
        if (request_waits(t)) {
            continue;
        }
        uint64_t now_us = clock_mono_us(), rest_us = until(t->second_us, now_us);
        uint64_t sleep_us = atomic_load_explicit(&t->crawler_sleep_us, memory_order_relaxed);
        if (crawling && sleep_us < rest_us) {
            rest_us = sleep_us;
        }
        if (t->hunger_rest_us > now_us && t->hunger_rest_us - now_us < rest_us) {
            rest_us = t->hunger_rest_us - now_us;
        }
        wait_us(t, rest_us);
    }
    return NULL;
}

struct tuner *tuner_create(struct cache *cache, const struct tune_config *cfg) {
    struct tuner *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    t->cache = cache;
    t->reassign = cfg->reassign;
    atomic_init(&t->ratio, cfg->ratio);
    atomic_init(&t->window_s, cfg->window_s);
    atomic_init(&t->crawler_on, cfg->crawler);
    atomic_init(&t->crawler_sleep_us, cfg->crawler_sleep_us);
    atomic_init(&t->crawler_tocrawl, cfg->crawler_tocrawl);
    lock_init(&t->lock);
    t->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    t->ct = cache_thread_create(cache);
    if (t->wake_fd < 0 || t->ct == NULL || !crawler_init(&t->crawler, t->ct) ||
        !automove_ratio_init(&t->by_ratio, cfg->ratio, cfg->window_s)) {
        tuner_destroy(&t);
        return NULL;
    }
    mover_init(&t->mover, cache, t->ct);
    cache_on_hunger(cache, wake, t);
    tuner_set_automove(t, cfg->automove);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the main thread */
    int error = pthread_create(&t->thread, NULL, tuner_main, t);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error != 0) {
        tuner_destroy(&t);
        errno = error;
        return NULL;
    }
    t->started = true;
    pthread_setname_np(t->thread, "slated-tuner");
    return t;
}

void tuner_destroy(struct tuner **taken) {
    struct tuner *t = *taken;
    if (t == NULL) {
        return;
    }
    *taken = NULL;
    if (t->started) {
        atomic_store_explicit(&t->stop, true, memory_order_release);
        wake(t);
        pthread_join(t->thread, NULL);
    }
    cache_set_hunger_on_evict(t->cache, false);
    cache_on_hunger(t->cache, NULL, NULL);
    automove_ratio_fini(&t->by_ratio);
    crawler_fini(&t->crawler);
    cache_thread_destroy(&t->ct);
    if (t->wake_fd >= 0) {
        close(t->wake_fd);
    }
    lock_fini(&t->lock);
    free(t);
}

/* --- requests and settings --- */

/* As memcached's rules have it; under the lock. */
static enum tune_status check_reassign(const struct tuner *t, int from, int to) {
    const struct slab *slab = cache_slab(t->cache);
    int most = (int)slab->class_count;
    struct slab_class_facts f;
    if (!t->reassign) {
        return TUNE_DISABLED;
    }
    if (t->request.pages > 0) {
        return TUNE_BUSY;
    }
    if (from == to) {
        return TUNE_SAME;
    }
    if (from < -1 || from > most || to < 0 || to > most) {
        return TUNE_BAD_CLASS;
    }
    if (from == -1) {
        return richest_class(t, (unsigned)to) != SLAB_CLASS_NONE ? TUNE_OK : TUNE_BAD_CLASS;
    }
    slab_facts(slab, (unsigned)from, &f);
    uint32_t spare = from == 0 ? arena_pages_free(slab->arena) : f.pages;
    return spare < 2 ? TUNE_NO_SPARE : TUNE_OK;
}

enum tune_status tuner_reassign(struct tuner *t, int from, int to, unsigned pages) {
    lock_take(&t->lock);
    enum tune_status status = check_reassign(t, from, to);
    if (status == TUNE_OK) {
        t->request = (struct request){from, to, pages};
    }
    lock_release(&t->lock);
    if (status == TUNE_OK) {
        wake(t);
    }
    return status;
}

void tuner_set_automove(struct tuner *t, enum automove_mode mode) {
    atomic_store_explicit(&t->automove, mode, memory_order_relaxed);
    cache_set_hunger_on_evict(t->cache, mode == AUTOMOVE_EVICTION);
    wake(t);
}

enum automove_mode tuner_automove(const struct tuner *t) {
    return (enum automove_mode)atomic_load_explicit(&t->automove, memory_order_relaxed);
}

bool tuner_set_ratio(struct tuner *t, double ratio) {
    if (!(ratio >= 0.01 && ratio <= 1)) {
        return false;
    }
    atomic_store_explicit(&t->ratio, ratio, memory_order_relaxed);
    return true;
}

bool tuner_set_window(struct tuner *t, unsigned window_s) {
    if (window_s < AUTOMOVE_WINDOW_MIN || window_s > AUTOMOVE_WINDOW_MAX) {
        return false;
    }
    atomic_store_explicit(&t->window_s, window_s, memory_order_relaxed);
    return true;
}

enum crawl_status tuner_crawl(struct tuner *t, uint64_t class_bits) {
    uint64_t all = ((uint64_t)2 << cache_slab(t->cache)->class_count) - 2;
    enum crawl_status status = CRAWL_OK;
    if (!atomic_load_explicit(&t->crawler_on, memory_order_relaxed)) {
        return CRAWL_NOT_STARTED;
    }
    if ((class_bits & all) == 0) {
        return CRAWL_BAD_CLASS;
    }
    lock_take(&t->lock);
    if (t->crawl_classes != 0) {
        status = CRAWL_BUSY;
    } else {
        t->crawl_classes = class_bits & all;
    }
    lock_release(&t->lock);
    wake(t);
    return status;
}

void tuner_set_crawler(struct tuner *t, bool enabled, uint32_t sleep_us, uint32_t tocrawl) {
    atomic_store_explicit(&t->crawler_sleep_us, sleep_us, memory_order_relaxed);
    atomic_store_explicit(&t->crawler_tocrawl, tocrawl, memory_order_relaxed);
    atomic_store_explicit(&t->crawler_on, enabled, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *n) { return atomic_load_explicit(n, memory_order_relaxed); }

void tuner_facts(const struct tuner *t, struct tune_facts *f) {
    const struct mover *m = &t->mover;
    *f = (struct tune_facts){
        .automove = tuner_automove(t),
        .ratio = atomic_load_explicit(&t->ratio, memory_order_relaxed),
        .window_s = atomic_load_explicit(&t->window_s, memory_order_relaxed),
        .reassign = t->reassign,
        .moving = atomic_load_explicit(&t->moving, memory_order_relaxed),
        .crawler = atomic_load_explicit(&t->crawler_on, memory_order_relaxed),
        .crawling = atomic_load_explicit(&t->crawler.running, memory_order_relaxed),
        .crawler_sleep_us = atomic_load_explicit(&t->crawler_sleep_us, memory_order_relaxed),
        .crawler_tocrawl = atomic_load_explicit(&t->crawler_tocrawl, memory_order_relaxed),
        .pages_moved = get(&m->pages_moved),
        .rescues = get(&m->rescues),
        .chunk_rescues = get(&m->chunk_rescues),
        .inline_reclaim = get(&m->reclaimed),
        .busy_items = get(&m->busy_items),
        .busy_nomem = get(&m->no_room),
        .evictions_by_move = get(&m->evictions),
        .moves_given_up = get(&m->given_up),
        .crawler_starts = get(&t->crawler.starts),
        .last_busy = atomic_load_explicit(&m->last_busy, memory_order_relaxed),
    };
}
