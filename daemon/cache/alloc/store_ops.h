/* What the cache asks of the store that its items live in: slabs or blocks (slab_store.c), or a
 * heap (heap_store.c). Only create.c chooses a store, when it makes the cache.
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
    /* All values share the same memory, in chunks of one size or of any size: no class competes
     * with another. */
    bool one_class;
    /* Memory comes and goes in whole pages of the arena. Where this is false, what is beyond a
     * lowered limit comes back by cache_shrink_begin, in whatever pages the system has. */
    bool whole_pages;

    /* Makes what the configuration wants in the cache's arena: the slab, whose classes every store
     * has, and what else the store needs. False and errno: a part of it could not be made. */
    bool (*make)(struct cache *);
    void (*unmake)(struct cache *); /* frees what `make` made, or the part of it that there is */
    /* The thread ends: its unfinished work goes to others. NULL: it leaves none. No lock held. */
    void (*thread_end)(struct cache_thread *);

    /* The class for an unchained item of more than slab_bytes_most, of which `head_bytes` are not
     * value. SLAB_CLASS_NONE: the item must be chained. NULL for slabs: all of their items are
     * smaller. */
    unsigned (*class_of)(const struct cache *, size_t total_bytes, size_t head_bytes);
    /* Bytes of memory: what an item of this class and size takes; what a chunk in use has; what a
     * value takes with what is lost around it, as samples report it. */
    size_t   (*takes)(const struct cache *, unsigned class_id, size_t total_bytes);
    size_t   (*chunk_takes)(const struct cache *, uint32_t ref);
    uint32_t (*value_takes)(const struct cache *, unsigned class_id, uint32_t value_bytes);
    /* How many tails a chained item has. NULL for a heap: it chains nothing. */
    uint64_t (*tail_count)(const struct cache *, const struct item *);

    /* Obtains a free chunk of the class by any means, evicting or taking a page if need be; 0: none
     * can be had. `large`: the chunk is for a value that readers may hold (pinned.h); then one
     * chunk is taken, otherwise also some for the partition's stock. No lock held. The class is one
     * of this turn's geometry; if the geometry changes meanwhile, the chunk is of another class,
     * but not smaller. A heap goes by `total_bytes`, the other stores by the class. */
    uint32_t (*alloc)(struct cache_thread *, struct partition *, unsigned class_id,
                       size_t total_bytes, bool large);
    /* Takes back chunks that nobody can find any more. Readers may still look at them. No lock
     * held. */
    void (*release)(struct cache_thread *, const uint32_t *refs, unsigned count);

    /* As cache_set_limit, within cache_limit_most. */
    bool (*set_limit)(struct cache *, size_t limit_bytes);
    uint32_t (*pages_out)(const struct cache *); /* pages that are in use, or would be */
    void (*class_facts)(const struct cache *, unsigned class_id, struct slab_class_facts *);
};

extern const struct store_ops store_slabs, store_blocks, store_heap;
#endif
