/* Finds where tokens and lines end, 16 bytes at a time.
 *
 * Every function may read up to 16 bytes past `end`. A result at or past `end` means that there is
 * no delimiter before `end`. The bytes past `end` may never have been written: each bit of a block
 * depends on one byte, and the lowest bit counts, so a delimiter before `end` is always found. A
 * memory checker may still report the jump that depends on such a block; masking those bits would
 * cost every token some instructions. SSE2 is in x86-64's baseline; other machines scan words. */
#ifndef SLATE_PROTOCOL_SCAN_H
#define SLATE_PROTOCOL_SCAN_H
#include <stdint.h>
#include <string.h>

#if defined(__SSE2__) && !defined(SLATE_SCAN_WORDS)
#include <emmintrin.h>

/* scan_is: bit i is set when p[i] is c; 16 bits. */
struct scan_block {
    __m128i bytes;
};
static inline struct scan_block scan_load(const char *p) {
    return (struct scan_block){_mm_loadu_si128((const __m128i *)(const void *)p)};
}
static inline uint32_t scan_is(struct scan_block b, char c) {
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(b.bytes, _mm_set1_epi8(c)));
}
static inline uint32_t scan_is_either(struct scan_block b, char c, char d) {
    __m128i hit = _mm_or_si128(_mm_cmpeq_epi8(b.bytes, _mm_set1_epi8(c)),
                               _mm_cmpeq_epi8(b.bytes, _mm_set1_epi8(d)));
    return (uint32_t)_mm_movemask_epi8(hit);
}
#else
struct scan_block {
    uint64_t low, high;
};
static inline struct scan_block scan_load(const char *p) {
    struct scan_block b;
    memcpy(&b.low, p, 8);
    memcpy(&b.high, p + 8, 8);
    return b;
}
/* Bit i is set when byte i of the word is c. Exact for every byte: no borrow crosses the border of
 * a byte. */
static inline uint32_t scan_word_is(uint64_t word, char c) {
    const uint64_t low7 = 0x7f7f7f7f7f7f7f7fu;
    uint64_t x = word ^ (0x0101010101010101u * (uint8_t)c);
    uint64_t high_bits = ~(((x & low7) + low7) | x | low7);
    return (uint32_t)(((high_bits >> 7) * 0x0102040810204080u) >> 56);
}
static inline uint32_t scan_is(struct scan_block b, char c) {
    return scan_word_is(b.low, c) | scan_word_is(b.high, c) << 8;
}
static inline uint32_t scan_is_either(struct scan_block b, char c, char d) {
    return scan_is(b, c) | scan_is(b, d);
}
#endif

/* Returns the first space or line feed at or after p. */
static inline const char *scan_token_end(const char *p, const char *end) {
    for (; p < end; p += 16) {
        uint32_t hit = scan_is_either(scan_load(p), ' ', '\n');
        if (hit) {
            return p + __builtin_ctz(hit);
        }
    }
    return p;
}

static inline const char *scan_spaces_end(const char *p, const char *end) {
    while (p < end && *p == ' ') {
        p++;
    }
    return p;
}
#endif
