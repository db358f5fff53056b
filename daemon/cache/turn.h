/* A thread's turns, for the files of this folder. See epoch.h. */
#ifndef SLATE_CACHE_TURN_H
#define SLATE_CACHE_TURN_H
#include "cache/partition.h"

/* Waits a little, outside the turn: the one we wait for may be waiting for us. */
void     turn_rest(struct cache_thread *);
#endif
