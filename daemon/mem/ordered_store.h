/* Words of a memory file (mem/memory_file.h) that reveal damage by themselves. One half of a word
 * is the complement of the other half: a change of any byte shows, and a word of zeroes is not
 * intact. A word is written by one store, so after a crash it holds the old value or the new one.
 *
 * After a crash the process is gone, but all that its processors had stored is there, in the order
 * in which each processor stored. So where the order of two stores matters, only the compiler must
 * not change it. ordered_fence forbids that and costs no instruction. */
#ifndef SLATE_MEM_ORDERED_STORE_H
#define SLATE_MEM_ORDERED_STORE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

static inline void ordered_fence(void) { atomic_signal_fence(memory_order_seq_cst); }

typedef _Atomic uint64_t ordered_word;

static inline uint64_t ordered_encode(uint32_t v) { return (uint64_t)~v << 32 | v; }
static inline bool ordered_is_intact(uint64_t word) {
    return ordered_encode((uint32_t)word) == word;
}

static inline void ordered_set(ordered_word *w, uint32_t v) {
    atomic_store_explicit(w, ordered_encode(v), memory_order_release);
}
/* False: the word is not intact, or was never set. */
static inline bool ordered_get(const ordered_word *w, uint32_t *v) {
    uint64_t word = atomic_load_explicit(w, memory_order_acquire);
    *v = (uint32_t)word;
    return ordered_is_intact(word);
}
/* Sets the word, unless it holds a later time. Times are compared by the sign of their
 * difference. */
static inline void ordered_advance(ordered_word *w, uint32_t v) {
    uint64_t was = atomic_load_explicit(w, memory_order_relaxed);
    while ((!ordered_is_intact(was) || (int32_t)(v - (uint32_t)was) > 0) &&
           !atomic_compare_exchange_weak_explicit(w, &was, ordered_encode(v), memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* A 64-bit number. The new number is written beside the old one; then a word names it, with some of
 * its hash. */
struct ordered_number {
    _Atomic uint64_t slots[2];
    ordered_word        which;
};

static inline uint32_t ordered_hash31(uint64_t v) {
    return (uint32_t)((v ^ v >> 31) * RANDOM_ODD >> 33);
}
/* one writer at a time */
static inline void ordered_set_number(struct ordered_number *n, uint64_t v) {
    uint32_t which = 0;
    unsigned slot = ordered_get(&n->which, &which) ? !(which & 1) : 0;
    atomic_store_explicit(&n->slots[slot], v, memory_order_relaxed);
    ordered_fence();
    ordered_set(&n->which, ordered_hash31(v) << 1 | slot);
}
static inline bool ordered_get_number(const struct ordered_number *n, uint64_t *v) {
    uint32_t which = 0;
    bool whole = ordered_get(&n->which, &which);
    *v = atomic_load_explicit(&n->slots[which & 1], memory_order_relaxed);
    return whole && ordered_hash31(*v) == which >> 1;
}
#endif
