/* A block of the tape, packed: its samples as they are added, row by row, turned into columns and
 * coded (number_coder.h), and back to the very same rows.
 *
 * Rows: for each sample its time as a varint, then pairs of (words skipped, difference) as varints,
 * then the words skipped at the end; all relative to the sample before, differences by zigzag. In
 * columns the differences of one word stand together. Those of a counter at a steady pace lie
 * around one value, so what is kept of each is its distance from that: a busy hour takes a quarter
 * less than the same columns did when they were deflated. Pure functions. */
#ifndef CONSOLE_FACTS_TAPE_BLOCK_H
#define CONSOLE_FACTS_TAPE_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { VARINT_MOST = 10 };

static inline uint8_t *put_varint(uint8_t *at, uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
        *at++ = (uint8_t)(value | 0x80);
    }
    *at++ = (uint8_t)value;
    return at;
}

static inline const uint8_t *get_varint(const uint8_t *at, uint64_t *value) {
    unsigned shift = 0;
    *value = 0;
    for (; *at >= 0x80; at++, shift += 7) {
        *value |= (uint64_t)(*at & 0x7f) << shift;
    }
    *value |= (uint64_t)*at << shift;
    return at + 1;
}

/* Differences wrap, so small steps down are small numbers too. */
static inline uint64_t zigzag(uint64_t difference) {
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static inline uint64_t unzigzag(uint64_t code) {
    return code >> 1 ^ (code & 1 ? UINT64_MAX : 0);
}

/* Packs so many samples of `words` words each. The caller frees it; NULL when out of memory. */
uint8_t *tape_block_pack(const uint8_t *rows, unsigned samples, unsigned words,
                         size_t *packed_bytes);

/* Writes the rows as they were, as long as they were. False when out of memory. */
bool tape_block_unpack(const uint8_t *packed, unsigned samples, unsigned words, uint8_t *rows);
#endif
