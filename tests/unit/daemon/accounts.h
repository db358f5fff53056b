/* Compares a cache's sums and lists with a walk over all its chunks. */
#ifndef ACCOUNTS_H
#define ACCOUNTS_H
#include "cache/partition.h"
#include "cache_fixture.h"
#include "tap.h"

/* For a slab store: chunks are free, or hold an item or a piece; each item is in a queue; each page is a class's. */
static inline bool accounts_agree(struct cache *c) {
    uint64_t free_listed = 0, free_seen = 0, queued = 0, seen = 0, bytes = 0, pages = 0, draining = 0;
    const struct slab *slab = c->slab;
    struct cache_facts f;
    for (uint32_t page = 0; page < arena_page_end(c->arena); page++) {
        const struct item *it;
        for (uint32_t i = 0; slab_page_class(slab, page) != 0 && (it = slab_page_chunk(slab, page, i)) != NULL; i++) {
            free_seen += item_state(it) == CHUNK_FREE;
            seen += item_state(it) == CHUNK_LINKED && item_key_len(it) != 0;
        }
    }
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        struct slab_class_facts class;
        slab_facts(slab, i, &class);
        free_listed += class.free_chunks;
        pages += class.pages;
        draining += class.draining;
    }
    for (unsigned i = 0; i < c->partition_count * SLAB_CLASSES_MAX; i++) {
        const struct class_queue *s = c->partitions[i / SLAB_CLASSES_MAX].class_queues[i % SLAB_CLASSES_MAX];
        queued += s != NULL ? evict_lists_count(&s->queue) : 0;
        bytes += s != NULL ? s->requested_bytes : 0;
        free_listed += s != NULL ? s->magazine_count : 0;
    }
    cache_facts(c, &f);
    return free_listed == free_seen && queued == f.items && seen == f.items && bytes == f.bytes && pages == f.pages_out && draining == 0;
}

/* For any store, after a flush and a walk: all chunks are free, and sums and queues are empty. */
static inline void nothing_is_left(struct cache *c, struct cache_thread *ct, const char *after) {
    static struct cache_class_facts facts[SLAB_CLASSES_MAX];
    static struct cache_walked seen[64];
    struct cache_walk walk = {0};
    struct class_set all = class_set_all();
    struct cache_facts cf;
    uint64_t lost_chunks = 0, left = 0, pages = 0;
    cache_flush_now(c);
    cache_turn_begin(ct);
    while (cache_walk_next(ct, &walk, seen, 64) >= 0) {
    }
    cache_turn_end(ct);
    cache_classes_facts(c, &all, facts);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        const struct cache_class_facts *f = &facts[i];
        lost_chunks += (uint64_t)f->slab.pages * f->slab.chunks_per_page - f->slab.free_chunks - f->magazine_chunks;
        left += f->requested_bytes + f->items;
        pages += f->slab.pages;
    }
    cache_facts(c, &cf);
    is(lost_chunks, 0, "%s: every chunk is free once every item is gone", after);
    is(left + cf.bytes + cf.items, 0, "%s: queues and sums are empty", after);
    is(pages, cf.pages_out, "%s: every page belongs to a class", after);
}
#endif
