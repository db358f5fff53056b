/* Flushes. */
#ifndef SLATE_CACHE_FLUSH_H
#define SLATE_CACHE_FLUSH_H
#include "cache/partition.h"

/* makes the flush that was to come, once it has */
void flush_if_due(struct cache *, uint32_t now_s);
#endif
