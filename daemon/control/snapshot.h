/* The input of a decision about pages: the state of every class at one moment. A value: copy it
 * freely. */
#ifndef SLATE_CONTROL_SNAPSHOT_H
#define SLATE_CONTROL_SNAPSHOT_H
#include <stdbool.h>
#include <stdint.h>

#include "cache/admin/signals.h"
#include "cache/cache.h"

struct snapshot_class {
    uint32_t chunk_bytes, chunks_per_page;
    uint32_t pages;        /* pages of the class that are not on the move to another class */
    uint64_t free_chunks;  /* in its pages and in the partitions' magazines */
    uint64_t items;
    uint64_t requested_bytes; /* bytes of its items, without the waste of chunks */
    uint32_t age_s;           /* time since the oldest victim was stored or moved; 0: none */
    uint64_t evicted, outofmemory, get_hits, cmd_set; /* since the start */
    /* parts of `evicted`: items dropped to empty pages, and items dropped while slow readers held
     * much memory */
    uint64_t evicted_unwanted;
    struct cache_signal signal; /* as of snapshot_take; zero unless the cache is measured */
    bool     starved; /* since the previous snapshot, the class evicted or had nothing to evict */
    /* age and number of the page that the class has had for longest, by snapshot_pages; a lower
     * number is older */
    uint32_t page_age_s, oldest_page_seq;
};

/* The share of a class's reads that would hit at other sizes, by sampled keys, ascending. */
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
    /* time_us plus this is the Unix time; 0: only differences of time_us mean anything */
    uint64_t epoch_us;
    uint32_t pages_limit, pages_free; /* free: pages that no class has */
    uint32_t ages_as_of_s; /* clock_now_s when the classes' ages were read */
    /* hits, misses and stores since the start; 0 unless the cache is measured */
    uint64_t requests;
    unsigned class_count;  /* classes 1 to class_count */
    struct snapshot_class classes[SLAB_CLASSES_MAX];
    /* by class id, valid while the mode decides; NULL: the mode wants none */
    const struct class_curve *curves;
};

/* Items that stores evicted since the start. Items that were dropped for moves of pages, changes of
 * chunk sizes or slow readers do not count: they show no need of memory. */
static inline uint64_t snapshot_demand(const struct snapshot_class *c) {
    return c->evicted - c->evicted_unwanted;
}

/* How many pages the free chunks would fill. */
static inline uint64_t snapshot_free_pages(const struct snapshot_class *c) {
    return c->chunks_per_page > 0 ? c->free_chunks / c->chunks_per_page : 0;
}

/* The names and figures of a class, as policies in Lua and recordings show them: those of stats
 * items and stats slabs. */
void snapshot_class_each(const struct snapshot_class *, unsigned class_id,
                         void (*report)(void *, const char *name, uint64_t), void *);
/* Whether policies in Lua and recordings show the class. */
bool snapshot_class_listed(const struct snapshot_class *);

/* Takes a snapshot; `starved` are the classes of cache_take_starved. No lock held. Cost: a lock of
 * every partition for every 32 classes, and a look at each queue's old ends. */
void snapshot_take(struct cache *, const struct class_set *starved, struct snapshot *);
/* Updates figures that are cheap to read and change fast: pages, free chunks, starved classes, and
 * the age and the evictions of starved classes. The ages of other classes grow by the time that has
 * passed, so that all ages can be compared. */
void snapshot_refresh(struct cache *, const struct class_set *starved, struct snapshot *);
/* Fills in the members about pages. Cost: about a nanosecond for each page of the arena. */
void snapshot_pages(struct cache *, struct snapshot *);
#endif
