/* What a decision about pages is made from: the state of every class at one moment. A value; copy it freely. */
#ifndef SLATE_TUNE_SNAPSHOT_H
#define SLATE_TUNE_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"

struct snapshot_class {
    uint32_t chunk_bytes, chunks_per_page;
    uint32_t pages;        /* owned, those that are being moved away not counted */
    uint64_t free_chunks;  /* in its pages and in the partitions' stocks */
    uint64_t items;
    uint32_t age_s;        /* since the last use of the item that would be evicted next; 0: none */
    uint64_t evicted, outofmemory; /* since the start */
    bool     hungry;       /* it evicted, or had nothing to evict, since the snapshot before */
};

struct snapshot {
    uint64_t time_us;      /* clock_mono_us */
    uint32_t pages_limit, pages_free; /* free: no class has them */
    unsigned class_count;  /* classes 1 to class_count */
    struct snapshot_class classes[SLAB_CLASSES_MAX];
};

/* Takes a snapshot; `hungry` are the classes of cache_take_hunger. No lock held. Cost: a lock of every partition for every
 * class, some 20 ns each. */
void snapshot_take(struct cache *, uint64_t hungry, struct snapshot *);
/* Brings up to date only what is cheap and changes fast: pages, free chunks and hunger. */
void snapshot_refresh(struct cache *, uint64_t hungry, struct snapshot *);
#endif
