/* The tuner's thread and what others may ask of it. */
#include "control/state.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "watch/event.h"

/* A shorter slice than a worker's, because this thread's own work is soon done, and is due when
 * workers are busy. */
enum {
    SLICE_US = 100,
    CACHE_THREADS = 2, /* the tuner's own and that of its jobs come before the workers' */
};

/* --- crawling --- */

/* A crawl after a flush, where sweeps are off, looks at all items, however many the setting
 * allows. */
static void start_crawl(struct tuner *t, unsigned class_count) {
    uint32_t flushed = cache_flushed(t->cache);
    if (flushed != t->flushed) {
        t->flushed = flushed;
        crawler_start(&t->crawler, 0);
        return;
    }
    crawler_start(&t->crawler, (uint64_t)t->settings.crawler_tocrawl * class_count);
}

/* Goes on with the crawl. Returns whether there is more to do at once. */
static bool tend_crawler(struct tuner *t) {
    unsigned asked = 0;
    /* a walk that runs is not begun anew: a client that asks often would never see its end */
    if (!atomic_load_explicit(&t->crawler.running, memory_order_relaxed)) {
        asked = class_set_count(&t->crawl_classes);
        t->crawl_classes = (struct class_set){{0}};
    }
    bool on = t->settings.crawler,
         running = atomic_load_explicit(&t->crawler.running, memory_order_relaxed);
    bool flushed = !running && !t->sweeper.on && cache_flushed(t->cache) != t->flushed;
    if (on && (asked != 0 || flushed || crawler_due(&t->crawler, clock_mono_us()))) {
        start_crawl(t, asked != 0 ? asked : cache_slab(t->cache)->class_count);
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

/* --- tasks of the control thread, in the order in which a step runs them --- */

static uint64_t run_clock(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    cache_save_time(t->cache);
    return now_us + CLOCK_SECOND_US;
}

static uint64_t run_trial(void *arg, uint64_t now_us) {
    (void)now_us;
    tuner_serve_trial(arg);
    return CONTROL_NEVER;
}

static uint64_t run_pages(void *arg, uint64_t now_us) { return tuner_tend_pages(arg, now_us); }

static uint64_t run_whatif(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    uint64_t rest_us = whatif_tend_at(t->whatif, now_us);
    return rest_us < CONTROL_NEVER - now_us ? now_us + rest_us : CONTROL_NEVER;
}

static uint64_t run_crawler(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    return tend_crawler(t) ? now_us + t->settings.crawler_sleep_us : CONTROL_NEVER;
}

static uint64_t run_sweeper(void *arg, uint64_t now_us) {
    struct tuner *t = arg;
    return sweeper_tend(&t->sweeper, now_us);
}

static void add_tasks(struct tuner *t) {
    static const struct {
        uint64_t (*run)(void *, uint64_t);
        bool by_hand; /* also for a tuner without a thread */
        bool timed;
    } tasks[TUNER_TASKS] = {
        {.run = run_clock, .timed = true},   {.run = run_trial, .by_hand = true},
        {.run = run_pages, .by_hand = true}, {.run = run_whatif, .by_hand = true},
        {.run = run_crawler},                {.run = run_sweeper},
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
static void note_steal(void *arg, const struct cache_steal *steal) {
    struct tuner *t = arg;
    struct page_move move = {.from = steal->from_class, .to = steal->to_class, .pages = 1};
    struct move_result result = {.pages = 1,
                                 .did = steal->did,
                                 .duration_us = steal->duration_us};
    snprintf(move.reason, sizeof move.reason,
             "a set in class %u found nothing free and nothing to evict", steal->to_class);
    move_log_add(&t->moves, "steal", &move, &result);
}

static bool start_thread(struct tuner *t) {
    int error = thread_start(&t->thread, tuner_main, t);
    if (error != 0) {
        errno = error;
        return false;
    }
    t->started = true;
    return true;
}

/* Takes what needs neither memory nor a descriptor from the configuration. */
static void take_config(struct tuner *t, struct cache *cache, const struct tune_config *cfg) {
    t->cache = cache;
    t->by_hand = cfg->by_hand;
    t->epoch_us = cfg->by_hand ? 0 : clock_unix_ms() * 1000 - clock_mono_us();
    t->reassign = cfg->reassign;
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

struct tuner *tuner_create(struct cache *cache, const struct tune_config *cfg) {
    struct tuner *t = calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    take_config(t, cache, cfg);
    bool has_control = control_init(&t->control);
    add_tasks(t);
    t->ct = cache_thread_create(cache);
    t->pages_ct = cache_thread_create(cache);
    if (t->pages_ct != NULL) {
        t->geometry = geometry_create(cache, t->pages_ct, &t->pace, cfg->reassign,
                                      &t->settings.geometry, cfg->by_hand ? 0 : clock_mono_us());
    }
    t->whatif = whatif_create(cache, (size_t)t->limit_seen * PAGE_BYTES,
                               cfg->worker_count + CACHE_THREADS);
    if (t->whatif != NULL) {
        whatif_set(t->whatif, cfg->settings.sample_rate, cfg->settings.sample_follow);
        whatif_on_came(t->whatif, cfg->on_came, cfg->on_came_arg);
    }
    t->shown = cfg->record != NULL ? shown_open(cfg->record) : NULL;
    int failed_as = cfg->record != NULL && t->shown == NULL ? errno : 0;
    if (failed_as != 0 || !has_control || t->ct == NULL || t->geometry == NULL ||
        t->whatif == NULL || !crawler_init(&t->crawler, t->ct)) {
        tuner_destroy(&t);
        errno = failed_as != 0 ? failed_as : errno;
        return NULL;
    }
    sweeper_init(&t->sweeper, cache, t->ct, cfg->sweeps);
    mover_init(&t->mover, cache, t->pages_ct, &t->pace);
    t->mover.may_help = !t->by_hand;
    t->pace.wake = tuner_wake;
    t->pace.wake_arg = t;
    if (!t->by_hand) {
        cache_on_starved(cache, tuner_wake, t);
    }
    cache_on_steal(cache, note_steal, t);
    bool known = tuner_set_automove(t, cfg->automove != NULL ? cfg->automove : "off");
    if (!known || !(t->by_hand || (pace_start(&t->pace) && start_thread(t)))) {
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
    tuner_stop_pages(t);
    tuner_end_request(t);
    tuner_refuse_trial(t, "the server stops");
    cache_set_starved_on_evict(t->cache, false);
    cache_on_starved(t->cache, NULL, NULL);
    cache_on_steal(t->cache, NULL, NULL);
    active_end(&t->active);
    shown_close(&t->shown);
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

/* --- what others ask for --- */

bool tuner_order_geometry(struct tuner *t, struct geometry_order *order) {
    return geometry_ask(t->geometry, order);
}

enum crawl_status tuner_crawl(struct tuner *t, const struct class_set *classes) {
    struct class_set asked =
        class_set_meet(class_set_first(cache_slab(t->cache)->class_count), classes);
    if (!t->settings.crawler) {
        return CRAWL_NOT_STARTED;
    }
    if (class_set_empty(&asked)) {
        return CRAWL_BAD_CLASS;
    }
    if (!class_set_empty(&t->crawl_classes)) {
        return CRAWL_BUSY;
    }
    t->crawl_classes = asked;
    return CRAWL_OK;
}
