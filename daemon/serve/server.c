#include "serve/server.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "mem/memory_note.h"
#include "serve/config/kept.h"
#include "serve/process.h"
#include "serve/prefix.h"
#include "tune/whatif/auto.h"

enum { SERVE_COUNTER_COUNT = sizeof(struct serve_values) / sizeof(uint64_t) };

static void push_conns(struct server_conns *conns, const struct settings *s) {
    atomic_store_explicit(&conns->most, (uint32_t)s->maxconns, memory_order_relaxed);
    atomic_store_explicit(&conns->most_fast, s->maxconns_fast, memory_order_relaxed);
    atomic_store_explicit(&conns->idle_timeout_s, (uint32_t)s->idle_timeout, memory_order_relaxed);
}

bool server_init(struct server *server, struct settings *settings) {
    memset(server, 0, sizeof *server);
    server->settings = settings;
    server->event_version = "none";
    lock_init(&server->lock);
    audit_init(&server->audit);
    undo_init(&server->undo);
    users_init(&server->users, settings_auth_file(settings));
    for (unsigned i = 0; i < SERVER_SHARED; i++) {
        shared_answer_init(&server->shared[i]);
    }
    server->at_start = *settings;
    lock_init(&server->registry.lock);
    server->registry.last = &server->registry.first;
    server->prefixes = prefix_stats_create(settings->prefix_delimiter[0], settings->detail_enabled);
    if (!server->prefixes) {
        server_fini(server);
        return false;
    }
    watch_init(settings->worker_logbuf_size, settings->watcher_logbuf_size);
    log_set_verbosity(settings->verbosity);
    push_conns(&server->conns, settings);
    return true;
}

void server_fini(struct server *server) {
    watch_fini();
    memory_end(&server->memory);
    prefix_stats_destroy(&server->prefixes);
    audit_fini(&server->audit);
    undo_fini(&server->undo);
    users_fini(&server->users);
    for (unsigned i = 0; i < SERVER_SHARED; i++) {
        shared_answer_fini(&server->shared[i]);
    }
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

/* A ratio beyond all that can be told counts as the largest. */
static uint32_t percent(double ratio) {
    double percents = ratio * 100 + 0.5;
    return percents < UINT32_MAX ? (uint32_t)percents : UINT32_MAX;
}

/* Tells the owners of settings their values. An owner takes a value that it already has without
 * effect. */
static void push(struct server *server, const struct settings *s) {
    log_set_verbosity(s->verbosity);
    push_conns(&server->conns, s);
    prefix_stats_enable(server->prefixes, s->detail_enabled);
    cache_set_tuning(server->cache, (uint32_t)s->hot_lru_pct, (uint32_t)s->warm_lru_pct,
                     percent(s->hot_max_factor), percent(s->warm_max_factor));
    cache_set_s3fifo(server->cache,
                     &(struct evict_s3fifo_knobs){(uint32_t)s->s3fifo_small_percent,
                                                  (uint32_t)s->s3fifo_ghost_percent,
                                                  (uint32_t)s->s3fifo_promote_hits,
                                                  (uint32_t)s->s3fifo_skip_percent});
    cache_set_temporary_ttl(server->cache, s->temp_lru ? s->temporary_ttl : -1);
    tuner_set_sampling(server->tuner, s->sample_rate, auto_scope(settings_policy(s)));
    /* Sets the policy at the start, after the tuner knows whether it may change it. Only then: a
     * change that the tuner made itself stays. */
    const struct evict_policy *now = cache_policy(server->cache),
                              *policy = auto_policy(settings_policy(s), now);
    if (policy != now) {
        cache_change_policy(server->cache, policy);
    }
    tuner_set_automove(server->tuner, s->slab_automove);
    tuner_set_ratio(server->tuner, s->slab_automove_ratio);
    tuner_set_window(server->tuner, (unsigned)s->slab_automove_window);
    tuner_set_geometry_rate(server->tuner, s->slab_geometry_rate);
    tuner_set_geometry_auto(server->tuner, s->slab_geometry_auto);
    tuner_set_crawler(server->tuner, s->lru_crawler, (uint32_t)s->lru_crawler_sleep,
                      (uint32_t)s->lru_crawler_tocrawl);
}

static void note_changes(struct server *server, const char *who, const struct settings *was,
                         const struct settings *is) {
    char before[AUDIT_VALUE_BYTES], after[AUDIT_VALUE_BYTES];
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        /* what flush_all sets is told by flush_all itself */
        if (row->when == SETTING_RUNTIME && !setting_same(was, is, row) &&
            row->offset != offsetof(struct settings, oldest)) {
            setting_format(was, row, before, sizeof before);
            setting_format(is, row, after, sizeof after);
            audit_add(&server->audit, who, row->stat ? row->stat : row->field, before, after);
        }
    }
}

/* Checks whether the kept settings go with today's options. If not, the options' values hold
 * again. */
static bool can_recall(const struct settings *start, const struct automove_config *modes,
                       struct settings *to) {
    const struct setting *automove = setting_find("slab_automove", strlen("slab_automove"));
    char why[SETTING_WHY_BYTES], reason[REASON_BYTES];
    if (!automove_check(modes, to->slab_automove, reason)) {
        log_warn("the memory file's slab_automove=%s is left out: %s", to->slab_automove, reason);
        setting_copy(to, start, automove);
    }
    bool can = settings_check(to, why) && descriptors_allow(to, why);
    if (!can) {
        log_warn("the memory file's settings are left out: %s", why);
    }
    return can;
}

void server_recall(struct server *server, const struct memory_file *file,
                   const struct automove_config *modes) {
    struct settings *now = server->settings, to = *now;
    char *text = malloc(MEMORY_NOTE_BYTES + 1);
    if (text != NULL && memory_note_read(file, text) > 0) {
        kept_settings_read(text, &to);
        if (!settings_same_live(&to, now) && can_recall(now, modes, &to)) {
            note_changes(server, "memory file", now, &to);
            *now = to;
            log_set_verbosity(now->verbosity);
            push_conns(&server->conns, now);
        }
    }
    free(text);
}

/* --- memory of the process --- */

bool server_memory_begin(struct server *server, char *why) {
    struct settings now;
    server_settings(server, &now);
    return memory_begin(&server->memory,
                        &(struct memory_sources){
                            .cache = server->cache,
                            .tuner = server->tuner,
                            .buffer_bytes = &server->conns.buffer_bytes,
                            .reply_bytes = &server->conns.reply_bytes,
                            .connections = &server->conns.structures,
                        },
                        &now, why);
}

/* Logs once that the memory file was removed, or another was put in its place. */
static void look_at_file(struct server *server) {
    const char *path = server->settings->memory_file;
    struct stat st;
    if (path != NULL && !server->file_gone && fstat(cache_file(server->cache), &st) == 0 &&
        st.st_nlink == 0) {
        server->file_gone = true;
        log_warn("%s is in use and was removed: the next start has none of its items, unless "
                 "slatectl save and load carry them over",
                 path);
    }
}

void server_memory_look(struct server *server) {
    struct settings now;
    look_at_file(server);
    server_settings(server, &now);
    memory_look(&server->memory, &now, clock_mono_us());
}

void server_memory_facts(struct server *server, struct memory_facts *facts) {
    struct settings now;
    server_settings(server, &now);
    memory_facts(&server->memory, &now, facts);
}

/* Changes settings. `step` gets the settings before and after; NULL: the caller does not want
 * them. */
static bool change(struct server *server, const char *who, const struct settings *from,
                   const struct settings *to, struct undo_step *step, char *why) {
    struct settings was, now;
    if (to->maxconns != from->maxconns && !descriptors_allow(to, why)) {
        return false;
    }
    if (to->maxbytes != from->maxbytes &&
        !cache_set_limit(server->cache, memory_allows(&server->memory, to))) {
        snprintf(why, SETTING_WHY_BYTES, "that much memory was not reserved at the start, or more "
                                         "is in use and may not be given back");
        return false;
    }
    lock_take(&server->lock);
    was = *server->settings;
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->when == SETTING_RUNTIME && !setting_same(from, to, row)) {
            setting_copy(server->settings, to, row);
        }
    }
    now = *server->settings;
    server->settings_version++;
    kept_settings_write(server->cache, &server->at_start, &now);
    lock_release(&server->lock);
    note_changes(server, who, &was, &now);
    if (step) {
        step->was = was;
        step->is = now;
    }

    /* Tells the owners without the server's lock, because they take their own. A thread that finds
     * that another change came meanwhile tells them again; so the last thread leaves them with the
     * latest values. */
    unsigned told = settings_version(server, &now), latest;
    do {
        push(server, &now);
        latest = told;
        told = settings_version(server, &now);
    } while (told != latest);
    if (strcmp(was.policy, now.policy) != 0) { /* one that is asked for is that of all classes */
        cache_set_policy(server->cache, cache_policy(server->cache), SLAB_CLASS_NONE);
    }
    return true;
}

bool server_change(struct server *server, const char *who, const struct settings *from,
                   const struct settings *to, char *why) {
    struct undo_step *step = undo_begin(server->cache);
    if (!change(server, who, from, to, step, why)) {
        free(step);
        return false;
    }
    undo_keep(&server->undo, server->cache, step);
    return true;
}

static bool undo_step_of(struct server *server, const char *who, const struct undo_step *step,
                         char *said) {
    struct settings from, to;
    char why[SETTING_WHY_BYTES];
    server_settings(server, &from);
    to = from;
    undo_settings(step, &to);
    if (!settings_check(&to, why) || !change(server, who, &from, &to, NULL, why)) {
        snprintf(said, UNDO_SAID_BYTES, "%s", why);
        return false;
    }
    undo_say(step, said);
    if (undo_policies(step, server->cache) > 0) {
        audit_add(&server->audit, who, "config undo", "", said);
    }
    return true;
}

void server_undo_settings(struct server *server, struct settings *to) {
    lock_take(&server->undo.lock);
    if (server->undo.count > 0) {
        undo_settings(server->undo.steps[server->undo.count - 1], to);
    }
    lock_release(&server->undo.lock);
}

int server_undo(struct server *server, const char *who, char said[UNDO_SAID_BYTES]) {
    struct undo_step *step = undo_take(&server->undo);
    if (!step) {
        return 0;
    }
    if (!undo_step_of(server, who, step, said)) {
        undo_give(&server->undo, step);
        return -1;
    }
    free(step);
    return 1;
}

void server_automove_failed(void *arg, const char *mode, const char *now, const char *why) {
    struct server *server = arg;
    const struct setting *row = setting_find("slab_automove", strlen("slab_automove"));
    struct settings was, is;
    char said[SETTING_WHY_BYTES];
    lock_take(&server->lock);
    was = is = *server->settings;
    if (strcmp(was.slab_automove, mode) == 0 && setting_set(&is, row, now, false, said)) {
        setting_copy(server->settings, &is, row);
        server->settings_version++;
        kept_settings_write(server->cache, &server->at_start, server->settings);
    }
    lock_release(&server->lock);
    snprintf(said, sizeof said, "tuner: %s failed: %s", mode, why);
    note_changes(server, said, &was, &is);
}

void server_prediction_came(void *arg, const char *words) {
    struct server *server = arg;
    audit_add(&server->audit, "tuner", "prediction", "", words);
}

/* Also in a handler of signals, which may interrupt net_destroy: so one word tells all. */
static void wake_main(const struct server *server) {
    void *arg = atomic_load_explicit(&server->on_stop_arg, memory_order_acquire);
    if (arg) {
        server->on_stop(arg);
    }
}

void server_request_stop(struct server *server, enum server_stop how) {
    atomic_store_explicit(&server->stop, (int)how, memory_order_release);
    wake_main(server);
}

void server_request_reload(struct server *server) {
    atomic_store_explicit(&server->reload, true, memory_order_release);
    wake_main(server);
}

void server_request_takeover(struct server *server) {
    atomic_store_explicit(&server->takeover, true, memory_order_release);
    wake_main(server);
}

void server_reload(struct server *server) {
    char why[SERVER_TLS_WHY_BYTES];
    if (!atomic_exchange_explicit(&server->reload, false, memory_order_acquire)) {
        return;
    }
    if (server->tls.reload != NULL && !server->tls.reload(server->tls.reload_arg, why)) {
        log_warn("the certificates stay as they are: %s", why);
    }
    if (server->users.path != NULL && !users_load(&server->users, why)) {
        log_warn("the users stay as they are: %s", why);
    }
}

/* --- counters --- */

static void sum_workers(const struct server *server, struct serve_values *values) {
    memset(values, 0, sizeof *values);
    for (unsigned i = 0; i < server->worker_count; i++) {
        counter_sum((uint64_t *)values, (const struct counter *)server->workers[i],
                    SERVE_COUNTER_COUNT);
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

uint64_t server_log_lost(struct server *server) {
    lock_take(&server->lock);
    uint64_t before = server->baseline.log_lost;
    lock_release(&server->lock);
    return log_lost() - before;
}

void server_reset_counters(struct server *server) {
    struct server_baseline base;
    memset(&base, 0, sizeof base);
    base.log_lost = log_lost();
    sum_workers(server, &base.serve);
    tuner_facts(server->tuner, &base.tune);
    watch_facts(&base.watch);
    base.conns_total = atomic_load_explicit(&server->conns.total, memory_order_relaxed);
    base.conns_rejected = atomic_load_explicit(&server->conns.rejected, memory_order_relaxed);
    base.listen_disabled_num =
        atomic_load_explicit(&server->conns.listen_disabled_num, memory_order_relaxed);
    base.listen_disabled_us =
        atomic_load_explicit(&server->conns.listen_disabled_us, memory_order_relaxed);
    base.handshake_errors =
        atomic_load_explicit(&server->tls.handshake_errors, memory_order_relaxed);
    base.proto_errors = atomic_load_explicit(&server->tls.proto_errors, memory_order_relaxed);
    base.new_sessions = atomic_load_explicit(&server->tls.new_sessions, memory_order_relaxed);
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
    record->number = registry->number++;
    record->link = registry->last; /* in the order of their coming, listeners first */
    *registry->last = record;
    registry->last = &record->next;
    lock_release(&registry->lock);
}

void conn_registry_remove(struct conn_registry *registry, struct conn_record *record) {
    lock_take(&registry->lock);
    for (struct conn_cursor *c = registry->cursors; c; c = c->next) {
        c->at = c->at == record ? record->next : c->at;
    }
    *record->link = record->next;
    if (record->next) {
        record->next->link = record->link;
    } else {
        registry->last = record->link;
    }
    lock_release(&registry->lock);
}

void conn_cursor_begin(struct conn_registry *registry, struct conn_cursor *cursor) {
    lock_take(&registry->lock);
    *cursor = (struct conn_cursor){.at = registry->first,
                                   .end = registry->number,
                                   .next = registry->cursors,
                                   .link = &registry->cursors};
    if (cursor->next) {
        cursor->next->link = &cursor->next;
    }
    registry->cursors = cursor;
    lock_release(&registry->lock);
}

void conn_cursor_end(struct conn_registry *registry, struct conn_cursor *cursor) {
    lock_take(&registry->lock);
    *cursor->link = cursor->next;
    if (cursor->next) {
        cursor->next->link = cursor->link;
    }
    lock_release(&registry->lock);
}

const struct conn_record *conn_cursor_next_locked(struct conn_cursor *cursor) {
    const struct conn_record *record = cursor->at;
    if (!record || record->number >= cursor->end) {
        return NULL;
    }
    cursor->at = record->next;
    return record;
}
