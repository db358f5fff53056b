/* A block of the tape, packed: its samples as they are added, row by row, turned into columns and
 * deflated, and back to the very same rows.
 *
 * Rows: for each sample its time as a varint, then pairs of (words skipped, difference) as varints,
 * then the words skipped at the end; all relative to the sample before. In columns the differences
 * of one word stand together, their bytes apart by weight: those of a counter at a steady pace are
 * alike, so a busy hour takes a quarter less than its rows do. Pure functions. */
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

/* Packs so many samples of `words` words each. The caller frees it; NULL when out of memory. */
uint8_t *tape_block_pack(const uint8_t *rows, unsigned samples, unsigned words,
                         size_t *packed_bytes);

/* Writes the rows as they were, as long as they were. False when out of memory. */
bool tape_block_unpack(const uint8_t *packed, size_t packed_bytes, unsigned samples, unsigned words,
                       uint8_t *rows);
#endif
