/* A geometry: which chunk sizes there are, and which class serves a size. A value that never
 * changes once others can see it.
 *
 * Threading: building is the owner's; looking is for anyone. Cost of a look: one load up to
 * GEOMETRY_SMALL_BYTES, a binary search above. */
#ifndef SLATE_MEM_GEOMETRY_H
#define SLATE_MEM_GEOMETRY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"

enum { GEOMETRY_SMALL_BYTES = 4096, GEOMETRY_SIZES_MAX = CLASS_SET_IDS - 1 };

/* Chunk sizes in bytes, ascending, each a multiple of the arena's unit; the last is
 * slab_chunk_max. */
struct size_list {
    unsigned count;
    uint32_t bytes[GEOMETRY_SIZES_MAX];
};

/* What every list of an arena has in common. */
struct size_rules {
    uint32_t least_bytes; /* of a chunk: the header of an item and a word */
    /* a list that has a chunk for every size has one of this size, or a smaller one */
    uint32_t first_bytes;
    uint32_t most_bytes;  /* slab_chunk_max, always the last size */
    uint32_t unit_bytes;  /* sizes are rounded up to a multiple of it, a power of two */
    unsigned count_most;  /* sizes in a list, the last one counted, 2 to GEOMETRY_SIZES_MAX */
};
/* From `first_bytes` on, each at least `factor` times the one before; factor > 1. */
void size_list_by_factor(struct size_list *, uint32_t first_bytes, double factor,
                         const struct size_rules *);
/* The sizes of `bytes`, and the largest behind them. False: they do not ascend, one is too small or
 * too large, or they are too many. */
bool size_list_of(struct size_list *, const uint32_t *bytes, unsigned count,
                  const struct size_rules *);
bool size_list_has(const struct size_list *, uint32_t bytes);
bool size_list_same(const struct size_list *, const struct size_list *);
uint32_t size_list_hash(const struct size_list *);
/* The smallest size that holds `bytes`, which is at most the largest. */
uint32_t size_list_fit(const struct size_list *, uint32_t bytes);

struct geometry {
    struct size_list sizes;
    uint8_t          ids[GEOMETRY_SIZES_MAX];                    /* of the class of each size */
    /* by size in words: most items are found here */
    uint8_t          of_small[GEOMETRY_SMALL_BYTES / 8 + 1];
};
void geometry_index(struct geometry *); /* fills of_small from sizes and ids */

/* place of size_list_fit() in the list */
unsigned geometry_search(const struct geometry *, uint32_t bytes);
/* The class of the smallest chunks that hold `bytes`; 0: larger than every chunk. */
static inline unsigned geometry_class_of(const struct geometry *g, size_t bytes) {
    uint32_t most = g->sizes.bytes[g->sizes.count - 1];
    if (bytes <= GEOMETRY_SMALL_BYTES && bytes <= most) {
        return g->of_small[(bytes + 7) / 8];
    }
    return bytes > most ? 0 : g->ids[geometry_search(g, (uint32_t)bytes)];
}
#endif
