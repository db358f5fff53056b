/* What the tuner tells of itself, on any thread; and its settings. */
#include "control/state.h"

void tuner_wake(void *arg) { control_wake(&((struct tuner *)arg)->control); }

struct control *tuner_control(struct tuner *t) { return &t->control; }

struct move_log *tuner_moves(struct tuner *t) { return &t->moves; }

void tuner_words(struct tuner *t, struct tune_words *w) {
    lock_take(&t->lock);
    *w = t->words;
    lock_release(&t->lock);
}

void tuner_worth(struct tuner *t, struct tune_worth *w) {
    lock_take(&t->lock);
    *w = t->worth;
    lock_release(&t->lock);
}

void tuner_facts(struct tuner *t, struct tune_facts *f) {
    *f = (struct tune_facts){
        .moving = atomic_load_explicit(&t->requested, memory_order_relaxed) ||
                  atomic_load_explicit(&t->moving, memory_order_relaxed),
        .crawling = atomic_load_explicit(&t->crawler.running, memory_order_relaxed),
        .pages_over = tuner_pages_over(t),
        .crawler_starts = atomic_load_explicit(&t->crawler.starts, memory_order_relaxed),
        .moved = move_log_sums(&t->moves),
    };
}

void tuner_geometry(struct tuner *t, struct geometry_facts *f) { geometry_facts(t->geometry, f); }

struct whatif *tuner_whatif(struct tuner *t) { return t->whatif; }

/* --- settings that change while it runs --- */

void tuner_set_geometry(struct tuner *t, double rate_pct, bool follow) {
    geometry_set(t->geometry, rate_pct, follow);
    tuner_wake(t);
}

void tuner_set_sampling(struct tuner *t, double rate, enum auto_scope follow) {
    whatif_set(t->whatif, rate, follow);
    tuner_wake(t);
}

void tuner_set_crawler(struct tuner *t, bool enabled, uint32_t sleep_us, uint32_t tocrawl) {
    t->crawler_on = enabled;
    t->crawler_sleep_us = sleep_us;
    t->crawler_tocrawl = tocrawl;
}
