/* Calls the mode of automove for decisions, and carries them out. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "control/tuner_state.h"

enum {
    WINDOW_US = 1000 * 1000,
    AGES_MAX_US = 100 * 1000, /* a decision at need uses ages that were read so long ago at most */
    NEED_RETRY_US = 5 * 1000, /* from a decision at need without moves to the next one */
};

static struct automove_config decide_config(struct tuner *t) {
    return (struct automove_config){.cache = t->cache,
                                    .policy_dir = t->policy_dir,
                                    .ratio = t->settings.automove_ratio,
                                    .window_s = t->settings.automove_window_s,
                                    .wake = t->by_hand ? NULL : tuner_wake,
                                    .wake_arg = t};
}

/* --- the mode --- */

static void decide_set_why(struct tuner *t, const char *why) {
    char state[REASON_BYTES];
    active_describe(&t->active, state, sizeof state);
    lock_take(&t->lock);
    snprintf(t->words.why, sizeof t->words.why, "%s", why);
    snprintf(t->words.state, sizeof t->words.state, "%s", state);
    lock_release(&t->lock);
}

/* Ends the mode that runs, starts another, and sets up the cache for that mode. */
static bool decide_run_mode(struct tuner *t, const struct automove_mode *mode, const char *argument,
                            char *why) {
    const struct automove_config cfg = decide_config(t);
    bool started = active_switch(&t->active, mode, argument, &cfg, why);
    cache_set_starved_on_evict(t->cache, t->active.mode->starved_on_evict);
    t->before.class_count = 0;
    t->window_us = 0;
    t->decision.count = 0; /* the previous mode's decision is void */
    if (t->decided_moves) {
        moves_cancel(t);
    }
    lock_take(&t->lock);
    t->worth.known = false;
    snprintf(t->words.mode, sizeof t->words.mode, "%s%s", t->active.mode->name,
             t->active.argument);
    lock_release(&t->lock);
    return started;
}

/* Starts the previous mode, or off if there was none, or if that mode cannot start either. */
static void decide_run_previous(struct tuner *t) {
    struct automove_name before = t->last;
    char ignored[REASON_BYTES];
    /* if that mode fails later, off runs instead */
    t->last = (struct automove_name){&automove_off, ""};
    if (before.mode == NULL || !decide_run_mode(t, before.mode, before.argument, ignored)) {
        decide_run_mode(t, &automove_off, "", ignored);
    }
}

/* The mode has failed: another one runs instead. */
static void decide_fall_back(struct tuner *t, const struct automove_mode *mode,
                             const char *argument, const char *why) {
    char name[2 * AUTOMOVE_NAME_BYTES], now[2 * AUTOMOVE_NAME_BYTES];
    snprintf(name, sizeof name, "%s%s", mode->name, argument);
    decide_run_previous(t);
    snprintf(now, sizeof now, "%s%s", t->active.mode->name, t->active.argument);
    lock_take(&t->lock);
    snprintf(t->words.failed, sizeof t->words.failed, "%s: %s", name, why);
    lock_release(&t->lock);
    log_warn("automove %s failed, %s takes its place: %s", name, now, why);
    if (t->on_failure != NULL) {
        t->on_failure(t->on_failure_arg, name, now, why);
    }
}

bool tuner_set_automove(struct tuner *t, const char *name) {
    char why[REASON_BYTES] = "";
    const char *argument;
    const struct automove_mode *mode = automove_find(name, &argument);
    if (mode == NULL || active_runs(&t->active, mode, argument)) {
        return mode != NULL;
    }
    t->last.mode = t->active.mode;
    snprintf(t->last.argument, sizeof t->last.argument, "%s", t->active.argument);
    lock_take(&t->lock);
    t->words.failed[0] = '\0';
    lock_release(&t->lock);
    bool started = decide_run_mode(t, mode, argument, why);
    decide_set_why(t, "nothing was decided yet");
    if (!started) {
        decide_fall_back(t, mode, argument, why);
    }
    return true;
}

/* --- a decision, which is carried out move by move --- */

static bool decide_has_moves(const struct tuner *t) { return t->decided_at < t->decision.count; }

/* Begins to carry out a decision. */
static void decide_begin(struct tuner *t, bool any, const struct decision *d) {
    if (d->failed) {
        const struct automove_mode *mode = t->active.mode;
        char argument[AUTOMOVE_NAME_BYTES];
        memcpy(argument, t->active.argument, sizeof argument);
        decide_fall_back(t, mode, argument, d->why);
        return;
    }
    decide_set_why(t, any ? d->moves[0].reason : d->why);
    if (any) {
        t->decision = *d;
        t->decided_at = t->decided_moved = 0;
    }
}

void decide_move_ended(struct tuner *t, const struct current_move *c, unsigned moved,
                       uint64_t now_us) {
    t->decided_moves = false;
    if (!decide_has_moves(t)) {
        return; /* another mode runs now */
    }
    if (t->active.mode->moved != NULL) {
        t->active.mode->moved(t->active.state, &c->move, moved);
    }
    t->decided_moved += moved;
    t->decided_at++;
    if (!decide_has_moves(t) && t->decided_moved == 0 && t->decided_at_need) {
        t->need_retry_us = now_us + NEED_RETRY_US;
    }
}

static void decide_again(struct tuner *t, const struct decision *d, uint64_t now_us) {
    uint64_t at_us = now_us + d->again_us;
    if (d->again_us > 0 && at_us < t->window_us) {
        t->window_us = at_us;
    }
}

/* --- at need: as long as classes are starved and others have pages to spare --- */

static void decide_at_need(struct tuner *t, uint64_t now_us) {
    if (!t->reassign || t->active.mode->at_need == NULL || now_us < t->need_retry_us) {
        return;
    }
    struct class_set starved = cache_take_starved(t->cache);
    if (class_set_empty(&starved)) {
        return;
    }
    if (now_us - t->ages_us > AGES_MAX_US) {
        snapshot_take(t->cache, &starved, &t->now);
        t->ages_us = now_us;
    } else {
        snapshot_refresh(t->cache, &starved, &t->now);
    }
    t->now.time_us = now_us;
    if (t->active.mode->wants_pages) {
        snapshot_pages(t->cache, &t->now);
    }
    struct decision d = {.count = 0};
    bool any = t->active.mode->at_need(t->active.state, &t->now, &d);
    decide_again(t, &d, now_us);
    t->decided_at_need = true;
    decide_begin(t, any, &d);
    if (!decide_has_moves(t)) {
        t->need_retry_us = now_us + NEED_RETRY_US;
    }
}

/* --- each window --- */

/* Takes a decision that came later. True: the mode has not decided yet. */
static bool decide_take_late(struct tuner *t) {
    struct decision d = {.count = 0};
    t->decided_at_need = false;
    if (t->active.mode->decided != NULL && t->active.mode->decided(t->active.state, &d)) {
        decide_begin(t, d.count > 0, &d);
    }
    return d.later;
}

/* Whether there is nothing to decide, as for most modes while the pool has pages. Then no snapshot
 * is taken, which is costly with a large cache. */
static bool decide_is_idle(struct tuner *t) {
    uint32_t pages_free = arena_pages_free(cache_slab(t->cache)->arena);
    char why[REASON_BYTES];
    if (t->active.mode->each_window == NULL) {
        if (t->active.mode->at_need == NULL) {
            decide_set_why(
                t, cache_store_kind(t->cache) == CACHE_STORE_SLAB
                       ? "automove is off"
                       : "there are no pages to move: only --store=slab has classes of pages");
        }
        return true;
    }
    if (!t->reassign) {
        decide_set_why(t, "slab_reassign is off");
        return true;
    }
    if (pages_free > 0 && !t->active.mode->with_free_pages) {
        snprintf(why, sizeof why, "the pool has %u pages", pages_free);
        decide_set_why(t, why);
        return true;
    }
    return false;
}

/* Stores the worth of pages in this decision, for `stats automove`. */
static void decide_save_worth(struct tuner *t, const struct snapshot *s) {
    if (t->active.mode->worth == NULL || t->before.class_count == 0) {
        return;
    }
    struct tuner_worth w = {.known = true, .requests = s->requests, .class_count = s->class_count};
    t->active.mode->worth(t->active.state, s, w.classes);
    for (unsigned i = 1; i <= s->class_count; i++) {
        w.pages[i] = s->classes[i].pages;
    }
    lock_take(&t->lock);
    t->worth = w;
    lock_release(&t->lock);
}

static void decide_take_curve(struct whatif *whatif, unsigned class_id, struct class_curve *to) {
    static_assert((int)CLASS_CURVE_POINTS == (int)WHATIF_POINTS, "a curve has all its points");
    struct whatif_curve curve;
    to->count = whatif_curve(whatif, class_id, &curve) ? CLASS_CURVE_POINTS : 0;
    for (unsigned i = 0; i < to->count; i++) {
        to->points[i].bytes = curve.points[i].bytes;
        to->points[i].hit_ratio = curve.points[i].hit_ratio;
    }
}

/* Adds the curves of the classes to the snapshot, if this decision needs them. */
static void decide_add_curves(struct tuner *t, struct snapshot *after) {
    const struct automove_mode *mode = t->active.mode;
    if (mode->wants_curves == NULL || t->before.class_count == 0 ||
        !mode->wants_curves(t->active.state, &t->before, after)) {
        return;
    }
    if (t->curves == NULL) {
        t->curves = calloc(SLAB_CLASSES_MAX, sizeof *t->curves);
    }
    for (unsigned i = 1; t->curves != NULL && i <= after->class_count; i++) {
        t->curves[i].count = 0;
        if (snapshot_class_listed(&after->classes[i])) {
            decide_take_curve(t->whatif, i, &t->curves[i]);
        }
    }
    after->curves = t->curves;
}

static void decide_window(struct tuner *t, uint64_t now_us) {
    uint32_t window_us = t->active.mode->window_us;
    const struct automove_config cfg = decide_config(t);
    char why[REASON_BYTES];
    if (!active_configure(&t->active, &cfg, why)) {
        log_warn("automove %s keeps its settings: %s", t->active.mode->name, why);
    }
    t->window_us = now_us + (window_us > 0 ? window_us : WINDOW_US);
    if (decide_take_late(t) || decide_has_moves(t)) {
        return;
    }
    if (decide_is_idle(t)) {
        t->before.class_count = 0;
        return;
    }
    static const struct class_set nobody;
    struct snapshot after;
    struct decision d = {.count = 0};
    snapshot_take(t->cache, &nobody, &after);
    after.time_us = now_us;
    after.epoch_us = t->epoch_us;
    if (t->active.mode->wants_pages) {
        snapshot_pages(t->cache, &after);
    }
    decide_add_curves(t, &after);
    if (t->automove_trace != NULL && t->active.mode == &automove_lua) {
        automove_trace_add(t->automove_trace, &after);
    }
    if (t->before.class_count != 0) {
        bool any = t->active.mode->each_window(t->active.state, &t->before, &after, &d);
        if (!d.later) {
            decide_begin(t, any, &d);
        }
        decide_again(t, &d, now_us);
    }
    if (!d.extend) {
        decide_save_worth(t, &after);
        t->before = after;
        t->before.curves = NULL;
    }
}

/* The next move of the decision, or of a new one. */
bool decide_next_move(struct tuner *t, struct current_move *c, uint64_t now_us, uint64_t *due_us) {
    if (!decide_has_moves(t) && now_us < t->window_us) {
        decide_at_need(t, now_us);
    }
    if (!decide_has_moves(t)) {
        decide_take_late(t);
    }
    if (!decide_has_moves(t) && now_us >= t->window_us) {
        decide_window(t, now_us);
    }
    if (!decide_has_moves(t)) {
        uint64_t at_us = t->need_retry_us > now_us && t->need_retry_us < t->window_us
                             ? t->need_retry_us
                             : t->window_us;
        *due_us = at_us < *due_us ? at_us : *due_us;
        return false;
    }
    t->decided_moves = true;
    c->move = t->decision.moves[t->decided_at];
    snprintf(c->by, sizeof c->by, "%s%s", t->active.mode->name, t->active.argument);
    return true;
}
