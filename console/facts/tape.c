#include "facts/tape.h"

#include "facts/tape_block.h"

#include <stdlib.h>
#include <string.h>

enum {
    WORDS = sizeof(struct snapshot) / sizeof(uint64_t),
    CLASS_WORDS = sizeof(struct class_stats) / sizeof(uint64_t),
    HEAD_WORDS = WORDS - CLASS_LIMIT * CLASS_WORDS,
    /* a difference and a skip, below 16384, for each word */
    SAMPLE_MOST = (WORDS + 2) * (VARINT_MOST + 2),
    OPEN_LIMIT = 256 * 1024         /* a block that grows beyond it ends early */
};
_Static_assert(sizeof(struct snapshot) % sizeof(uint64_t) == 0 &&
                   offsetof(struct snapshot, classes) == HEAD_WORDS * sizeof(uint64_t),
               "a snapshot is a row of words, and its classes are the last of them");

/* One snapshot as words, with its time of day. */
union frame {
    struct snapshot snapshot;
    uint64_t word[WORDS];
};

/* On its way onto a tape or off it. 44 kB: too large for a stack frame. */
static union frame passing;

struct block {
    uint64_t first; /* index of its first sample */
    unsigned samples;
    int64_t wall_ms;  /* of the first sample */
    size_t raw_bytes; /* of its rows */
    size_t bytes;
    uint8_t *data;
};

struct tape {
    unsigned samples_limit;
    size_t bytes_limit, bytes;
    struct block *blocks; /* oldest first; the last one is open: not deflated */
    unsigned count, capacity;
    uint8_t *open; /* the open block's samples */
    size_t open_capacity;
    union frame newest;
    int64_t newest_wall_ms;
    /* The sample read last, and what it was read from. */
    uint8_t *plain; /* an inflated block; the open one is read in place */
    size_t plain_bytes;
    uint64_t plain_first; /* which block it is; UINT64_MAX: none */
    union frame read;
    int64_t read_wall_ms;
    uint64_t read_index; /* UINT64_MAX: none */
    size_t read_at;      /* where the sample after it begins */
};

struct tape *tape_create(unsigned samples_limit, size_t bytes_limit) {
    struct tape *tape = calloc(1, sizeof *tape);
    if (tape != NULL) {
        tape->samples_limit = samples_limit;
        tape->bytes_limit = bytes_limit;
        tape->plain_first = tape->read_index = UINT64_MAX;
    }
    return tape;
}

void tape_destroy(struct tape **tape) {
    if (*tape != NULL) {
        for (unsigned i = 0; i < (*tape)->count; i++) {
            free((*tape)->blocks[i].data);
        }
        free((*tape)->blocks);
        free((*tape)->open);
        free((*tape)->plain);
        free(*tape);
        *tape = NULL;
    }
}

/* ---- one sample: the time, then (words skipped, difference) pairs, then the words skipped at the
 * end ---- */

static unsigned words_of(const union frame *frame) {
    return HEAD_WORDS + (unsigned)frame->snapshot.class_end * CLASS_WORDS;
}

/* Makes words of memory that is void, up to the class that a word belongs to. */
static void reach(union frame *frame, unsigned word) {
    if (word >= words_of(frame)) {
        snapshot_add_class(&frame->snapshot, (word - HEAD_WORDS) / CLASS_WORDS);
    }
}

/* How far the classes go is no difference: both have as many words here, and the one who reads
 * reaches for those that differ. */
static uint8_t *encode(uint8_t *at, const union frame *before, int64_t wall_before_ms,
                       const union frame *now, int64_t wall_ms) {
    at = put_varint(at, zigzag((uint64_t)wall_ms - (uint64_t)wall_before_ms));
    uint64_t skipped = 0;
    unsigned words = words_of(now);
    for (unsigned i = 0; i < words; i++) {
        uint64_t difference = now->word[i] - before->word[i];
        if (difference == 0) {
            skipped++;
            continue;
        }
        at = put_varint(put_varint(at, skipped), zigzag(difference));
        skipped = 0;
    }
    return put_varint(at, skipped + (WORDS - words));
}

/* Our own bytes, so they are not checked. */
static const uint8_t *decode(const uint8_t *at, union frame *frame, int64_t *wall_ms) {
    uint64_t code;
    at = get_varint(at, &code);
    *wall_ms = (int64_t)((uint64_t)*wall_ms + unzigzag(code));
    for (unsigned i = 0;; i++) {
        at = get_varint(at, &code);
        i += (unsigned)code;
        if (i >= WORDS) {
            return at;
        }
        at = get_varint(at, &code);
        reach(frame, i);
        frame->word[i] += unzigzag(code);
    }
}

/* Two figures of a class follow from others of it, so what is kept is by how much they do not: as a
 * rule nothing, or what stays the same. sign: 1 to keep, -1 to have them back; sums wrap, so it
 * goes for any values. */
static void lean(struct snapshot *snapshot, int sign) {
    for (unsigned id = 0; id < snapshot->class_end; id++) {
        uint64_t *value = snapshot->classes[id].value;
        if (snapshot->classes[id].present) {
            uint64_t unused = value[CLASS_free_chunks] - value[CLASS_total_chunks];
            uint64_t others =
                value[CLASS_number_hot] + value[CLASS_number_warm] - value[CLASS_number];
            value[CLASS_used_chunks] += sign < 0 ? -unused : unused;
            value[CLASS_number_cold] += sign < 0 ? -others : others;
        }
    }
}

/* ---- blocks ---- */

static void close_block(struct tape *tape) {
    struct block *block = &tape->blocks[tape->count - 1];
    block->data = tape_block_pack(tape->open, block->samples, WORDS, &block->bytes);
    /* else out of memory: it can't be read */
    tape->bytes += block->data != NULL ? block->bytes : 0;
}

static bool open_block(struct tape *tape, int64_t wall_ms) {
    if (tape->count == tape->capacity) {
        unsigned capacity = tape->capacity == 0 ? 16 : tape->capacity * 2;
        struct block *larger = realloc(tape->blocks, capacity * sizeof *larger);
        if (larger == NULL) {
            return false;
        }
        tape->blocks = larger;
        tape->capacity = capacity;
    }
    uint64_t end = tape_end(tape);
    tape->blocks[tape->count++] = (struct block){.first = end, .wall_ms = wall_ms};
    snapshot_init(&tape->newest.snapshot);
    tape->newest_wall_ms = 0;
    return true;
}

static void drop_oldest(struct tape *tape) {
    tape->bytes -= tape->blocks[0].bytes;
    free(tape->blocks[0].data);
    memmove(tape->blocks, tape->blocks + 1, --tape->count * sizeof *tape->blocks);
}

static bool is_full(const struct block *block) {
    return block->samples == TAPE_BLOCK_SAMPLES || block->raw_bytes >= OPEN_LIMIT;
}

/* Room for one more sample in the open block; it stays small when little changes. */
static bool make_room(struct tape *tape, size_t used) {
    if (tape->open_capacity - used >= SAMPLE_MOST) {
        return true;
    }
    size_t wanted = used + SAMPLE_MOST;
    uint8_t *larger = realloc(tape->open, wanted);
    if (larger == NULL) {
        return false;
    }
    tape->open = larger;
    tape->open_capacity = wanted;
    return true;
}

bool tape_add(struct tape *tape, const struct snapshot *snapshot, int64_t wall_ms) {
    if (tape->count == 0 || is_full(&tape->blocks[tape->count - 1])) {
        if (tape->count > 0) {
            close_block(tape);
        }
        if (!open_block(tape, wall_ms)) {
            return false;
        }
        while (tape->count > 1 &&
               (tape->bytes > tape->bytes_limit ||
                tape_end(tape) - tape->blocks[1].first >= tape->samples_limit)) {
            drop_oldest(tape);
        }
    }
    struct block *block = &tape->blocks[tape->count - 1];
    if (!make_room(tape, block->raw_bytes)) {
        return false;
    }
    snapshot_copy(&passing.snapshot, snapshot);
    lean(&passing.snapshot, 1);
    reach(&passing, words_of(&tape->newest) - 1);
    reach(&tape->newest, words_of(&passing) - 1);
    uint8_t *from = tape->open + block->raw_bytes;
    uint8_t *end = encode(from, &tape->newest, tape->newest_wall_ms, &passing, wall_ms);
    block->raw_bytes += (size_t)(end - from);
    block->samples++;
    snapshot_copy(&tape->newest.snapshot, &passing.snapshot);
    tape->newest_wall_ms = wall_ms;
    return true;
}

uint64_t tape_first(const struct tape *tape) {
    return tape->count > 0 ? tape->blocks[0].first : 0;
}

uint64_t tape_end(const struct tape *tape) {
    if (tape->count == 0) {
        return 0;
    }
    const struct block *last = &tape->blocks[tape->count - 1];
    return last->first + last->samples;
}

static const struct block *block_of(const struct tape *tape, uint64_t index) {
    unsigned low = 0, high = tape->count;
    while (low + 1 < high) {
        unsigned middle = (low + high) / 2;
        if (tape->blocks[middle].first <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    const struct block *block = low < tape->count ? &tape->blocks[low] : NULL;
    bool is_in =
        block != NULL && index >= block->first && index < block->first + block->samples;
    return is_in ? block : NULL;
}

/* The samples of a block, inflated. */
static const uint8_t *plain_of(struct tape *tape, const struct block *block) {
    if (block == &tape->blocks[tape->count - 1]) {
        return tape->open;
    }
    if (tape->plain_first == block->first) {
        return tape->plain;
    }
    tape->plain_first = UINT64_MAX;
    if (tape->plain_bytes < block->raw_bytes) {
        uint8_t *larger = realloc(tape->plain, block->raw_bytes);
        if (larger == NULL) {
            return NULL;
        }
        tape->plain = larger;
        tape->plain_bytes = block->raw_bytes;
    }
    if (block->data == NULL ||
        !tape_block_unpack(block->data, block->samples, WORDS, tape->plain)) {
        return NULL;
    }
    tape->plain_first = block->first;
    return tape->plain;
}

bool tape_read(struct tape *tape, uint64_t index, const struct snapshot **snapshot,
               int64_t *wall_ms) {
    const struct block *block = block_of(tape, index);
    const uint8_t *plain = block != NULL ? plain_of(tape, block) : NULL;
    if (plain == NULL) {
        return false;
    }
    bool goes_on = tape->read_index != UINT64_MAX && tape->read_index >= block->first &&
                   tape->read_index <= index;
    if (!goes_on) {
        snapshot_init(&tape->read.snapshot);
        tape->read_wall_ms = 0;
        tape->read_at = 0;
        tape->read_index = block->first - 1;
    }
    while (tape->read_index != index) {
        const uint8_t *next = decode(plain + tape->read_at, &tape->read, &tape->read_wall_ms);
        tape->read_at = (size_t)(next - plain);
        tape->read_index++;
    }
    if (snapshot != NULL) {
        snapshot_copy(&passing.snapshot, &tape->read.snapshot);
        lean(&passing.snapshot, -1);
        *snapshot = &passing.snapshot;
    }
    *wall_ms = tape->read_wall_ms;
    return true;
}

uint64_t tape_find(struct tape *tape, int64_t wall_ms) {
    unsigned at = 0;
    while (at + 1 < tape->count && tape->blocks[at + 1].wall_ms <= wall_ms) {
        at++;
    }
    if (tape->count == 0) {
        return 0;
    }
    const struct block *block = &tape->blocks[at];
    uint64_t found = block->first;
    for (uint64_t i = block->first; i < block->first + block->samples; i++) {
        int64_t its_ms;
        if (!tape_read(tape, i, NULL, &its_ms) || its_ms > wall_ms) {
            break;
        }
        found = i;
    }
    return found;
}

size_t tape_bytes(const struct tape *tape) {
    return tape->bytes + tape->open_capacity;
}
