/* What a decision about pages is made from: the state of every class at one moment. A value; copy
 * it freely. */
#ifndef SLATE_TUNE_SNAPSHOT_H
#define SLATE_TUNE_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/cache.h"
#include "cache/signals.h"

struct snapshot_class {
    uint32_t chunk_bytes, chunks_per_page;
    uint32_t pages;        /* owned, those that are being moved away not counted */
    uint64_t free_chunks;  /* in its pages and in the partitions' stocks */
    uint64_t items;
    uint64_t requested_bytes; /* that its items asked for */
    uint32_t age_s;        /* since the last use of the item that would be evicted next; 0: none */
    uint64_t evicted, outofmemory, get_hits, cmd_set; /* since the start */
    /* of evicted: dropped to empty pages, or for what slow readers hold */
    uint64_t evicted_unwanted;
    struct cache_signal signal; /* as of snapshot_take; zero unless the cache is measured */
    bool     hungry;       /* it evicted, or had nothing to evict, since the snapshot before */
    /* Of its pages, by snapshot_pages: */
    /* of the page it has had for longest; a lower birth is older */
    uint32_t page_age_s, oldest_page_birth;
    uint32_t page_idle_s, idle_page_birth;  /* of the page that was longest not read or written */
};

/* Which share of a class's reads would hit at other sizes, by sampled keys, ascending. */
enum { CLASS_CURVE_POINTS = 17 };
struct class_curve {
    unsigned count; /* 0: too few reads */
    struct {
        uint64_t bytes;
        double   hit_ratio;
    } points[CLASS_CURVE_POINTS];
};

struct snapshot {
    uint64_t time_us;      /* clock_mono_us */
    /* time_us plus this is Unix time, as of the start; 0: only differences of time_us mean
     * anything */
    uint64_t epoch_us;
    uint32_t pages_limit, pages_free; /* free: no class has them */
    uint32_t ages_as_of_s; /* clock_now_s when the classes' ages were that */
    /* hits, misses and stores since the start; 0 unless the cache is measured */
    uint64_t requests;
    unsigned class_count;  /* classes 1 to class_count */
    struct snapshot_class classes[SLAB_CLASSES_MAX];
    /* by class id, for as long as a decision takes; NULL: the mode wants none */
    const struct class_curve *curves;
};

/* What stores evicted since the start. What moves of pages, changes of the chunk sizes and slow
 * readers did tells of no need for memory. */
static inline uint64_t snapshot_demand(const struct snapshot_class *c) {
    return c->evicted - c->evicted_unwanted;
}

/* Free chunks, in pages' worth. */
static inline uint64_t snapshot_free_pages(const struct snapshot_class *c) {
    return c->chunks_per_page > 0 ? c->free_chunks / c->chunks_per_page : 0;
}

/* The names and figures of a class that policies in Lua and recordings have: those of stats items
 * and stats slabs. */
void snapshot_class_each(const struct snapshot_class *, unsigned class_id,
                         void (*tell)(void *, const char *name, uint64_t), void *);
/* Whether a class stands in the lists that those have. */
bool snapshot_class_listed(const struct snapshot_class *);

/* Takes a snapshot; `hungry` are the classes of cache_take_hunger. No lock held. Cost: a lock of
 * every partition for every 32 classes, and a look at each queue's old ends. */
void snapshot_take(struct cache *, const struct class_set *hungry, struct snapshot *);
/* Brings up to date only what is cheap and changes fast: pages, free chunks, hunger, and the age
 * and evictions of a hungry class. The ages of the others grow by the time that passed, so that
 * ages can be compared. */
void snapshot_refresh(struct cache *, const struct class_set *hungry, struct snapshot *);
/* Fills in what is known of pages. O(pages of the arena), about a nanosecond each. */
void snapshot_pages(struct cache *, struct snapshot *);
#endif
