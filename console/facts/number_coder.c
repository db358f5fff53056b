#include "facts/number_coder.h"

#include <stdlib.h>
#include <string.h>

enum {
    SEEN_MOST = 254,   /* what came long ago counts less and less */
    SURE = 65536 - 32, /* a bit that was never seen stays possible */
    FIRST_CAPACITY = 4096,
    LENGTH_LEVELS = 7 /* of the tree: 0 to 64 bits */
};

unsigned number_bits(uint64_t number) {
    return number == 0 ? 0 : NUMBER_BITS - (unsigned)__builtin_clzll(number);
}

static void init_all(struct odds *odds, size_t count) {
    for (size_t i = 0; i < count; i++) {
        odds[i] = (struct odds)ODDS_EVEN;
    }
}

void odds_of_any_init(struct odds_of_any *odds) {
    init_all(odds->length, sizeof odds->length / sizeof *odds->length);
}

void odds_of_few_init(struct odds_of_few *odds, unsigned bits) {
    odds->bits = bits;
    init_all(&odds->zero, 1);
    init_all(odds->so_long, bits + 1);
}

static void learn(struct odds *odds, bool bit) {
    int target = bit ? 65536 : 0, now = odds->of_one;
    now += (target - now) / (odds->seen + 2);
    odds->of_one = (uint16_t)(now > SURE ? SURE : now < 65536 - SURE ? 65536 - SURE : now);
    odds->seen += odds->seen < SEEN_MOST;
}

/* Where the range parts: what is up to it is a 1. */
static uint32_t middle(uint32_t low, uint32_t high, uint32_t of_one) {
    return low + (uint32_t)(((uint64_t)(high - low) * of_one) >> 16);
}

static bool top_is_known(uint32_t low, uint32_t high) {
    return ((low ^ high) & 0xff000000) == 0;
}

/* ---- writing ---- */

void number_writer_init(struct number_writer *writer) {
    *writer = (struct number_writer){.high = UINT32_MAX};
}

static void put_byte(struct number_writer *writer, struct grown_bytes *to, uint8_t byte) {
    if (to->used == to->capacity) {
        size_t wanted = to->capacity == 0 ? FIRST_CAPACITY : 2 * to->capacity;
        uint8_t *larger = writer->is_short ? NULL : realloc(to->bytes, wanted);
        if (larger == NULL) {
            writer->is_short = true;
            return;
        }
        to->bytes = larger;
        to->capacity = wanted;
    }
    to->bytes[to->used++] = byte;
}

/* The bits below the highest 1, the highest first. */
static void put_rest(struct number_writer *writer, uint64_t number, unsigned bits) {
    for (unsigned left = bits - 1; left > 0 && !writer->is_short;) {
        if (writer->free_bits == 0) {
            put_byte(writer, &writer->plain, 0);
            writer->free_bits = 8;
            continue;
        }
        unsigned now = left < writer->free_bits ? left : writer->free_bits;
        uint64_t part = number >> (left - now) & ((1U << now) - 1);
        writer->free_bits -= now;
        left -= now;
        writer->plain.bytes[writer->plain.used - 1] |= (uint8_t)(part << writer->free_bits);
    }
}

void put_bit(struct number_writer *writer, struct odds *odds, bool bit) {
    uint32_t parts_at = middle(writer->low, writer->high, odds->of_one);
    if (bit) {
        writer->high = parts_at;
    } else {
        writer->low = parts_at + 1;
    }
    while (top_is_known(writer->low, writer->high)) {
        put_byte(writer, &writer->coded, (uint8_t)(writer->high >> 24));
        writer->low <<= 8;
        writer->high = writer->high << 8 | 0xff;
    }
    learn(odds, bit);
}

void put_any(struct number_writer *writer, struct odds_of_any *odds, uint64_t number) {
    unsigned bits = number_bits(number), node = 1;
    for (unsigned level = LENGTH_LEVELS; level-- > 0;) {
        unsigned bit = bits >> level & 1;
        put_bit(writer, &odds->length[node], bit);
        node = 2 * node + bit;
    }
    if (bits > 0) {
        put_rest(writer, number, bits);
    }
}

void put_few(struct number_writer *writer, struct odds_of_few *odds, uint64_t number) {
    unsigned bits = number_bits(number), length = odds->bits;
    put_bit(writer, &odds->zero, bits == 0);
    if (bits == 0) {
        return;
    }
    for (; length > bits; length--) {
        put_bit(writer, &odds->so_long[length], false);
    }
    if (length > 1) {
        put_bit(writer, &odds->so_long[length], true);
    }
    put_rest(writer, number, bits);
}

/* How many bytes are coded; these; then the plain ones. */
uint8_t *number_writer_end(struct number_writer *writer, size_t *bytes) {
    for (unsigned shift = 32; shift > 0; shift -= 8) { /* any number of the range ends it */
        put_byte(writer, &writer->coded, (uint8_t)(writer->low >> (shift - 8)));
    }
    uint32_t coded = (uint32_t)writer->coded.used;
    uint8_t *all =
        writer->is_short ? NULL : malloc(sizeof coded + coded + writer->plain.used);
    if (all != NULL) {
        memcpy(all, &coded, sizeof coded);
        memcpy(all + sizeof coded, writer->coded.bytes, coded);
        if (writer->plain.used > 0) {
            memcpy(all + sizeof coded + coded, writer->plain.bytes, writer->plain.used);
        }
        *bytes = sizeof coded + coded + writer->plain.used;
    }
    free(writer->coded.bytes);
    free(writer->plain.bytes);
    return all;
}

/* ---- reading ---- */

static void take_byte(struct number_reader *reader) {
    reader->code = reader->code << 8 | (reader->at < reader->end ? *reader->at++ : 0);
}

void number_reader_init(struct number_reader *reader, const uint8_t *bytes) {
    uint32_t coded;
    memcpy(&coded, bytes, sizeof coded);
    const uint8_t *at = bytes + sizeof coded;
    *reader = (struct number_reader){
        .at = at, .end = at + coded, .plain = at + coded, .left_bits = 8, .high = UINT32_MAX};
    for (int i = 0; i < 4; i++) {
        take_byte(reader);
    }
}

bool take_bit(struct number_reader *reader, struct odds *odds) {
    uint32_t parts_at = middle(reader->low, reader->high, odds->of_one);
    bool bit = reader->code <= parts_at;
    if (bit) {
        reader->high = parts_at;
    } else {
        reader->low = parts_at + 1;
    }
    while (top_is_known(reader->low, reader->high)) {
        take_byte(reader);
        reader->low <<= 8;
        reader->high = reader->high << 8 | 0xff;
    }
    learn(odds, bit);
    return bit;
}

static uint64_t take_rest(struct number_reader *reader, unsigned bits) {
    uint64_t number = 1;
    for (unsigned left = bits - 1; left > 0;) {
        unsigned now = left < reader->left_bits ? left : reader->left_bits;
        reader->left_bits -= now;
        left -= now;
        number = number << now | (*reader->plain >> reader->left_bits & ((1U << now) - 1));
        if (reader->left_bits == 0) {
            reader->plain++;
            reader->left_bits = 8;
        }
    }
    return number;
}

uint64_t take_any(struct number_reader *reader, struct odds_of_any *odds) {
    unsigned node = 1;
    for (unsigned level = 0; level < LENGTH_LEVELS; level++) {
        node = 2 * node + take_bit(reader, &odds->length[node]);
    }
    unsigned bits = node - (1U << LENGTH_LEVELS);
    return bits > 0 ? take_rest(reader, bits) : 0;
}

uint64_t take_few(struct number_reader *reader, struct odds_of_few *odds) {
    unsigned length = odds->bits;
    if (take_bit(reader, &odds->zero)) {
        return 0;
    }
    while (length > 1 && !take_bit(reader, &odds->so_long[length])) {
        length--;
    }
    return take_rest(reader, length);
}
