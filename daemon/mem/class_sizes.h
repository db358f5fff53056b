/* A geometry: the chunk sizes, and the class that serves a size. The struct never changes once
 * other threads can see it.
 *
 * Threading: only the owner builds the struct; any thread reads it. Cost of finding a class: one
 * load up to CLASS_SIZES_SMALL_BYTES, a binary search above. */
#ifndef SLATE_MEM_CLASS_SIZES_H
#define SLATE_MEM_CLASS_SIZES_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"

enum { CLASS_SIZES_SMALL_BYTES = 4096, CLASS_SIZES_MAX = CLASS_SET_IDS - 1 };

/* Chunk sizes in bytes, ascending, each a multiple of the arena's unit; the last is
 * slab_chunk_max. */
struct size_list {
    unsigned count;
    uint32_t bytes[CLASS_SIZES_MAX];
};

/* The rules that every list of an arena keeps. */
struct size_rules {
    uint32_t least_bytes; /* smallest chunk: the header of an item and a word */
    /* a list that has a chunk for every size begins with this size, or a smaller one */
    uint32_t first_bytes;
    uint32_t most_bytes;  /* slab_chunk_max, always the last size */
    uint32_t unit_bytes;  /* sizes are rounded up to a multiple of this power of two */
    unsigned count_most;  /* most sizes in a list, with the last: 2 to CLASS_SIZES_MAX */
};
/* Makes a list that begins with `first_bytes`; each size is at least `factor` (> 1) times the one
 * before. */
void size_list_by_factor(struct size_list *, uint32_t first_bytes, double factor,
                         const struct size_rules *);
/* Makes a list of the sizes in `bytes`, and appends the largest. False: they do not ascend, one is
 * too small or too large, or they are too many. */
bool size_list_of(struct size_list *, const uint32_t *bytes, unsigned count,
                  const struct size_rules *);
bool size_list_has(const struct size_list *, uint32_t bytes);
bool size_list_same(const struct size_list *, const struct size_list *);
uint32_t size_list_hash(const struct size_list *);
/* The smallest size that holds `bytes`; `bytes` is at most the largest size. */
uint32_t size_list_fit(const struct size_list *, uint32_t bytes);

struct class_sizes {
    struct size_list sizes;
    uint8_t          ids[CLASS_SIZES_MAX];                    /* id of each size's class */
    /* ids by an item's size in words; most items are this small */
    uint8_t          of_small[CLASS_SIZES_SMALL_BYTES / 8 + 1];
};
void class_sizes_index(struct class_sizes *); /* fills of_small from sizes and ids */

/* Place of size_list_fit() in the list. */
unsigned class_sizes_search(const struct class_sizes *, uint32_t bytes);
/* The class of the smallest chunks that hold `bytes`; 0: larger than every chunk. */
static inline unsigned class_sizes_class_of(const struct class_sizes *g, size_t bytes) {
    uint32_t most = g->sizes.bytes[g->sizes.count - 1];
    if (bytes <= CLASS_SIZES_SMALL_BYTES && bytes <= most) {
        return g->of_small[(bytes + 7) / 8];
    }
    return bytes > most ? 0 : g->ids[class_sizes_search(g, (uint32_t)bytes)];
}
#endif
