/* A thread's turns, for the files of this folder. See epoch.h. */
#ifndef SLATE_CACHE_TURN_H
#define SLATE_CACHE_TURN_H
#include "cache/partition.h"

/* Rests a little outside the turn: the thread that the caller waits for may be waiting for this
 * one. */
void     turn_rest(struct cache_thread *);
#endif
