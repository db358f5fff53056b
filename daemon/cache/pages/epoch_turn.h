/* A thread's turns (epoch.h), and the wait of a store for memory that others hold for a moment; for
 * the files of this folder. */
#ifndef SLATE_CACHE_PAGES_EPOCH_TURN_H
#define SLATE_CACHE_PAGES_EPOCH_TURN_H
#include "cache/partition.h"

/* Pauses a little outside the turn: the thread that the caller waits for may be waiting for this
 * one. */
void turn_pause(struct cache_thread *);
/* True if a store may go on searching for memory. `deadline_us` is 0 before a store's first call,
 * which sets the deadline. */
bool turn_wait_left(const struct cache_thread *, uint64_t *deadline_us);
/* Pauses outside the turn, so that uploads, values on their way to clients and pages on the move
 * may become free; then the caller tries again. `deadline_us` as in turn_wait_left. False, at once:
 * refuse the store, because its deadline is past, or because another store waited in vain lately
 * and no thread is stealing a page. No lock held, and no reference. */
bool turn_wait_for_memory(struct cache_thread *, uint64_t *deadline_us);
#endif
