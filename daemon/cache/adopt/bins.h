/* What was found on the way from pages to partitions: each thread has a bin for each partition of
 * the round. A bin is one thread's while items are found; then a partition's bins are one thread's,
 * who gathers them. Nothing here is locked. */
#ifndef SLATE_CACHE_ADOPT_BINS_H
#define SLATE_CACHE_ADOPT_BINS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct found {
    uint64_t hash;
    uint32_t ref;
    uint32_t age; /* its time, from the last flush on: the lower, the older */
};
enum { BIN_BLOCK = 255 }; /* items: 4 KB a block */

struct bin_block;
struct bins {
    struct bin_block **first; /* by thread, then by partition: the block it fills */
    unsigned           threads, partitions;
};

bool bins_init(struct bins *, unsigned threads, unsigned partitions); /* false: out of memory */
void bins_fini(struct bins *); /* also of those that could not be made, and of zeroes */
/* What they take when so many items come, whatever their sizes; with what gathering takes. */
size_t bins_bytes(unsigned threads, unsigned partitions, uint64_t items);

bool bins_put(struct bins *, unsigned thread, unsigned partition, const struct found *);
/* All of a partition, by age, the oldest first, and else as each thread found them; its bins are
 * empty then. *memory is the caller's to free, NULL: out of memory. */
const struct found *bins_gather(struct bins *, unsigned partition, uint32_t *count,
                                struct found **memory);
#endif
