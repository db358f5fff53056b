#include "cache/persist/recover_buckets.h"

#include <stdlib.h>
#include <string.h>

struct bucket_block {
    struct bucket_block *next;
    uint32_t          count;
    struct found      items[BUCKET_BLOCK];
};

bool recover_buckets_init(struct recover_buckets *b, unsigned threads, unsigned partitions) {
    b->first = calloc((size_t)threads * partitions, sizeof *b->first);
    b->threads = threads;
    b->partitions = partitions;
    return b->first != NULL;
}

static struct bucket_block **bucket_of(const struct recover_buckets *b, unsigned thread,
                                       unsigned partition) {
    return &b->first[(size_t)thread * b->partitions + partition];
}

static void bucket_empty(struct bucket_block **bin) {
    for (struct bucket_block *block = *bin, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    *bin = NULL;
}

void recover_buckets_fini(struct recover_buckets *b) {
    for (size_t i = 0; b->first != NULL && i < (size_t)b->threads * b->partitions; i++) {
        bucket_empty(&b->first[i]);
    }
    free(b->first);
    b->first = NULL;
}

/* Memory to gather a partition: its thread holds the partition's items twice, beside their blocks.
 * By chance one partition has more items than another, so a quarter is added. */
size_t recover_buckets_bytes(unsigned threads, unsigned partitions, uint64_t items) {
    size_t begun = (size_t)threads * partitions,
           a_partition = (size_t)(items / partitions + 1) * sizeof(struct found);
    return begun * (sizeof(struct bucket_block) + sizeof(struct bucket_block *)) +
           items * sizeof(struct bucket_block) / BUCKET_BLOCK + threads * a_partition * 5 / 2;
}

bool recover_buckets_put(struct recover_buckets *b, unsigned thread, unsigned partition,
                         const struct found *f) {
    struct bucket_block **bin = bucket_of(b, thread, partition);
    if (*bin == NULL || (*bin)->count == BUCKET_BLOCK) {
        struct bucket_block *block = malloc(sizeof *block);
        if (block == NULL) {
            return false;
        }
        block->next = *bin;
        block->count = 0;
        *bin = block;
    }
    (*bin)->items[(*bin)->count++] = *f;
    return true;
}

/* Sorts the items by age. `room` has space for as many items. Returns the sorted array: `from` or
 * `room`. */
static const struct found *buckets_sort(struct found *from, struct found *room, uint32_t count) {
    uint32_t least = UINT32_MAX, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        least = from[i].age < least ? from[i].age : least;
        most = from[i].age > most ? from[i].age : most;
    }
    for (unsigned shift = 0; shift < 32 && count > 0 && (most - least) >> shift > 0; shift += 8) {
        uint32_t places[257] = {0};
        for (uint32_t i = 0; i < count; i++) {
            places[((from[i].age - least) >> shift & 255) + 1]++;
        }
        for (unsigned d = 1; d < 256; d++) {
            places[d] += places[d - 1];
        }
        for (uint32_t i = 0; i < count; i++) {
            room[places[(from[i].age - least) >> shift & 255]++] = from[i];
        }
        struct found *sorted = room;
        room = from;
        from = sorted;
    }
    return from;
}

const struct found *recover_buckets_gather(struct recover_buckets *b, unsigned partition,
                                           uint32_t *count, struct found **memory) {
    uint32_t n = 0;
    for (unsigned t = 0; t < b->threads; t++) {
        for (const struct bucket_block *l = *bucket_of(b, t, partition); l != NULL; l = l->next) {
            n += l->count;
        }
    }
    *count = n;
    struct found *all = *memory = malloc(((size_t)n * 2 + 1) * sizeof *all);
    for (unsigned t = b->threads; all != NULL && t-- > 0;) {
        /* the list begins with the last block, so copying from its end preserves the order */
        for (const struct bucket_block *l = *bucket_of(b, t, partition); l != NULL; l = l->next) {
            n -= l->count;
            memcpy(all + n, l->items, l->count * sizeof *all);
        }
        bucket_empty(bucket_of(b, t, partition));
    }
    return all != NULL ? buckets_sort(all, all + *count, *count) : NULL;
}
