/* A line of an index: a cache line with a version and twelve slots. A slot is a one-byte tag (0:
 * empty) and the reference of an item.
 *
 * There is one writer, under the partition's lock. Readers may see a slot's tag and its reference
 * as of different times; the version shows that. */
#ifndef SLATE_INDEX_SLOTS_H
#define SLATE_INDEX_SLOTS_H
#include <stdatomic.h>
#include <stdint.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { SLOTS = 12 };

struct index_line {
    _Atomic uint32_t version;
    _Atomic uint32_t tags_high; /* tags 8 to 11 */
    _Atomic uint64_t tags_low;  /* tags 0 to 7 */
    _Atomic uint32_t refs[SLOTS];
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct index_line) == 64, "a cache line");

static inline uint64_t slots_tags_low(const struct index_line *b) {
    return atomic_load_explicit(&b->tags_low, memory_order_relaxed);
}
static inline uint32_t slots_tags_high(const struct index_line *b) {
    return atomic_load_explicit(&b->tags_high, memory_order_relaxed);
}
static inline uint32_t slot_ref(const struct index_line *b, unsigned slot) {
    return atomic_load_explicit(&b->refs[slot], memory_order_relaxed);
}

static inline uint8_t slot_tag(const struct index_line *b, unsigned slot) {
    return (uint8_t)(slot < 8 ? slots_tags_low(b) >> (8 * slot)
                              : slots_tags_high(b) >> (8 * (slot - 8)));
}

static inline void slot_set(struct index_line *b, unsigned slot, uint8_t tag, uint32_t ref) {
    atomic_store_explicit(&b->refs[slot], ref, memory_order_relaxed);
    if (slot < 8) {
        uint64_t mask = (uint64_t)255 << (8 * slot);
        uint64_t low = (slots_tags_low(b) & ~mask) | (uint64_t)tag << (8 * slot);
        atomic_store_explicit(&b->tags_low, low, memory_order_relaxed);
    } else {
        uint32_t mask = 255u << (8 * (slot - 8));
        uint32_t high = (slots_tags_high(b) & ~mask) | (uint32_t)tag << (8 * (slot - 8));
        atomic_store_explicit(&b->tags_high, high, memory_order_relaxed);
    }
}

/* The slots whose tag equals this one in the bits of `mask`, as bits 0 to 11. Exact. */
#ifdef __SSE2__
static inline unsigned slots_match_masked(const struct index_line *b, uint8_t tag, uint8_t mask) {
    __m128i tags =
        _mm_and_si128(_mm_set_epi64x((long long)slots_tags_high(b), (long long)slots_tags_low(b)),
                      _mm_set1_epi8((char)mask));
    return (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(tags, _mm_set1_epi8((char)tag))) &
           ((1u << SLOTS) - 1);
}
#else
/* The top bit of each byte that equals `tag`, gathered into the low byte. */
static inline unsigned slots_match_bytes(uint64_t tags, uint8_t tag) {
    uint64_t x = tags ^ (0x0101010101010101u * tag);
    uint64_t equal = ~(((x & 0x7f7f7f7f7f7f7f7fu) + 0x7f7f7f7f7f7f7f7fu) | x | 0x7f7f7f7f7f7f7f7fu);
    return (unsigned)((equal >> 7) * 0x0102040810204080u >> 56);
}
static inline unsigned slots_match_masked(const struct index_line *b, uint8_t tag, uint8_t mask) {
    uint64_t all = 0x0101010101010101u * mask;
    return slots_match_bytes(slots_tags_low(b) & all, tag) |
           (slots_match_bytes(slots_tags_high(b) & all, tag) & 15u) << 8;
}
#endif
static inline unsigned slots_match(const struct index_line *b, uint8_t tag) {
    return slots_match_masked(b, tag, 255);
}
static inline unsigned slots_full(const struct index_line *b) {
    return ~slots_match(b, 0) & ((1u << SLOTS) - 1);
}
#endif
