/* A thread's turns (epoch.h), and how long a store waits for memory that others hold for a moment;
 * for the files of this folder. */
#ifndef SLATE_CACHE_PAGES_EPOCH_TURN_H
#define SLATE_CACHE_PAGES_EPOCH_TURN_H
#include "cache/partition.h"

/* Rests a little outside the turn: the thread that the caller waits for may be waiting for this
 * one. */
void turn_pause(struct cache_thread *);
/* Whether a store may go on looking for memory. `give_up_us` is 0 before the first call for a
 * store, which begins its time. */
bool turn_wait_left(const struct cache_thread *, uint64_t *give_up_us);
/* Rests outside the turn, so that drafts, values on their way to clients and pages on the move may
 * become free; the caller then tries again. `give_up_us` as of turn_wait_left. False, at once: the
 * store waited for the cache's patience, or another did lately and no thread fetches a page, and is
 * to be refused. No lock held, and no reference. */
bool turn_wait_for_memory(struct cache_thread *, uint64_t *give_up_us);
#endif
