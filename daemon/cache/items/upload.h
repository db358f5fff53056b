/* Items whose values are not written yet. No lock held. */
#ifndef SLATE_CACHE_ITEMS_UPLOAD_H
#define SLATE_CACHE_ITEMS_UPLOAD_H
#include "cache/partition.h"

/* Creates an item with memory for its complete value; the caller writes the value. NULL: no
 * memory. */
struct item *upload_make_item(struct cache_thread *, const struct key *, uint8_t flags,
                              uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
/* Returns the upload's item, and releases its share of the quota. */
struct item *upload_take_item(struct cache_thread *, struct cache_upload *taken);
#endif
