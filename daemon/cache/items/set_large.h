/* Stores large or chained values. */
#ifndef SLATE_CACHE_ITEMS_SET_LARGE_H
#define SLATE_CACHE_ITEMS_SET_LARGE_H
#include "cache/partition.h"

/* As set_if_unchanged, without store_end. Sets *class_id for store_end. */
enum cache_status set_large(struct cache_thread *, const struct key *, const struct cache_store *,
                            const struct index_lookup *seen, struct cache_view *,
                            unsigned *class_id);
#endif
