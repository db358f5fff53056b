#include "serve/server.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "serve/prefix.h"

enum { SERVE_COUNTER_COUNT = sizeof(struct serve_values) / sizeof(uint64_t) };

bool server_init(struct server *server, struct settings *settings) {
    memset(server, 0, sizeof *server);
    server->settings = settings;
    server->event_version = "none";
    lock_init(&server->lock);
    lock_init(&server->registry.lock);
    server->registry.last = &server->registry.first;
    server->prefixes = prefix_stats_create(settings->prefix_delimiter[0], settings->detail_enabled);
    if (!server->prefixes) {
        server_fini(server);
        return false;
    }
    log_set_verbosity(settings->verbosity);
    return true;
}

void server_fini(struct server *server) {
    prefix_stats_destroy(&server->prefixes);
    lock_fini(&server->lock);
    lock_fini(&server->registry.lock);
}

/* --- settings that change while the server runs --- */

static unsigned settings_version(struct server *server, struct settings *copy) {
    lock_take(&server->lock);
    *copy = *server->settings;
    unsigned version = server->settings_version;
    lock_release(&server->lock);
    return version;
}

void server_settings(struct server *server, struct settings *copy) {
    settings_version(server, copy);
}

static uint32_t percent(double ratio) { return (uint32_t)(ratio * 100 + 0.5); }

/* Tells the owners. Every setter takes a value it already has without effect. */
static void push(struct server *server, struct cache_thread *ct, const struct settings *s) {
    const struct evict_policy *policy = evict_find(s->lru_segmented ? "slru" : "lru");
    log_set_verbosity(s->verbosity);
    prefix_stats_enable(server->prefixes, s->detail_enabled);
    cache_set_tuning(server->cache, (uint32_t)s->hot_lru_pct, (uint32_t)s->warm_lru_pct, percent(s->hot_max_factor),
                     percent(s->warm_max_factor));
    cache_set_temporary_ttl(server->cache, s->temp_lru ? s->temporary_ttl : -1);
    if (policy != cache_policy(server->cache)) {
        cache_set_policy(ct, policy);
    }
    tuner_set_automove(server->tuner, (enum automove_mode)s->slab_automove);
    tuner_set_ratio(server->tuner, s->slab_automove_ratio);
    tuner_set_window(server->tuner, (unsigned)s->slab_automove_window);
    tuner_set_crawler(server->tuner, s->lru_crawler, (uint32_t)s->lru_crawler_sleep, (uint32_t)s->lru_crawler_tocrawl);
}

static void log_change(const struct settings *from, const struct settings *to, const struct setting *row) {
    char before[64], after[64];
    setting_format(from, row, before, sizeof before);
    setting_format(to, row, after, sizeof after);
    log_info("setting changed: %s=%s, was %s", row->stat ? row->stat : row->field, after, before);
}

bool server_change(struct server *server, struct cache_thread *ct, const struct settings *from,
                   const struct settings *to) {
    struct settings now;
    if (to->maxbytes != from->maxbytes && !cache_set_limit(server->cache, to->maxbytes)) {
        return false;
    }
    lock_take(&server->lock);
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->when == SETTING_RUNTIME && !setting_same(from, to, row)) {
            log_change(server->settings, to, row);
            setting_copy(server->settings, to, row);
        }
    }
    server->settings_version++;
    lock_release(&server->lock);

    /* Owners are told without the lock, for they take their own. Who finds that another change came in meanwhile tells
     * them again, so the last to leave leaves them with the latest values. */
    unsigned told = settings_version(server, &now), latest;
    do {
        push(server, ct, &now);
        latest = told;
        told = settings_version(server, &now);
    } while (told != latest);
    return true;
}

void server_request_stop(struct server *server, enum server_stop how) {
    atomic_store_explicit(&server->stop, (int)how, memory_order_release);
    if (server->on_stop) {
        server->on_stop(server->on_stop_arg);
    }
}

/* --- counters --- */

static void sum_workers(const struct server *server, struct serve_values *values) {
    memset(values, 0, sizeof *values);
    for (unsigned i = 0; i < server->worker_count; i++) {
        counter_sum((uint64_t *)values, (const struct counter *)server->workers[i], SERVE_COUNTER_COUNT);
    }
}

void server_values(struct server *server, struct serve_values *values) {
    sum_workers(server, values);
    lock_take(&server->lock);
    const uint64_t *base = (const uint64_t *)&server->baseline.serve;
    for (unsigned i = 0; i < SERVE_COUNTER_COUNT; i++) {
        ((uint64_t *)values)[i] -= base[i];
    }
    lock_release(&server->lock);
}

void server_reset_counters(struct server *server) {
    struct server_baseline base;
    memset(&base, 0, sizeof base);
    sum_workers(server, &base.serve);
    tuner_facts(server->tuner, &base.tune);
    base.conns_total = atomic_load_explicit(&server->conns.total, memory_order_relaxed);
    base.conns_rejected = atomic_load_explicit(&server->conns.rejected, memory_order_relaxed);
    base.listen_disabled_num = atomic_load_explicit(&server->conns.listen_disabled_num, memory_order_relaxed);
    base.listen_disabled_us = atomic_load_explicit(&server->conns.listen_disabled_us, memory_order_relaxed);
    lock_take(&server->lock);
    server->baseline = base;
    lock_release(&server->lock);
    cache_reset_counters(server->cache);
    prefix_stats_clear(server->prefixes);
}

/* --- the registry of connections --- */

void conn_registry_add(struct conn_registry *registry, struct conn_record *record) {
    lock_take(&registry->lock);
    record->next = NULL;
    record->link = registry->last; /* in the order of their coming, listeners first */
    *registry->last = record;
    registry->last = &record->next;
    lock_release(&registry->lock);
}

void conn_registry_remove(struct conn_registry *registry, struct conn_record *record) {
    lock_take(&registry->lock);
    *record->link = record->next;
    if (record->next) {
        record->next->link = record->link;
    } else {
        registry->last = record->link;
    }
    lock_release(&registry->lock);
}
