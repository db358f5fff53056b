/* The block store: the slabs of a single class, and a second one for heads that no block holds.
 * What does not fit a block is a chain of them. */
#include <errno.h>

#include "cache/obtain.h"
#include "cache/slabs.h"
#include "cache/value.h"

static uint32_t round_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

static bool make(struct cache *c) {
    uint32_t wanted = c->config.block_bytes, unit = 1u << c->arena->space.shift;
    if (wanted < CACHE_BLOCK_LEAST || wanted > CACHE_BLOCK_MOST) {
        errno = EINVAL;
        return false;
    }
    c->block_bytes = round_up(wanted, unit);
    c->slab_bytes_most = c->tail_bytes_most = c->block_bytes;
    uint32_t head_bytes = round_up(SLAB_CHUNK_MAX_LEAST, unit);
    bool any_head = c->block_bytes >= head_bytes;
    c->slab = slab_create(
        c->arena, &(struct slab_config){.chunk_bytes_min = c->block_bytes,
                                        /* the configuration's sizes make the classes, no rule is
                                         * asked */
                                        .growth_factor = 2,
                                        .sizes = &c->block_bytes,
                                        .size_count = any_head ? 0 : 1,
                                        .chunk_bytes_max = any_head ? c->block_bytes : head_bytes});
    return c->slab != NULL;
}

/* What does not fit a block is chained, unless not even its key does: that takes one of the larger
 * chunks made for such heads. */
static unsigned class_of(const struct cache *c, size_t total_bytes, size_t head_bytes) {
    return head_bytes <= c->block_bytes ? SLAB_CLASS_NONE : slab_class_of(c->slab, total_bytes);
}

/* All blocks are of one size, so a value's length tells how many it takes. */
static uint64_t tail_count(const struct cache *c, const struct item *it) {
    uint32_t room = c->block_bytes - TAIL_HEADER;
    return (item_value_bytes(it) - value_bytes_in_head(c, it) + room - 1) / room;
}

const struct store_ops store_blocks = {
    .name = "blocks",
    .one_class = true,
    .whole_pages = true,
    .make = make,
    .unmake = slabs_unmake,
    .thread_end = slabs_thread_end,
    .class_of = class_of,
    .takes = slabs_takes,
    .chunk_takes = slabs_chunk_takes,
    .value_takes = slabs_value_takes,
    .tail_count = tail_count,
    .obtain = chunk_obtain,
    .give = slabs_give,
    .set_limit = slabs_set_limit,
    .pages_out = slabs_pages_out,
    .class_facts = slabs_class_facts,
};
