/* Items whose values are still to be written. No lock held. */
#ifndef SLATE_CACHE_ITEMS_UPLOAD_H
#define SLATE_CACHE_ITEMS_UPLOAD_H
#include "cache/partition.h"

/* Makes an item with memory for its whole value, which is not written yet. NULL: no memory. */
struct item *upload_make_item(struct cache_thread *, const struct key *, uint8_t flags,
                              uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
/* Returns the draft's item. The draft no longer counts against what drafts may hold. */
struct item *upload_take_item(struct cache_thread *, struct cache_upload *taken);
#endif
