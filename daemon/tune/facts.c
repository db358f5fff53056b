/* What the tuner tells of itself: any thread. */
#include <stdio.h>

#include "tune/state.h"

void tuner_forget_words(struct tune_words *w) {
    snprintf(w->why, sizeof w->why, "nothing was decided yet");
    w->state[0] = '\0';
}

struct move_log *tuner_moves(struct tuner *t) { return &t->moves; }

void tuner_words(struct tuner *t, struct tune_words *w) {
    lock_take(&t->lock);
    *w = t->words;
    if (tuner_waits_for_mode_locked(t)) {
        tuner_forget_words(w);
    }
    snprintf(w->mode, sizeof w->mode, "%s%s", t->wish.mode->name, t->wish.argument);
    lock_release(&t->lock);
}

void tuner_worth(struct tuner *t, struct tune_worth *w) {
    lock_take(&t->lock);
    *w = t->worth;
    lock_release(&t->lock);
}

void tuner_facts(struct tuner *t, struct tune_facts *f) {
    lock_take(&t->lock);
    double ratio = t->wish.ratio;
    unsigned window_s = t->wish.window_s;
    lock_release(&t->lock);
    *f = (struct tune_facts){
        .ratio = ratio,
        .window_s = window_s,
        .reassign = t->reassign,
        .moving = atomic_load_explicit(&t->requested, memory_order_relaxed) ||
                  atomic_load_explicit(&t->moving, memory_order_relaxed),
        .crawler = atomic_load_explicit(&t->crawler_on, memory_order_relaxed),
        .crawling = atomic_load_explicit(&t->crawler.running, memory_order_relaxed),
        .crawler_sleep_us = atomic_load_explicit(&t->crawler_sleep_us, memory_order_relaxed),
        .crawler_tocrawl = atomic_load_explicit(&t->crawler_tocrawl, memory_order_relaxed),
        .pages_over = tuner_pages_over(t),
        .crawler_starts = atomic_load_explicit(&t->crawler.starts, memory_order_relaxed),
        .moved = move_log_sums(&t->moves),
    };
}

void tuner_geometry(struct tuner *t, struct geometry_facts *f) { geometry_facts(t->geometry, f); }

struct whatif *tuner_whatif(struct tuner *t) { return t->whatif; }
