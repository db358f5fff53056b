/* The tuner's thread: its tasks, its life, and the functions that other rooms call. */
#include "control/tuner_state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "watch/event.h"

enum {
    /* shorter than a worker's slice: this thread's work is short, and due when workers are busy */
    SLICE_US = 100,
    CACHE_THREADS = 2, /* cache threads of the tuner, its own and that of its jobs */
};

/* --- crawling --- */

/* A crawl after a flush, if sweeps are off, visits all items, however many the setting allows. */
static void tuner_start_crawl(struct tuner *t, unsigned class_count) {
    uint32_t flushed_s = cache_flushed_s(t->cache);
    if (flushed_s != t->flushed_s) {
        t->flushed_s = flushed_s;
        crawler_start(&t->crawler, 0);
        return;
    }
    crawler_start(&t->crawler, (uint64_t)t->settings.crawler_tocrawl * class_count);
}

/* Continues the crawl. Returns whether to call it again soon. */
static bool tuner_step_crawler(struct tuner *t) {
    unsigned requested = 0;
    /* a crawl that runs does not restart: with many requests it would never end */
    if (!atomic_load_explicit(&t->crawler.running, memory_order_relaxed)) {
        requested = class_set_count(&t->crawl_classes);
        t->crawl_classes = (struct class_set){{0}};
    }
    bool on = t->settings.crawler,
         running = atomic_load_explicit(&t->crawler.running, memory_order_relaxed);
    bool flushed = !running && !t->sweeper.on && cache_flushed_s(t->cache) != t->flushed_s;
    if (on && (requested != 0 || flushed || crawler_due(&t->crawler, clock_mono_us()))) {
        tuner_start_crawl(t, requested != 0 ? requested : cache_slab(t->cache)->class_count);
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

/* --- tasks of the control thread, in the order in which a step runs them --- */

static uint64_t tuner_run_clock(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    cache_save_time(t->cache);
    return now_us + CLOCK_SECOND_US;
}

static uint64_t tuner_run_trial(void *arg, uint64_t now_us) {
    (void)now_us;
    trial_serve(arg);
    return CONTROL_NEVER;
}

static uint64_t tuner_run_pages(void *arg, uint64_t now_us) { return moves_step_all(arg, now_us); }

static uint64_t tuner_run_whatif(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    uint64_t wait_us = whatif_tend_at(t->whatif, now_us);
    return wait_us < CONTROL_NEVER - now_us ? now_us + wait_us : CONTROL_NEVER;
}

static uint64_t tuner_run_crawler(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    return tuner_step_crawler(t) ? now_us + t->settings.crawler_sleep_us : CONTROL_NEVER;
}

static uint64_t tuner_run_sweeper(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    return sweeper_tend(&t->sweeper, now_us);
}

static void tuner_add_tasks(struct tuner *t) {
    static const struct {
        uint64_t (*run)(void *, uint64_t);
        bool by_hand; /* also for a tuner without a thread */
        bool timed;
    } tasks[TUNER_TASKS] = {
        {.run = tuner_run_clock, .timed = true},
        {.run = tuner_run_trial, .by_hand = true},
        {.run = tuner_run_pages, .by_hand = true},
        {.run = tuner_run_whatif, .by_hand = true},
        {.run = tuner_run_crawler},
        {.run = tuner_run_sweeper},
    };
    for (unsigned i = 0; i < TUNER_TASKS; i++) {
        if (tasks[i].by_hand || !t->by_hand) {
            t->tasks[i] = (struct control_task){
                .run = tasks[i].run, .arg = t, .timed = tasks[i].timed};
            control_add(&t->control, &t->tasks[i]);
        }
    }
}

uint64_t tuner_tend_at(struct tuner *t, uint64_t now_us) {
    uint64_t due_us;
    control_make_due(&t->control);
    do {
        due_us = control_step(&t->control, now_us);
    } while (due_us <= now_us);
    return due_us;
}

static void *tuner_main(void *arg) {
    struct tuner *t = arg;
    thread_name("slated-control");
    thread_request_slice(SLICE_US);
    if (!event_thread_begin()) {
        log_warn("control: no memory to send its events to clients that watch");
    }
    control_loop(&t->control);
    event_thread_end();
    return NULL;
}

/* Logs a page that a set took. Called on the thread of that set. */
static void tuner_log_steal(void *arg, const struct cache_steal *steal) {
    struct tuner *t = arg;
    struct page_move move = {.from = steal->from_class, .to = steal->to_class, .pages = 1};
    struct move_result result = {.pages = 1,
                                 .did = steal->did,
                                 .duration_us = steal->duration_us};
    snprintf(move.reason, sizeof move.reason,
             "a set in class %u found nothing free and nothing to evict", steal->to_class);
    move_log_add(&t->moves, "steal", &move, &result);
}

static bool tuner_start_thread(struct tuner *t) {
    int error = thread_start(&t->thread, tuner_main, t);
    if (error != 0) {
        errno = error;
        return false;
    }
    t->started = true;
    return true;
}

/* Copies the configuration; needs neither memory nor a descriptor. */
static void tuner_take_config(struct tuner *t, struct cache *cache,
                              const struct tuner_config *cfg) {
    t->cache = cache;
    t->by_hand = cfg->by_hand;
    t->epoch_us = cfg->by_hand ? 0 : clock_unix_ms() * 1000 - clock_mono_us();
    t->reassign = cfg->reassign;
    t->limit_why = cfg->reassign ? NULL : "pages may not move (-o no_slab_reassign)";
    t->policy_dir = cfg->policy_dir;
    t->on_failure = cfg->on_failure;
    t->on_failure_arg = cfg->on_failure_arg;
    t->settings = cfg->settings;
    lock_init(&t->lock);
    move_log_init(&t->moves);
    /* the limit may fall before the first turn */
    t->limit_seen =
        atomic_load_explicit(&cache_slab(cache)->arena->page_limit, memory_order_relaxed);
}

struct tuner *tuner_create(struct cache *cache, const struct tuner_config *cfg) {
    struct tuner *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    tuner_take_config(t, cache, cfg);
    bool has_control = control_init(&t->control);
    tuner_add_tasks(t);
    t->ct = cache_thread_create(cache);
    t->pages_ct = cache_thread_create(cache);
    if (t->pages_ct != NULL) {
        t->geometry = geometry_create(cache, t->pages_ct, &t->pace, cfg->reassign,
                                      &t->settings.geometry, cfg->by_hand ? 0 : clock_mono_us());
    }
    if (t->geometry != NULL) {
        geometry_on_own_change(t->geometry, cfg->on_own_sizes, cfg->on_own_sizes_arg);
    }
    t->whatif = whatif_create(cache, (size_t)t->limit_seen * PAGE_BYTES,
                               cfg->worker_count + CACHE_THREADS);
    if (t->whatif != NULL) {
        whatif_set(t->whatif, cfg->settings.sample_rate, cfg->settings.sample_follow);
        whatif_on_prediction(t->whatif, cfg->on_prediction, cfg->on_prediction_arg);
    }
    t->automove_trace = cfg->record != NULL ? automove_trace_open(cfg->record) : NULL;
    int failed_as = cfg->record != NULL && t->automove_trace == NULL ? errno : 0;
    if (failed_as != 0 || !has_control || t->ct == NULL || t->geometry == NULL ||
        t->whatif == NULL || !crawler_init(&t->crawler, t->ct)) {
        tuner_destroy(&t);
        errno = failed_as != 0 ? failed_as : errno;
        return NULL;
    }
    sweeper_init(&t->sweeper, cache, t->ct, cfg->sweeps);
    mover_init(&t->mover, cache, t->pages_ct, &t->pace);
    t->mover.may_assist = !t->by_hand;
    t->pace.wake = tuner_wake;
    t->pace.wake_arg = t;
    if (!t->by_hand) {
        cache_on_starved(cache, tuner_wake, t);
    }
    cache_on_steal(cache, tuner_log_steal, t);
    bool known = tuner_set_automove(t, cfg->automove != NULL ? cfg->automove : "off");
    if (!known || !(t->by_hand || (pace_start(&t->pace) && tuner_start_thread(t)))) {
        int saved = known ? errno : EINVAL;
        tuner_destroy(&t);
        errno = saved;
        return NULL;
    }
    return t;
}

void tuner_destroy(struct tuner **taken) {
    struct tuner *t = *taken;
    if (t == NULL) {
        return;
    }
    if (t->started) {
        control_stop(&t->control);
        pthread_join(t->thread, NULL);
    }
    control_run_orders(&t->control);
    pace_stop(&t->pace);
    moves_stop(t);
    request_end(t);
    trial_refuse(t, "the server stops");
    cache_set_starved_on_evict(t->cache, false);
    cache_on_starved(t->cache, NULL, NULL);
    cache_on_steal(t->cache, NULL, NULL);
    active_end(&t->active);
    automove_trace_close(&t->automove_trace);
    free(t->curves);
    crawler_fini(&t->crawler);
    geometry_destroy(&t->geometry);
    whatif_destroy(&t->whatif);
    cache_thread_destroy(&t->pages_ct);
    cache_thread_destroy(&t->ct);
    control_fini(&t->control);
    move_log_fini(&t->moves);
    lock_fini(&t->lock);
    free(t);
    *taken = NULL;
}

/* --- facts, for any thread --- */

struct control *tuner_control(struct tuner *t) { return &t->control; }

struct move_log *tuner_moves(struct tuner *t) { return &t->moves; }

void tuner_words(struct tuner *t, struct tuner_words *w) {
    lock_take(&t->lock);
    *w = t->words;
    lock_release(&t->lock);
}

void tuner_worth(struct tuner *t, struct tuner_worth *w) {
    lock_take(&t->lock);
    *w = t->worth;
    lock_release(&t->lock);
}

void tuner_facts(struct tuner *t, struct tuner_facts *f) {
    *f = (struct tuner_facts){
        .moving = atomic_load_explicit(&t->requested, memory_order_relaxed) ||
                  atomic_load_explicit(&t->moving, memory_order_relaxed),
        .crawling = atomic_load_explicit(&t->crawler.running, memory_order_relaxed),
        .pages_over = limit_pages_over(t),
        .over_why = atomic_load_explicit(&t->limit_why, memory_order_relaxed),
        .crawler_starts = atomic_load_explicit(&t->crawler.starts, memory_order_relaxed),
        .moved = move_log_sums(&t->moves),
    };
}

void tuner_geometry(struct tuner *t, struct geometry_facts *f) { geometry_facts(t->geometry, f); }

struct whatif *tuner_whatif(struct tuner *t) { return t->whatif; }

/* --- orders --- */

/* The sampling settings are set at once, because any thread may read under what-if's lock which
 * policies it follows. The order that calls this makes all tasks due. */
void tuner_set(struct tuner *t, const struct tuner_settings *s) {
    t->settings = *s;
    whatif_set(t->whatif, s->sample_rate, s->sample_follow);
}

bool tuner_order_geometry(struct tuner *t, struct geometry_order *order) {
    return geometry_order_take(t->geometry, order);
}

enum crawl_status tuner_crawl(struct tuner *t, const struct class_set *classes) {
    struct class_set requested =
        class_set_meet(class_set_first(cache_slab(t->cache)->class_count), classes);
    if (!t->settings.crawler) {
        return CRAWL_NOT_STARTED;
    }
    if (class_set_empty(&requested)) {
        return CRAWL_BAD_CLASS;
    }
    if (!class_set_empty(&t->crawl_classes)) {
        return CRAWL_BUSY;
    }
    t->crawl_classes = requested;
    return CRAWL_OK;
}
