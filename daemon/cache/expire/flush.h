/* Flushes: flush_all at once or at a later time. */
#ifndef SLATE_CACHE_EXPIRE_FLUSH_H
#define SLATE_CACHE_EXPIRE_FLUSH_H
#include "cache/partition.h"

/* Performs the pending flush once its time has come. */
void flush_if_due(struct cache *, uint32_t now_s);
#endif
