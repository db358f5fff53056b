#include "facts/tape.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct block {
    uint64_t first; /* index of its first sample */
    unsigned samples;
    int64_t wall_ms; /* time of the first sample */
    size_t raw_bytes, packed_bytes;
    uint8_t *packed; /* NULL: the last block, or unreadable for want of memory */
};

struct raw {
    uint8_t *bytes;
    size_t capacity;
};

struct tape {
    unsigned samples_limit;
    size_t bytes_limit, packed_bytes;
    struct block *blocks; /* oldest first */
    unsigned count, capacity;
    struct raw last; /* the samples of the last block */
    struct raw read; /* the samples of the packed block read last */
    uint64_t read_first; /* index of its first sample; UINT64_MAX: none */
};

/* A sample is its time of day and its snapshot, without absent classes. */
enum { SNAPSHOT_AT = sizeof(int64_t) };
_Static_assert(offsetof(struct snapshot, classes) % SNAPSHOT_AT == 0 &&
                   sizeof(struct class_stats) % SNAPSHOT_AT == 0,
               "snapshots are read where they stand, so each must be aligned");

struct tape *tape_create(unsigned samples_limit, size_t bytes_limit) {
    struct tape *tape = calloc(1, sizeof *tape);
    if (tape != NULL) {
        tape->samples_limit = samples_limit;
        tape->bytes_limit = bytes_limit;
        tape->read_first = UINT64_MAX;
    }
    return tape;
}

void tape_destroy(struct tape **tape) {
    if (*tape != NULL) {
        for (unsigned i = 0; i < (*tape)->count; i++) {
            free((*tape)->blocks[i].packed);
        }
        free((*tape)->blocks);
        free((*tape)->last.bytes);
        free((*tape)->read.bytes);
        free(*tape);
        *tape = NULL;
    }
}

static bool tape_reserve_raw(struct raw *raw, size_t bytes) {
    if (raw->capacity < bytes) {
        uint8_t *larger = realloc(raw->bytes, bytes);
        if (larger == NULL) {
            return false;
        }
        raw->bytes = larger;
        raw->capacity = bytes;
    }
    return true;
}

static struct block *tape_last_block(const struct tape *tape) {
    return &tape->blocks[tape->count - 1];
}

/* Packs the last block, by way of the buffer `read`: the packed size is known only afterwards. */
static void tape_pack_last_block(struct tape *tape) {
    struct block *block = tape_last_block(tape);
    uLongf bytes = compressBound(block->raw_bytes);
    tape->read_first = UINT64_MAX;
    if (tape_reserve_raw(&tape->read, bytes) &&
        compress2(tape->read.bytes, &bytes, tape->last.bytes, block->raw_bytes, Z_BEST_SPEED) ==
            Z_OK &&
        (block->packed = malloc(bytes)) != NULL) {
        memcpy(block->packed, tape->read.bytes, bytes);
        block->packed_bytes = bytes;
        tape->packed_bytes += bytes;
    }
}

static bool tape_begin_block(struct tape *tape, int64_t wall_ms) {
    uint64_t end = tape_end(tape);
    if (tape->count == tape->capacity) {
        unsigned capacity = tape->capacity == 0 ? 16 : tape->capacity * 2;
        struct block *larger = realloc(tape->blocks, capacity * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        tape->blocks = larger;
        tape->capacity = capacity;
    }
    if (tape->count > 0) {
        tape_pack_last_block(tape);
    }
    tape->blocks[tape->count++] = (struct block){.first = end, .wall_ms = wall_ms};
    while (tape->count > 1 && (tape->packed_bytes > tape->bytes_limit ||
                               end - tape->blocks[1].first >= tape->samples_limit)) {
        tape->packed_bytes -= tape->blocks[0].packed_bytes;
        free(tape->blocks[0].packed);
        memmove(tape->blocks, tape->blocks + 1, --tape->count * sizeof *tape->blocks);
    }
    return true;
}

bool tape_add(struct tape *tape, const struct snapshot *snapshot, int64_t wall_ms) {
    bool needs_block = tape->count == 0 || tape_last_block(tape)->samples == TAPE_BLOCK_SAMPLES;
    if (needs_block && !tape_begin_block(tape, wall_ms)) {
        return false;
    }
    struct block *block = tape_last_block(tape);
    size_t bytes = snapshot_bytes(snapshot);
    if (!tape_reserve_raw(&tape->last, block->raw_bytes + SNAPSHOT_AT + bytes)) {
        return false;
    }
    uint8_t *sample = tape->last.bytes + block->raw_bytes;
    memcpy(sample, &wall_ms, SNAPSHOT_AT);
    memcpy(sample + SNAPSHOT_AT, snapshot, bytes);
    block->raw_bytes += SNAPSHOT_AT + bytes;
    block->samples++;
    return true;
}

uint64_t tape_first(const struct tape *tape) {
    return tape->count > 0 ? tape->blocks[0].first : 0;
}

uint64_t tape_end(const struct tape *tape) {
    return tape->count > 0 ? tape_last_block(tape)->first + tape_last_block(tape)->samples : 0;
}

/* The samples of a block, unpacked; NULL when out of memory. */
static const uint8_t *tape_raw_of(struct tape *tape, const struct block *block) {
    if (block == tape_last_block(tape)) {
        return tape->last.bytes;
    }
    if (tape->read_first != block->first) {
        uLongf bytes = block->raw_bytes;
        tape->read_first = UINT64_MAX;
        if (block->packed == NULL || !tape_reserve_raw(&tape->read, bytes) ||
            uncompress(tape->read.bytes, &bytes, block->packed, block->packed_bytes) != Z_OK) {
            return NULL;
        }
        tape->read_first = block->first;
    }
    return tape->read.bytes;
}

bool tape_read(struct tape *tape, uint64_t index, const struct snapshot **snapshot,
               int64_t *wall_ms) {
    if (index < tape_first(tape) || index >= tape_end(tape)) {
        return false;
    }
    /* All blocks but the last are full. */
    const struct block *block = &tape->blocks[(index - tape_first(tape)) / TAPE_BLOCK_SAMPLES];
    const uint8_t *sample = tape_raw_of(tape, block);
    if (sample == NULL) {
        return false;
    }
    for (uint64_t i = block->first; i < index; i++) {
        sample += SNAPSHOT_AT + snapshot_bytes((const void *)(sample + SNAPSHOT_AT));
    }
    memcpy(wall_ms, sample, SNAPSHOT_AT);
    if (snapshot != NULL) {
        *snapshot = (const void *)(sample + SNAPSHOT_AT);
    }
    return true;
}

uint64_t tape_find(struct tape *tape, int64_t wall_ms) {
    unsigned at = 0;
    while (at + 1 < tape->count && tape->blocks[at + 1].wall_ms <= wall_ms) {
        at++;
    }
    uint64_t found = tape_first(tape) + (uint64_t)at * TAPE_BLOCK_SAMPLES;
    int64_t its_ms;
    for (uint64_t i = found; tape_read(tape, i, NULL, &its_ms) && its_ms <= wall_ms; i++) {
        found = i;
    }
    return found;
}

size_t tape_bytes(const struct tape *tape) {
    return tape->packed_bytes + tape->last.capacity + tape->read.capacity;
}
