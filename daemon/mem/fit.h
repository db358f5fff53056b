/* Chunk sizes that fit: how much memory items of these sizes take in a geometry, and which sizes
 * would take the least.
 *
 * Sizes are counted in steps: of 8 bytes up to 4 KiB, then 256 steps an octave, so that a step is
 * at most 0.4 % of a size. The largest size of each step is kept, so that a class which ends there
 * holds it. An item takes its chunk and its share of what is left at the page's end: PAGE_BYTES /
 * floor(PAGE_BYTES / chunk).
 *
 * Best sizes are found by dynamic programming over all chunk sizes that matter: multiples of the
 * unit, and of those that give a page equally many chunks only the largest. The best k classes up
 * to a size cost what the best k - 1 classes up to some smaller size cost, and the pages (at least
 * one) for the items between the two. The smaller size is at most the ladder's factor below, even
 * if no items lie between: so items whose sizes come later find a chunk that is not much larger
 * than they are, and a class without items costs nothing. O(classes x sizes x sizes within the
 * factor): about 20 ms for 60 classes, a few times over. Threading: one owner. Errors: out of
 * memory. */
#ifndef SLATE_MEM_FIT_H
#define SLATE_MEM_FIT_H
#include <stdbool.h>
#include <stdint.h>

#include "mem/arena.h"
#include "mem/geometry.h"

/* Between neighbours, unless the limits are too narrow for it: where there are items, and where
 * there are none yet. */
#define FIT_LADDER_FACTOR 1.5
#define FIT_BARE_FACTOR 1.25
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
/* How many items like these fit into so many pages with these chunk sizes, once all pages are full.
 * A class that has an item has at least one whole page, and fills it with older items of its own as
 * far as there are any. 0: there are no items. */
double fit_items(const struct size_histogram *, const struct size_list *, uint32_t pages);

/* How many classes there may be. */
struct fit_limits {
    /* of all, with those that only the ladder wants, 2 to GEOMETRY_SIZES_MAX */
    unsigned classes_most;
    unsigned used_classes_most; /* of those in which there are items */
    /* classes that need less than one page have at most a quarter of them */
    uint32_t pages;
    bool     wary; /* the items' sizes may change: classes that save little are left out */
};
/* The sizes that take the fewest pages when `limits->pages` pages are full of items like these,
 * counted in whole pages. Each size saves at least 4 pages divided by the number of all pages, if
 * limits->wary 64, or a page, for a class keeps one when its sizes go out of use; or it belongs to
 * the ladder: from rules->first_bytes or less up to the largest chunk, a size is at most
 * FIT_LADDER_FACTOR times the one before, rounded up to the unit. Where there are no items it is
 * FIT_BARE_FACTOR, as far as the limits leave room: items of other sizes, which come when the load
 * changes, then waste no more than in a table by that factor. There is no size between two of which
 * a page holds n and n + 1 chunks.
 *
 * If these are more sizes than the limits allow, first those that only save pages are dropped one
 * by one, until only the ladder is left; then every second rung of the ladder, as often as needed.
 * The finer rungs are added last, the widest hole first. False: out of memory. */
bool fit_sizes(const struct size_histogram *, const struct size_rules *, const struct fit_limits *,
               struct size_list *);

/* The same in steps of some 20 us, for threads that others wait for. */
struct fit_search;
/* The histogram stays the caller's, and as it is until the search ends. NULL: out of memory. */
struct fit_search *fit_begin(const struct size_histogram *, const struct size_rules *,
                             const struct fit_limits *);
bool fit_step(struct fit_search *); /* false: the sizes are found */
void fit_end(struct fit_search **, struct size_list *);

/* What items would waste of sizes that no item has now, from the smallest chunk to the largest. */
struct fit_unseen {
    double mean_pct; /* every octave counts as much */
    double most_pct;
};
void fit_unseen(const struct size_histogram *, const struct size_list *, struct fit_unseen *);
#endif
