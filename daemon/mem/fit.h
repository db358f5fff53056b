/* Finds chunk sizes that fit: how much memory items take with given chunk sizes, and which chunk
 * sizes would need the least.
 *
 * Sizes are counted in steps: of 8 bytes up to 4 KiB, above that 256 steps an octave, so that a
 * step is at most 0.4 % of a size. The histogram holds the largest size of each step, so that a
 * class that ends there serves it. An item takes its chunk and its share of the unused end of the
 * page: PAGE_BYTES / floor(PAGE_BYTES / chunk).
 *
 * The best sizes are found by dynamic programming over all chunk sizes that matter: the multiples
 * of the unit, and of those with which a page holds equally many chunks only the largest. The best
 * k classes up to a size cost what the best k - 1 classes up to some smaller size cost, and in
 * addition the pages (at least one) for the items between the two sizes. The smaller size is at
 * most the ladder's factor below the larger one, even if no items lie between: items of sizes that
 * come later then find a chunk that is not much larger than they are, and a class without items
 * costs nothing. O(classes x sizes x sizes within the factor): about 20 ms for 60 classes, a few
 * times over. Threading: one owner. */
#ifndef SLATE_MEM_FIT_H
#define SLATE_MEM_FIT_H
#include <stdbool.h>
#include <stdint.h>

#include "mem/arena.h"
#include "mem/class_sizes.h"

/* The largest factors between neighbours where there are items, and where there are none; wider
 * only if the limits leave no room. */
#define FIT_LADDER_FACTOR 1.5
#define FIT_BARE_FACTOR 1.25
enum {
    FIT_CLASSES_MOST = 40, /* classes with items, unless the caller wants more */
    FIT_FINE_BYTES = 4096,
    FIT_FINE_STEPS = FIT_FINE_BYTES / 8,
    FIT_OCTAVE_STEPS = 256,
    FIT_STEPS = FIT_FINE_STEPS + 8 * FIT_OCTAVE_STEPS + 1, /* up to PAGE_BYTES */
};

struct fit_histogram_step {
    uint64_t items;
    uint32_t bytes_most; /* the largest of them */
};
struct fit_histogram {
    uint32_t every;      /* one page in so many was counted */
    uint64_t items;      /* pieces of chained values count as items */
    uint64_t item_bytes; /* bytes that the items need */
    double   taken_bytes; /* bytes that they take now, with the unused ends of their pages */
    struct fit_histogram_step steps[FIT_STEPS];
};
void fit_histogram_init(struct fit_histogram *, uint32_t every);
/* Adds an item; bytes <= chunk_bytes <= PAGE_BYTES. */
void fit_histogram_add(struct fit_histogram *, uint32_t bytes, uint32_t chunk_bytes);

/* No item is larger than `above_bytes` and smaller than the size that is returned; most_bytes: nor
 * up to there. */
uint32_t fit_histogram_next(const struct fit_histogram *, uint32_t above_bytes,
                            uint32_t most_bytes);

/* Bytes that a chunk takes of its page, with its share of the page's unused end. */
static inline double fit_chunk_cost(uint32_t chunk_bytes) {
    return (double)PAGE_BYTES / (PAGE_BYTES / chunk_bytes);
}

/* Bytes of pages that the items larger than `above_bytes`, up to `most_bytes`, would take with
 * these sizes. */
double fit_memory(const struct fit_histogram *, const struct size_list *, uint32_t above_bytes,
                  uint32_t most_bytes);
/* How many items like these fit into so many pages with these chunk sizes, once all pages are full.
 * A class that has an item has at least one page, and fills that page with older items, too. 0:
 * there are no items. */
double fit_items(const struct fit_histogram *, const struct size_list *, uint32_t pages);

/* How many classes there may be. */
struct fit_limits {
    /* all classes, also those that only the ladder needs: 2 to CLASS_SIZES_MAX */
    unsigned classes_most;
    unsigned used_classes_most; /* classes that have items */
    /* all pages; classes that need less than one page hold at most a quarter of them */
    uint32_t pages;
    bool     cautious; /* the items' sizes may change: leaves out classes that save little */
};
/* Finds the sizes that take the fewest pages, counted in whole pages, when `limits->pages` pages
 * are full of items like these. Each size is there for one of two reasons. Either the size saves at
 * least 4 pages divided by the number of all pages; with limits->cautious 64 divided by that
 * number, but no more than one page, since a class retains a page when its size goes out of use. Or
 * the ladder needs the size: from rules->first_bytes or less up to the largest chunk, a size is at
 * most FIT_LADDER_FACTOR times the one before, rounded up to the unit. Where there are no items the
 * factor is FIT_BARE_FACTOR, as far as the limits leave room: items of other sizes, which come when
 * the load changes, then waste no more than in a table by that factor. There is no size between two
 * with which a page holds n and n + 1 chunks.
 *
 * If these are more sizes than the limits allow, first the sizes that only save pages are dropped
 * one by one; then every second rung of the ladder, as often as needed. The finer rungs are added
 * last, in the widest gap first. False: out of memory. */
bool fit_sizes(const struct fit_histogram *, const struct size_rules *, const struct fit_limits *,
               struct size_list *);

/* fit_sizes in steps of some 20 us, for a thread that others wait for. */
struct fit_search;
/* The caller owns the histogram, and must not change it until the search ends. NULL: out of
 * memory. */
struct fit_search *fit_begin(const struct fit_histogram *, const struct size_rules *,
                             const struct fit_limits *);
bool fit_step(struct fit_search *); /* false: the sizes are found */
void fit_end(struct fit_search **, struct size_list *);

/* The waste by items of sizes that no item has now, from the smallest chunk to the largest. */
struct fit_absent_sizes {
    double mean_pct; /* mean over these sizes; every octave counts as much */
    double most_pct;
};
void fit_absent_sizes(const struct fit_histogram *, const struct size_list *,
                      struct fit_absent_sizes *);
#endif
