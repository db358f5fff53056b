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

/* What is sampled is put in at once, for any thread may read under what-if's lock which policies
 * it follows. The order that sets makes all tasks due. */
void tuner_set(struct tuner *t, const struct tune_settings *s) {
    t->settings = *s;
    whatif_set(t->whatif, s->sample_rate, s->sample_follow);
}
