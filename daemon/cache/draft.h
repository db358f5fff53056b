/* Items whose values are still to be written. No lock held. */
#ifndef SLATE_CACHE_DRAFT_H
#define SLATE_CACHE_DRAFT_H
#include "cache/partition.h"

/* An item with memory for its whole value, not written; NULL: no memory. */
struct item *draft_whole(struct cache_thread *, const struct key *, uint8_t flags,
                         uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
/* The draft's item, which counts no longer against what drafts may hold. */
struct item *draft_take(struct cache_thread *, struct cache_draft *taken);
#endif
