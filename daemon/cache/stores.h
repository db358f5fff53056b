/* Which stores there are. */
#ifndef SLATE_CACHE_STORES_H
#define SLATE_CACHE_STORES_H
#include "cache/store_ops.h"

const struct store_ops *store_ops_of(enum cache_store_kind);
#endif
