#include "control/sweep/crawler.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "watch/event.h"

enum {
    STEP_ITEMS = 256,
    STEP_BUCKETS = 256,
    COPIES_MAX = INDEX_CHAIN_MOST,
    HARVEST_PCT = 1, /* so many dead items in a hundred make the next crawl sooner */
};

bool crawler_init(struct crawler *c, struct cache_thread *ct) {
    *c = (struct crawler){.ct = ct, .every_s = CRAWL_EVERY_MIN_S};
    c->next_run_us = clock_mono_us() + (uint64_t)CRAWL_EVERY_MIN_S * 1000000;
    c->seen = malloc(COPIES_MAX * sizeof *c->seen);
    return c->seen != NULL;
}

void crawler_fini(struct crawler *c) {
    free(c->seen);
    c->seen = NULL;
}

void crawler_start(struct crawler *c, uint64_t items_max) {
    c->walk = (struct cache_walk){0};
    c->items_max = items_max;
    c->started_us = clock_mono_us();
    atomic_store_explicit(&c->running, true, memory_order_relaxed);
    atomic_fetch_add_explicit(&c->starts, 1, memory_order_relaxed);
}

void crawler_stop(struct crawler *c) {
    atomic_store_explicit(&c->running, false, memory_order_relaxed);
    c->next_run_us = clock_mono_us() + (uint64_t)c->every_s * 1000000;
}

bool crawler_due(const struct crawler *c, uint64_t now_us) {
    return !atomic_load_explicit(&c->running, memory_order_relaxed) && now_us >= c->next_run_us;
}

static void crawler_finish(struct crawler *c) {
    bool rich = c->walk.reclaimed * 100 >= c->walk.checked * HARVEST_PCT && c->walk.reclaimed > 0;
    if (rich && c->every_s / 2 >= CRAWL_EVERY_MIN_S) {
        c->every_s /= 2;
    } else if (!rich && c->every_s * 2 <= CRAWL_EVERY_MAX_S) {
        c->every_s *= 2;
    }
    log_debug("crawler: looked at %llu items, freed %llu, again in %u s",
              (unsigned long long)c->walk.checked, (unsigned long long)c->walk.reclaimed,
              c->every_s);
    if (event_watched(EVENT_SYSEVENTS)) {
        uint64_t elapsed_us = clock_mono_us() - c->started_us;
        event_lru_crawler(&(struct event_crawl){.examined = c->walk.checked,
                                                .reclaimed = c->walk.reclaimed,
                                                .elapsed_s = (uint32_t)(elapsed_us / 1000000),
                                                .next_run_s = c->every_s});
    }
    crawler_stop(c);
}

bool crawler_step(struct crawler *c) {
    uint64_t stop_at = c->walk.checked + STEP_ITEMS;
    bool more = true;
    cache_turn_begin(c->ct);
    for (unsigned i = 0; i < STEP_BUCKETS && more && c->walk.checked < stop_at; i++) {
        more = cache_walk_next(c->ct, &c->walk, c->seen, COPIES_MAX) >= 0 &&
               (c->items_max == 0 || c->walk.checked < c->items_max);
    }
    cache_turn_end(c->ct);
    if (!more) {
        crawler_finish(c);
    }
    return more;
}
