/* Chunk sizes that fit: how much memory items of these sizes take in a geometry, and which sizes would take the least.
 *
 * Sizes are counted in steps: of 8 bytes up to 4 KiB, then 256 steps an octave, so that a step is at most 0.4 % of a size; the
 * largest size of each step is kept, so that a class which ends there holds it. An item takes its chunk and its share of what
 * is left at the page's end: PAGE_BYTES / floor(PAGE_BYTES / chunk).
 *
 * Best sizes are found by dynamic programming over the steps that are in use: k classes that end at step j cost what the best
 * k-1 classes up to some i cost, and the pages, one at least, for the items between in chunks of j's size. That cost satisfies the
 * quadrangle inequality, so the best i grows with j, and halving finds all of a row. O(classes x steps x log steps): about 20 ms for
 * 40 classes, a few times over.
 * Threading: one owner. Errors: out of memory. */
#ifndef SLATE_MEM_FIT_H
#define SLATE_MEM_FIT_H
#include <stdbool.h>
#include <stdint.h>

#include "mem/arena.h"
#include "mem/geometry.h"

enum {
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
void size_histogram_add(struct size_histogram *, uint32_t bytes, uint32_t chunk_bytes); /* bytes <= chunk_bytes <= PAGE_BYTES */

/* What a chunk takes of its page. */
static inline double fit_chunk_cost(uint32_t chunk_bytes) { return (double)PAGE_BYTES / (PAGE_BYTES / chunk_bytes); }

/* Bytes of pages that the items over `above_bytes`, up to `most_bytes`, would take in these sizes. */
double fit_memory(const struct size_histogram *, const struct size_list *, uint32_t above_bytes, uint32_t most_bytes);
/* Items like these that so many pages hold in these sizes once they are full of them. Pages are whole: a class that has an item has
 * one, which its own items fill with what is older, as far as there is any. 0: there are no items. */
double fit_items(const struct size_histogram *, const struct size_list *, uint32_t pages);
/* The sizes, at most rules->count_most of them, that take the fewest pages when `pages` pages are full of items like these, whole
 * pages counted. Never so many that more than a quarter of the pages are of classes which need less than one; and none that saves
 * less than 4 pages divided by all. False: out of memory. */
bool fit_sizes(const struct size_histogram *, const struct size_rules *, uint32_t pages, struct size_list *);
#endif
