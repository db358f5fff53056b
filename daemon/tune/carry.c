/* Carrying out a move. */
#include "tune/state.h"

unsigned tuner_move(struct tuner *t, const char *by, const struct page_move *move) {
    struct move_result result;
    atomic_store_explicit(&t->moving, true, memory_order_relaxed);
    mover_move(&t->mover, move, &result);
    atomic_store_explicit(&t->moving, false, memory_order_relaxed);
    move_log_add(&t->moves, by, move, &result);
    return result.pages;
}
