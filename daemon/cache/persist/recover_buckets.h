/* Items on their way from the pages where they were found to their partitions. Each thread has a
 * bin for each partition of the round. While items are found, a bin belongs to the thread that
 * fills it; then all bins of a partition belong to the thread that gathers them. So nothing is
 * locked. */
#ifndef SLATE_CACHE_PERSIST_RECOVER_BUCKETS_H
#define SLATE_CACHE_PERSIST_RECOVER_BUCKETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct found {
    uint64_t hash;
    uint32_t ref;
    /* its time on the items' clock, counted from the last flush: the lower, the older */
    uint32_t age;
};
enum { BUCKET_BLOCK = 255 }; /* items: 4 KB a block */

struct bucket_block;
struct recover_buckets {
    struct bucket_block **first; /* by thread, then by partition: the block it fills */
    unsigned           threads, partitions;
};

bool recover_buckets_init(struct recover_buckets *, unsigned threads,
                          unsigned partitions); /* false: out of memory */
void recover_buckets_fini(
    struct recover_buckets *); /* also of those that could not be made, and of zeroes */
/* Bytes that bins take for so many items, whatever their sizes, and gathering with them. */
size_t recover_buckets_bytes(unsigned threads, unsigned partitions, uint64_t items);

bool recover_buckets_put(struct recover_buckets *, unsigned thread, unsigned partition,
                         const struct found *);
/* Returns all items of a partition, the oldest first, those of the same age in the order in which
 * each thread found them; its bins are empty then. The caller frees *memory. NULL: out of
 * memory. */
const struct found *recover_buckets_gather(struct recover_buckets *, unsigned partition,
                                           uint32_t *count, struct found **memory);
#endif
