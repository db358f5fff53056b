/* Marks the chunks that belong to an item: a bit for each chunk of each page of a class. An item
 * owns its own chunk and the chunks of its value's pieces. Any thread; no lock. */
#ifndef SLATE_CACHE_PERSIST_CHUNK_OWNER_H
#define SLATE_CACHE_PERSIST_CHUNK_OWNER_H
#include "cache/partition.h"
#include "mem/load_classes.h"

struct chunk_owners {
    struct cache     *c;
    uint32_t         *bit_at; /* for each page: the bit of its first chunk */
    _Atomic uint64_t *bits;
    uint32_t          count; /* chunks of all these pages */
};

bool chunk_owners_init(struct chunk_owners *, struct cache *,
                       const struct load_result *); /* false: no memory */
void chunk_owners_fini(struct chunk_owners *); /* also after a failed init */
size_t chunk_owners_bytes(const struct cache *, uint32_t chunks);

bool chunk_owner_is_claimed(const struct chunk_owners *, uint32_t page, uint32_t chunk);
/* Claims an item's chunk and the pieces of its value, if the value is complete. False: nothing was
 * claimed. */
bool chunk_owner_claim_item(struct chunk_owners *, struct item *);
void chunk_owner_release_item(struct chunk_owners *, struct item *);
#endif
