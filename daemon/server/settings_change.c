/* Changes settings while the server runs: checks, puts in force, passes to owners, records, undoes;
 * and restores the settings that a memory file holds. */
#include "server/settings_change.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "control/sampling/policy_auto.h"
#include "mem/settings_blob.h"
#include "server/config/saved_settings.h"
#include "server/prefix_stats.h"
#include "server/process/process.h"

/* A ratio that is too large for the type becomes the largest value. */
static uint32_t settings_percent(double ratio) {
    double percents = ratio * 100 + 0.5;
    return percents < UINT32_MAX ? (uint32_t)percents : UINT32_MAX;
}

/* A policy that a client sets applies to all classes. Otherwise the settings choose the policy only
 * where `s3auto` may not have chosen the current one. */
static void settings_apply_policy(struct cache *cache, const struct settings *was,
                                  const struct settings *is) {
    const struct evict_policy *now = cache_policy(cache),
                              *policy = auto_policy(settings_policy(is), now);
    if (strcmp(was->policy, is->policy) != 0) {
        cache_set_policy(cache, policy, SLAB_CLASS_NONE);
    } else if (policy != now) {
        cache_change_policy(cache, policy);
    }
}

struct cache_settings settings_of_cache(const struct settings *s) {
    return (struct cache_settings){
        .hot_pct = (uint32_t)s->hot_lru_pct,
        .warm_pct = (uint32_t)s->warm_lru_pct,
        .hot_factor_pct = settings_percent(s->hot_max_factor),
        .warm_factor_pct = settings_percent(s->warm_max_factor),
        .s3fifo = {.small_pct = (uint32_t)s->s3fifo_small_percent,
                   .ghost_pct = (uint32_t)s->s3fifo_ghost_percent,
                   .promote_hits = (uint32_t)s->s3fifo_promote_hits,
                   .skip_pct = (uint32_t)s->s3fifo_skip_percent,
                   .readmit_pct = 100},
        .temporary_ttl_s = s->temp_lru ? s->temporary_ttl : -1,
    };
}

struct tuner_settings settings_of_tuner(const struct settings *s) {
    return (struct tuner_settings){
        .automove_ratio = s->slab_automove_ratio,
        .automove_window_s = (unsigned)s->slab_automove_window,
        .crawler = s->lru_crawler,
        .crawler_sleep_us = (uint32_t)s->lru_crawler_sleep,
        .crawler_tocrawl = (uint32_t)s->lru_crawler_tocrawl,
        .sample_rate = s->sample_rate,
        .sample_follow = auto_follows(settings_policy(s)),
        .geometry = {.rate_pct = s->slab_geometry_rate, .follow = s->slab_geometry_auto},
    };
}

/* Hands each owner its part of the settings, in any order. A lower room cannot read struct
 * settings, so the owner has a copy, from which its next step reads. The policy and the mode of
 * automove are actions: queues are switched, and a mode starts, before the order is answered. */
static void settings_apply(struct server *server, const struct settings *was,
                           const struct settings *is) {
    log_set_verbosity(is->verbosity);
    server_set_conns(server, is);
    prefix_stats_enable(server->prefixes, is->detail_enabled);
    const struct cache_settings of_cache = settings_of_cache(is);
    const struct tuner_settings of_tuner = settings_of_tuner(is);
    cache_set(server->cache, &of_cache);
    tuner_set(server->tuner, &of_tuner);
    settings_apply_policy(server->cache, was, is);
    tuner_set_automove(server->tuner, is->slab_automove);
}

static void settings_audit_changes(struct server *server, const char *who,
                                   const struct settings *was, const struct settings *is) {
    char before[AUDIT_VALUE_BYTES], after[AUDIT_VALUE_BYTES];
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        /* flush_all records its own change */
        if (row->when == SETTING_RUNTIME && !setting_same(was, is, row) &&
            row->offset != offsetof(struct settings, oldest)) {
            setting_format(was, row, before, sizeof before);
            setting_format(is, row, after, sizeof after);
            audit_add(&server->audit, who, row->stat ? row->stat : row->field, before, after);
        }
    }
}

/* --- settings saved in a memory file --- */

/* Copies each value of `to` into `good`, if `good` passes the checks with that value. */
static void settings_take_fitting(struct settings *good, const struct settings *to) {
    char why[SETTING_WHY_BYTES];
    for (bool more = true; more;) { /* a value may pass only after a later one is set */
        more = false;
        for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
            struct settings with = *good;
            if (row->when == SETTING_RUNTIME && !setting_same(good, to, row)) {
                setting_copy(&with, to, row);
                if (settings_check(&with, why) && process_descriptors_allow(&with, why)) {
                    *good = with;
                    more = true;
                }
            }
        }
    }
}

/* Logs each value that was left out, with the reason. */
static void settings_log_unfitting(const struct settings *good, const struct settings *to) {
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        struct settings with = *good;
        char why[SETTING_WHY_BYTES] = "";
        if (row->when == SETTING_RUNTIME && !setting_same(good, to, row)) {
            setting_copy(&with, to, row);
            settings_check(&with, why);
            log_warn("the memory file's %s is left out: %s",
                     row->name != NULL ? row->name : row->field, why);
        }
    }
}

void settings_restore(struct server *server, struct settings *now, const struct memory_file *file,
                      const struct automove_config *modes) {
    const struct setting *automove = setting_find("slab_automove", strlen("slab_automove"));
    struct settings to = *now, good = *now;
    char reason[REASON_BYTES], *text = malloc(SETTINGS_BLOB_BYTES + 1);
    if (text != NULL && settings_blob_read(file, text) > 0) {
        saved_settings_read(text, &to);
        if (!automove_check(modes, to.slab_automove, reason)) {
            log_warn("the memory file's slab_automove=%s is left out: %s", to.slab_automove,
                     reason);
            setting_copy(&to, now, automove);
        }
        settings_take_fitting(&good, &to);
        settings_log_unfitting(&good, &to);
        if (!settings_same_live(&good, now)) {
            published_set(&server->settings, &good);
            settings_audit_changes(server, "memory file", now, &good);
            *now = good;
            log_set_verbosity(good.verbosity);
            server_set_conns(server, &good);
        }
    }
    free(text);
}

/* --- changes --- */

static void settings_write_to_file(struct server *server) {
    saved_settings_write(server->cache, &server->at_start, server_settings_now(server));
}

/* Publishes checked settings. The caller passes them to their owners. */
static void settings_publish(struct server *server, const char *who, const struct settings *is) {
    struct settings was = *server_settings_now(server);
    published_set(&server->settings, is);
    settings_write_to_file(server);
    settings_audit_changes(server, who, &was, is);
}

/* Copies the RUNTIME values of `to` into the settings in force. */
static bool settings_put_in_force(struct server *server, const char *who, const struct settings *to,
                                  char *why) {
    const struct settings was = *server_settings_now(server);
    struct settings is = was;
    if (!settings_check(to, why) ||
        (to->maxconns != is.maxconns && !process_descriptors_allow(to, why))) {
        return false;
    }
    if (to->maxbytes != is.maxbytes &&
        !cache_set_limit(server->cache, memory_allowed_bytes(&server->memory, to))) {
        return setting_refuse(why, "that much memory was not reserved at the start, or more is in "
                                   "use and may not be given back");
    }
    for (const struct setting *row = setting_table; row < setting_table + SETTING_ROWS; row++) {
        if (row->when == SETTING_RUNTIME) {
            setting_copy(&is, to, row);
        }
    }
    settings_publish(server, who, &is);
    settings_apply(server, &was, &is);
    return true;
}

bool settings_change(struct server *server, const char *who, const struct settings *to, char *why) {
    struct settings was = *server_settings_now(server);
    if (settings_same_live(&was, to)) {
        return settings_check(to, why); /* the owners have these values already */
    }
    struct undo_step *step = undo_begin(server->cache, &was);
    if (!settings_put_in_force(server, who, to, why)) {
        free(step);
        return false;
    }
    undo_commit(&server->undo, server->cache, server_settings_now(server), step);
    return true;
}

static bool settings_undo_step(struct server *server, const char *who, const struct undo_step *step,
                               char *text) {
    struct settings to = *server_settings_now(server);
    char why[SETTING_WHY_BYTES];
    undo_settings(step, &to);
    if (!settings_put_in_force(server, who, &to, why)) {
        snprintf(text, UNDO_TEXT_BYTES, "%s", why);
        return false;
    }
    undo_describe(step, server->cache, text);
    if (undo_policies(step, server->cache) > 0) {
        audit_add(&server->audit, who, "config undo", "", text);
    }
    return true;
}

void settings_preview_undo(const struct server *server, struct settings *to) {
    const struct undo_step *last = undo_last(&server->undo);
    if (last != NULL) {
        undo_settings(last, to);
    }
}

int settings_undo(struct server *server, const char *who, char text[UNDO_TEXT_BYTES]) {
    const struct undo_step *last = undo_last(&server->undo);
    if (last == NULL) {
        return 0;
    }
    if (!settings_undo_step(server, who, last, text)) {
        return -1;
    }
    undo_drop_last(&server->undo);
    return 1;
}

void settings_automove_failed(void *arg, const char *mode, const char *now, const char *why) {
    struct server *server = arg;
    const struct setting *row = setting_find("slab_automove", strlen("slab_automove"));
    struct settings is = *server_settings_now(server);
    char text[SETTING_WHY_BYTES];
    if (strcmp(is.slab_automove, mode) == 0 && setting_set(&is, row, now, false, text)) {
        char who[SETTING_WHY_BYTES];
        snprintf(who, sizeof who, "tuner: %s failed: %s", mode, why);
        settings_publish(server, who,
                         &is); /* the control room already runs that mode */
    }
}

void settings_prediction_came(void *arg, const char *words) {
    struct server *server = arg;
    audit_add(&server->audit, "tuner", "prediction", "", words);
}

void settings_own_sizes(void *arg, const char *was, const char *is) {
    struct server *server = arg;
    audit_add(&server->audit, "the server itself", "chunk sizes", was, is);
}

void settings_save(struct server *server) { server_post(server, settings_write_to_file); }
