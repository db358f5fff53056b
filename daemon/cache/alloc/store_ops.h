/* Operations of a store, where items live: slabs or blocks (slab_store.c), or a heap
 * (heap_store.c). Only create.c chooses a store, when it creates the cache.
 *
 * A get calls none of these functions. Neither does a store of a small value in a chunk of a class,
 * unless it needs another chunk: `make` puts the numbers for that into struct cache
 * (slab_bytes_most, tail_bytes_most, block_bytes). */
#ifndef SLATE_CACHE_ALLOC_STORE_OPS_H
#define SLATE_CACHE_ALLOC_STORE_OPS_H
#include "cache/cache.h"

struct partition;

struct store_ops {
    const char *name;
    /* All values share the same memory, in chunks of one size or of any size: classes do not
     * compete. */
    bool one_class;
    /* Memory comes and goes in complete pages of the arena. False: cache_shrink_begin releases the
     * memory beyond a lowered limit, in the system's pages. */
    bool whole_pages;

    /* Creates the configured store in the cache's arena: the slab, whose classes every store has,
     * and the store's other parts. False and errno: a part could not be created. */
    bool (*make)(struct cache *);
    void (*unmake)(struct cache *); /* frees what `make` has created, even if incomplete */
    /* The thread ends: its unfinished work goes to others. NULL: there is none. No lock held. */
    void (*thread_end)(struct cache_thread *);

    /* The class for an unchained item of more than slab_bytes_most, of which `head_bytes` are not
     * value. SLAB_CLASS_NONE: the item must be chained. NULL for slabs: all of their items are
     * smaller. */
    unsigned (*class_of)(const struct cache *, size_t total_bytes, size_t head_bytes);
    /* Bytes of memory: of an item of this class and size; of a chunk in use; of a value with the
     * loss around it, as samples report it. */
    size_t   (*takes)(const struct cache *, unsigned class_id, size_t total_bytes);
    size_t   (*chunk_takes)(const struct cache *, uint32_t ref);
    uint32_t (*value_takes)(const struct cache *, unsigned class_id, uint32_t value_bytes);
    /* Number of tails of a chained item. NULL for a heap, which has no chains. */
    uint64_t (*tail_count)(const struct cache *, const struct item *);

    /* Allocates a free chunk of the class by any means, with an eviction or another class's page if
     * need be; 0: out of memory. `large`: the chunk is for a value that readers may hold
     * (pinned.h); then one chunk is taken, otherwise also some for the partition's magazine. No
     * lock held. The class is one of this turn's geometry; if the geometry changes meanwhile, the
     * chunk is of another class, but not smaller. A heap goes by `total_bytes`, the other stores by
     * the class. */
    uint32_t (*alloc)(struct cache_thread *, struct partition *, unsigned class_id,
                       size_t total_bytes, bool large);
    /* Releases chunks that no lookup can find. Readers may still read them. No lock held. */
    void (*release)(struct cache_thread *, const uint32_t *refs, unsigned count);

    /* As cache_set_limit, within cache_limit_most. */
    bool (*set_limit)(struct cache *, size_t limit_bytes);
    /* pages in use, or as many as the bytes in use would fill */
    uint32_t (*pages_out)(const struct cache *);
    void (*class_facts)(const struct cache *, unsigned class_id, struct slab_class_facts *);
};

extern const struct store_ops store_slabs, store_blocks, store_heap;
#endif
