/* Items on their way from the pages to their partitions. Each thread has a bucket for each
 * partition of the round. During the scan a bucket belongs to the thread that fills it; then all
 * buckets of a partition belong to the thread that gathers them. So nothing is locked. */
#ifndef SLATE_CACHE_PERSIST_RECOVER_BUCKETS_H
#define SLATE_CACHE_PERSIST_RECOVER_BUCKETS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct found {
    uint64_t hash;
    uint32_t ref;
    /* time on the items' clock since the last flush: a lower one is older */
    uint32_t age;
};
enum { BUCKET_BLOCK = 255 }; /* items in a block of 4 KB */

struct bucket_block;
struct recover_buckets {
    struct bucket_block **first; /* by thread, then by partition: the block being filled */
    unsigned           threads, partitions;
};

bool recover_buckets_init(struct recover_buckets *, unsigned threads,
                          unsigned partitions); /* false: out of memory */
void recover_buckets_fini(
    struct recover_buckets *); /* also after a failed init, and of zeroes */
/* Memory for the buckets and for gathering, for so many items of any size. */
size_t recover_buckets_bytes(unsigned threads, unsigned partitions, uint64_t items);

bool recover_buckets_put(struct recover_buckets *, unsigned thread, unsigned partition,
                         const struct found *);
/* Returns all items of a partition, the oldest first; items of the same age in the order in which
 * each thread found them. Empties the partition's buckets. The caller frees *memory. NULL: out of
 * memory. */
const struct found *recover_buckets_gather(struct recover_buckets *, unsigned partition,
                                           uint32_t *count, struct found **memory);
#endif
