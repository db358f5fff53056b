/* The settings of the tuner, which change while it runs: any thread sets them, the tuner's thread
 * follows. */
#include <stdio.h>
#include <string.h>

#include "tune/state.h"

static bool same_mode(const struct automove_wish *w, const struct automove_mode *mode,
                      const char *argument) {
    return w->mode == mode && strcmp(w->argument, argument) == 0;
}

bool tuner_set_automove(struct tuner *t, const char *name) {
    const char *argument;
    const struct automove_mode *mode = automove_find(name, &argument);
    if (mode == NULL) {
        return false;
    }
    lock_take(&t->lock);
    if (!same_mode(&t->wish, mode, argument)) {
        t->wish.mode = mode;
        snprintf(t->wish.argument, sizeof t->wish.argument, "%s", argument);
        t->wish.since = ++t->wish.version;
        t->words.failed[0] = '\0';
        /* the mode has been adopted, but has said nothing yet */
        tuner_forget_words(&t->words);
    }
    lock_release(&t->lock);
    tuner_wake(t);
    return true;
}

void tuner_automove(struct tuner *t, char to[AUTOMOVE_NAME_BYTES]) {
    lock_take(&t->lock);
    automove_spell(t->wish.mode, t->wish.argument, to);
    lock_release(&t->lock);
}

bool tuner_set_ratio(struct tuner *t, double ratio) {
    if (!(ratio >= 0.01 && ratio <= 1)) {
        return false;
    }
    lock_take(&t->lock);
    t->wish.version += t->wish.ratio < ratio || t->wish.ratio > ratio;
    t->wish.ratio = ratio;
    lock_release(&t->lock);
    return true;
}

bool tuner_set_window(struct tuner *t, unsigned window_s) {
    if (window_s < AUTOMOVE_WINDOW_MIN || window_s > AUTOMOVE_WINDOW_MAX) {
        return false;
    }
    lock_take(&t->lock);
    t->wish.version += t->wish.window_s != window_s;
    t->wish.window_s = window_s;
    lock_release(&t->lock);
    return true;
}

void tuner_set_geometry_rate(struct tuner *t, double rate_pct) {
    geometry_set_rate(t->geometry, rate_pct);
    tuner_wake(t);
}

void tuner_set_geometry_auto(struct tuner *t, bool on) {
    geometry_follow(t->geometry, on);
    tuner_wake(t);
}

void tuner_set_sampling(struct tuner *t, double rate, enum auto_scope follow) {
    whatif_set(t->whatif, rate, follow);
    tuner_wake(t);
}

void tuner_set_crawler(struct tuner *t, bool enabled, uint32_t sleep_us, uint32_t tocrawl) {
    atomic_store_explicit(&t->crawler_sleep_us, sleep_us, memory_order_relaxed);
    atomic_store_explicit(&t->crawler_tocrawl, tocrawl, memory_order_relaxed);
    atomic_store_explicit(&t->crawler_on, enabled, memory_order_relaxed);
}
