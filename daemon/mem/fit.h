/* Chunk sizes that fit: how much memory items of these sizes take in a geometry, and which sizes
 * would take the least.
 *
 * Sizes are counted in steps: of 8 bytes up to 4 KiB, then 256 steps an octave, so that a step is
 * at most 0.4 % of a size; the largest size of each step is kept, so that a class which ends there
 * holds it. An item takes its chunk and its share of what is left at the page's end: PAGE_BYTES /
 * floor(PAGE_BYTES / chunk).
 *
 * Best sizes are found by dynamic programming over all chunk sizes that make a difference:
 * multiples of the unit, of those with as many chunks a page the largest. k classes of which the
 * last ends at a size cost what the best k-1 classes up to some smaller size cost, and the pages,
 * one at least, for the items between in chunks of that size. The smaller size lies at most the
 * ladder's factor below, whether there are items between or not: so sizes that come later find a
 * chunk that is not much larger than they are, and a class without items costs nothing. O(classes x
 * sizes x sizes within the factor): about 20 ms for 60 classes, a few times over. Threading: one
 * owner. Errors: out of memory. */
#ifndef SLATE_MEM_FIT_H
#define SLATE_MEM_FIT_H
#include <stdbool.h>
#include <stdint.h>

#include "mem/arena.h"
#include "mem/geometry.h"

#define FIT_LADDER_FACTOR 1.5 /* between neighbours, unless the limits are too narrow for it */
enum {
    FIT_CLASSES_MOST = 40, /* in which there are items, unless more are asked for */
    FIT_FINE_BYTES = 4096,
    FIT_FINE_STEPS = FIT_FINE_BYTES / 8,
    FIT_OCTAVE_STEPS = 256,
    FIT_STEPS = FIT_FINE_STEPS + 8 * FIT_OCTAVE_STEPS + 1, /* to PAGE_BYTES */
};

struct size_step {
    uint64_t items;
    uint32_t bytes_most; /* the largest of them */
};
struct size_histogram {
    uint32_t every;      /* counts are of one page in so many */
    uint64_t items;      /* with pieces of chained values, which are items here */
    uint64_t item_bytes; /* what they need */
    double   taken_bytes; /* what they take now, with their pages' ends */
    struct size_step steps[FIT_STEPS];
};
void size_histogram_init(struct size_histogram *, uint32_t every);
/* bytes <= chunk_bytes <= PAGE_BYTES */
void size_histogram_add(struct size_histogram *, uint32_t bytes, uint32_t chunk_bytes);

/* What a chunk takes of its page. */
static inline double fit_chunk_cost(uint32_t chunk_bytes) {
    return (double)PAGE_BYTES / (PAGE_BYTES / chunk_bytes);
}

/* Bytes of pages that the items over `above_bytes`, up to `most_bytes`, would take in these
 * sizes. */
double fit_memory(const struct size_histogram *, const struct size_list *, uint32_t above_bytes,
                  uint32_t most_bytes);
/* Items like these that so many pages hold in these sizes once they are full of them. Pages are
 * whole: a class that has an item has one, which its own items fill with what is older, as far as
 * there is any. 0: there are no items. */
double fit_items(const struct size_histogram *, const struct size_list *, uint32_t pages);

/* How many classes there may be. */
struct fit_limits {
    /* of all, with those that only the ladder wants, 2 to GEOMETRY_SIZES_MAX */
    unsigned classes_most;
    unsigned used_classes_most; /* of those in which there are items */
    /* classes that need less than one page have at most a quarter of them */
    uint32_t pages;
};
/* The sizes that take the fewest pages when `limits->pages` pages are full of items like these,
 * whole pages counted. None saves less than 4 pages divided by all, but for the ladder: from
 * rules->first_bytes or less up to the largest chunk a size is at most FIT_LADDER_FACTOR times the
 * one before, rounded up to the unit. Between sizes of which pages hold one chunk more or less
 * there is nothing.
 *
 * What gives way when they are too many for the limits: first sizes that are there for what they
 * save, one by one, until only the ladder is left; then every second rung of the ladder, as often
 * as is needed. False: out of memory. */
bool fit_sizes(const struct size_histogram *, const struct size_rules *, const struct fit_limits *,
               struct size_list *);

/* What items would waste of sizes that no item has now, from the smallest chunk to the largest. */
struct fit_unseen {
    double mean_pct; /* every octave counts as much */
    double most_pct;
};
void fit_unseen(const struct size_histogram *, const struct size_list *, struct fit_unseen *);
#endif
