/* Which stores there are, by kind and by name. */
#include "cache/stores.h"

#include <string.h>

static const struct store_ops *const stores[CACHE_STORE_KINDS] = {
    [CACHE_STORE_SLAB] = &store_slabs,
    [CACHE_STORE_HEAP] = &store_heap,
    [CACHE_STORE_BLOCKS] = &store_blocks,
};

const struct store_ops *store_ops_of(enum cache_store_kind kind) { return stores[kind]; }
const char *cache_store_name(enum cache_store_kind kind) { return stores[kind]->name; }

enum cache_store_kind cache_store_find(const char *name) {
    enum cache_store_kind kind = CACHE_STORE_SLAB;
    for (enum cache_store_kind i = 0; i < CACHE_STORE_KINDS; i++) {
        kind = strcmp(stores[i]->name, name) == 0 ? i : kind;
    }
    return kind;
}
