/* Carrying out a move. */
#include <stdio.h>

#include "base/clock.h"
#include "tune/state.h"

void tuner_count_help(struct tuner *t) {
    struct move_result result = {.pages = 0};
    t->helped.pages = mover_count_help(&t->mover, &result);
    move_log_count(&t->moves, &result);
    if (result.pages > 0) {
        result.duration_us = clock_mono_us() - t->helped_us;
        move_log_add(&t->moves, t->helped_by, &t->helped, &result);
    }
}

unsigned tuner_move(struct tuner *t, const char *by, const struct page_move *move) {
    struct move_result result;
    tuner_count_help(t);
    atomic_store_explicit(&t->moving, true, memory_order_relaxed);
    mover_move(&t->mover, move, &result);
    move_log_count(&t->moves, &result);
    atomic_store_explicit(&t->moving, false, memory_order_relaxed);
    move_log_add(&t->moves, by, move, &result);
    if (move->helped > 0) {
        t->helped = *move;
        t->helped_us = clock_mono_us();
        t->help_until_us = t->helped_us + HELP_IDLE_US;
        snprintf(t->helped_by, sizeof t->helped_by, "%s", by);
    }
    return (unsigned)result.pages;
}
