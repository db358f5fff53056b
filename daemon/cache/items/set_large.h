/* Storing values that are large or chained. */
#ifndef SLATE_CACHE_ITEMS_SET_LARGE_H
#define SLATE_CACHE_ITEMS_SET_LARGE_H
#include "cache/partition.h"

/* As set_if_unchanged, without store_end. *class_id is what store_end wants. */
enum cache_status set_large(struct cache_thread *, const struct key *, const struct cache_store *,
                            const struct index_lookup *look, struct cache_view *,
                            unsigned *class_id);
#endif
