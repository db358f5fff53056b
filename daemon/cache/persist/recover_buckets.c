#include "cache/persist/recover_buckets.h"

#include <stdlib.h>
#include <string.h>

struct bin_block {
    struct bin_block *next;
    uint32_t          count;
    struct found      items[BIN_BLOCK];
};

bool bins_init(struct bins *b, unsigned threads, unsigned partitions) {
    *b = (struct bins){calloc((size_t)threads * partitions, sizeof *b->first), threads, partitions};
    return b->first != NULL;
}

static struct bin_block **bin_of(const struct bins *b, unsigned thread, unsigned partition) {
    return &b->first[(size_t)thread * b->partitions + partition];
}

static void empty(struct bin_block **bin) {
    for (struct bin_block *block = *bin, *next; block != NULL; block = next) {
        next = block->next;
        free(block);
    }
    *bin = NULL;
}

void bins_fini(struct bins *b) {
    for (size_t i = 0; b->first != NULL && i < (size_t)b->threads * b->partitions; i++) {
        empty(&b->first[i]);
    }
    free(b->first);
    b->first = NULL;
}

/* Bytes that gathering a partition takes: its thread holds the partition's items twice, beside the
 * blocks that they came in. By chance one partition has more items than another, so a quarter is
 * added. */
size_t bins_bytes(unsigned threads, unsigned partitions, uint64_t items) {
    size_t begun = (size_t)threads * partitions,
           a_partition = (size_t)(items / partitions + 1) * sizeof(struct found);
    return begun * (sizeof(struct bin_block) + sizeof(struct bin_block *)) +
           items * sizeof(struct bin_block) / BIN_BLOCK + threads * a_partition * 5 / 2;
}

bool bins_put(struct bins *b, unsigned thread, unsigned partition, const struct found *f) {
    struct bin_block **bin = bin_of(b, thread, partition);
    if (*bin == NULL || (*bin)->count == BIN_BLOCK) {
        struct bin_block *block = malloc(sizeof *block);
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

/* Sorts the items by age. `room` has space for as many. Returns the sorted array, which is `items`
 * or `room`. */
static const struct found *sort(struct found *from, struct found *room, uint32_t count) {
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

const struct found *bins_gather(struct bins *b, unsigned partition, uint32_t *count,
                                struct found **memory) {
    uint32_t n = 0;
    for (unsigned t = 0; t < b->threads; t++) {
        for (const struct bin_block *l = *bin_of(b, t, partition); l != NULL; l = l->next) {
            n += l->count;
        }
    }
    *count = n;
    struct found *all = *memory = malloc(((size_t)n * 2 + 1) * sizeof *all);
    for (unsigned t = b->threads; all != NULL && t-- > 0;) {
        /* the list begins with the last block, so it is copied from its end, which keeps the
         * order */
        for (const struct bin_block *l = *bin_of(b, t, partition); l != NULL; l = l->next) {
            n -= l->count;
            memcpy(all + n, l->items, l->count * sizeof *all);
        }
        empty(bin_of(b, t, partition));
    }
    return all != NULL ? sort(all, all + *count, *count) : NULL;
}
