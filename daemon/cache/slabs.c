/* The slab store: chunks of many sizes, whose classes compete for pages. */
#include "cache/slabs.h"

#include "cache/obtain.h"
#include "cache/value.h"
#include "mem/fit.h"

static bool make(struct cache *c) {
    c->slab_bytes_most = SIZE_MAX;
    c->tail_bytes_most = c->config.slab.chunk_bytes_max;
    c->slab = slab_create(c->arena, &c->config.slab);
    return c->slab != NULL;
}

void slabs_unmake(struct cache *c) { slab_destroy(&c->slab); }
void slabs_thread_end(struct cache_thread *ct) { (void)ct; }

size_t slabs_takes(const struct cache *c, unsigned class_id, size_t total_bytes) {
    (void)total_bytes;
    return slab_chunk_bytes(c->slab, class_id);
}

size_t slabs_chunk_takes(const struct cache *c, uint32_t ref) {
    return slab_chunk_bytes(c->slab, slab_ref_class(c->slab, ref));
}

/* What a value takes, with what is lost at the end of its chunk and of its page. A value that would
 * be chained takes as much as it fills of the largest chunks. */
uint32_t slabs_value_takes(const struct cache *c, unsigned class_id, uint32_t value_bytes) {
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    double chunk_cost = fit_chunk_cost(chunk_bytes);
    if (value_bytes < chunk_bytes) {
        return (uint32_t)chunk_cost;
    }
    double bytes = chunk_cost * value_bytes / (chunk_bytes - TAIL_HEADER);
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

/* Chunks for tails are large, so partitions keep few of them. */
static uint64_t tail_count(const struct cache *c, const struct item *it) {
    uint64_t tails = 0;
    for (uint32_t ref = item_first_tail(it); ref != 0;
         ref = tail_next(node_at(&c->arena->space, ref))) {
        tails++;
    }
    return tails;
}

void slabs_give(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    slab_give_all(ct->cache->slab, refs, count);
}

bool slabs_set_limit(struct cache *c, size_t limit_bytes) {
    return arena_set_limit(c->arena, limit_bytes, c->config.steal_pages && c->config.evict);
}

uint32_t slabs_pages_out(const struct cache *c) {
    return atomic_load_explicit(&c->arena->pages_out, memory_order_relaxed);
}

void slabs_class_facts(const struct cache *c, unsigned class_id, struct slab_class_facts *f) {
    slab_facts(c->slab, class_id, f);
}

const struct store_ops store_slabs = {
    .name = "slab",
    .whole_pages = true,
    .make = make,
    .unmake = slabs_unmake,
    .thread_end = slabs_thread_end,
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
