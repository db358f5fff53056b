/* The stores of chunks in pages. Slabs: chunks of many sizes, whose classes compete for pages.
 * Blocks: a single class of slabs, and a second class for heads that no block holds; an item larger
 * than a block is a chain of blocks. */
#include <errno.h>

#include "cache/alloc/chunk_alloc.h"
#include "cache/items/item_value.h"
#include "mem/fit.h"

static bool slab_store_make(struct cache *c) {
    c->slab_bytes_most = SIZE_MAX;
    c->tail_bytes_most = c->config.slab.chunk_bytes_max;
    c->slab = slab_create(c->arena, &c->config.slab);
    return c->slab != NULL;
}

static void slab_store_unmake(struct cache *c) { slab_destroy(&c->slab); }

static size_t slab_store_takes(const struct cache *c, unsigned class_id, size_t total_bytes) {
    (void)total_bytes;
    return slab_chunk_bytes(c->slab, class_id);
}

static size_t slab_store_chunk_takes(const struct cache *c, uint32_t ref) {
    return slab_chunk_bytes(c->slab, slab_ref_class(c->slab, ref));
}

/* The memory of a value, with the loss at the end of its chunk and its page. A chained value counts
 * the part that it fills of the largest chunks. */
static uint32_t slab_store_value_takes(const struct cache *c, unsigned class_id,
                                       uint32_t value_bytes) {
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    double chunk_cost = fit_chunk_cost(chunk_bytes);
    if (value_bytes < chunk_bytes) {
        return (uint32_t)chunk_cost;
    }
    double bytes = chunk_cost * value_bytes / (chunk_bytes - ITEM_TAIL_HEADER);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* Chunks for tails are large, so magazines hold few of them. */
static uint64_t slab_store_count_tails(const struct cache *c, const struct item *it) {
    uint64_t tails = 0;
    for (uint32_t ref = item_first_tail(it); ref != 0;
         ref = item_tail_next(node_at(&c->arena->space, ref))) {
        tails++;
    }
    return tails;
}

static void slab_store_release(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    slab_release_all(ct->cache->slab, refs, count);
}

static bool slab_store_set_limit(struct cache *c, size_t limit_bytes) {
    return arena_set_limit(c->arena, limit_bytes, c->config.steal_pages && c->config.evict);
}

static uint32_t slab_store_pages_out(const struct cache *c) {
    return atomic_load_explicit(&c->arena->pages_out, memory_order_relaxed);
}

static void slab_store_class_facts(const struct cache *c, unsigned class_id,
                                   struct slab_class_facts *f) {
    slab_facts(c->slab, class_id, f);
}

const struct store_ops store_slabs = {
    .name = "slab",
    .whole_pages = true,
    .make = slab_store_make,
    .unmake = slab_store_unmake,
    .takes = slab_store_takes,
    .chunk_takes = slab_store_chunk_takes,
    .value_takes = slab_store_value_takes,
    .tail_count = slab_store_count_tails,
    .alloc = chunk_alloc,
    .release = slab_store_release,
    .set_limit = slab_store_set_limit,
    .pages_out = slab_store_pages_out,
    .class_facts = slab_store_class_facts,
};

/* --- blocks --- */

static uint32_t slab_store_round_up(uint32_t n, uint32_t unit) {
    return (n + unit - 1) / unit * unit;
}

static bool slab_store_make_blocks(struct cache *c) {
    uint32_t wanted = c->config.block_bytes, unit = 1u << c->arena->space.shift;
    if (wanted < CACHE_BLOCK_LEAST || wanted > CACHE_BLOCK_MOST) {
        errno = EINVAL;
        return false;
    }
    c->block_bytes = slab_store_round_up(wanted, unit);
    c->slab_bytes_most = c->tail_bytes_most = c->block_bytes;
    uint32_t head_bytes = slab_store_round_up(SLAB_CHUNK_MAX_LEAST, unit);
    bool any_head = c->block_bytes >= head_bytes;
    c->slab = slab_create(
        c->arena, &(struct slab_config){.chunk_bytes_min = c->block_bytes,
                                        /* `sizes` gives the classes; no growth rule applies */
                                        .growth_factor = 2,
                                        .sizes = &c->block_bytes,
                                        .size_count = any_head ? 0 : 1,
                                        .chunk_bytes_max = any_head ? c->block_bytes : head_bytes});
    return c->slab != NULL;
}

/* An item larger than a block is chained. If even the key does not fit a block, the item takes one
 * of the larger chunks for such heads. */
static unsigned slab_store_block_class(const struct cache *c, size_t total_bytes,
                                       size_t head_bytes) {
    return head_bytes <= c->block_bytes ? SLAB_CLASS_NONE : slab_class_of(c->slab, total_bytes);
}

/* All blocks have one size, so the number of tails follows from the value's length. */
static uint64_t slab_store_block_tails(const struct cache *c, const struct item *it) {
    uint32_t room = c->block_bytes - ITEM_TAIL_HEADER;
    return (item_value_bytes(it) - value_bytes_in_head(c, it) + room - 1) / room;
}

const struct store_ops store_blocks = {
    .name = "blocks",
    .one_class = true,
    .whole_pages = true,
    .make = slab_store_make_blocks,
    .unmake = slab_store_unmake,
    .class_of = slab_store_block_class,
    .takes = slab_store_takes,
    .chunk_takes = slab_store_chunk_takes,
    .value_takes = slab_store_value_takes,
    .tail_count = slab_store_block_tails,
    .alloc = chunk_alloc,
    .release = slab_store_release,
    .set_limit = slab_store_set_limit,
    .pages_out = slab_store_pages_out,
    .class_facts = slab_store_class_facts,
};
