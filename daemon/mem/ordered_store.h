/* Words of a memory file (mem/memory_file.h) that show by themselves whether they are whole. One
 * half of each is the complement of the other half: so a change of any byte is seen, and a word of
 * zeroes is not whole. A word is written by one store, so after a crash it holds what it was before
 * that store or after.
 *
 * After a crash the process is gone, but everything its processors had stored is there, in the
 * order in which each processor stored it. So where two stores must be found in their order, only
 * the compiler must be kept from changing that order. kept_order does this and costs no
 * instruction. */
#ifndef SLATE_MEM_ORDERED_STORE_H
#define SLATE_MEM_ORDERED_STORE_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/random.h"

static inline void kept_order(void) { atomic_signal_fence(memory_order_seq_cst); }

typedef _Atomic uint64_t kept_word;

static inline uint64_t kept_made(uint32_t v) { return (uint64_t)~v << 32 | v; }
static inline bool kept_is_whole(uint64_t word) { return kept_made((uint32_t)word) == word; }

static inline void kept_set(kept_word *w, uint32_t v) {
    atomic_store_explicit(w, kept_made(v), memory_order_release);
}
/* False: the word is not whole, or was never set. */
static inline bool kept_get(const kept_word *w, uint32_t *v) {
    uint64_t word = atomic_load_explicit(w, memory_order_acquire);
    *v = (uint32_t)word;
    return kept_is_whole(word);
}
/* Sets it, unless it holds a later time. Times are compared by the sign of their difference. */
static inline void kept_advance(kept_word *w, uint32_t v) {
    uint64_t was = atomic_load_explicit(w, memory_order_relaxed);
    while ((!kept_is_whole(was) || (int32_t)(v - (uint32_t)was) > 0) &&
           !atomic_compare_exchange_weak_explicit(w, &was, kept_made(v), memory_order_release,
                                                  memory_order_relaxed)) {
    }
}

/* A 64-bit number. The new number is written beside the old one; then a word names it, with some of
 * its hash. */
struct kept_number {
    _Atomic uint64_t slots[2];
    kept_word        which;
};

static inline uint32_t kept_hash31(uint64_t v) {
    return (uint32_t)((v ^ v >> 31) * RANDOM_ODD >> 33);
}
/* one writer at a time */
static inline void kept_set_number(struct kept_number *n, uint64_t v) {
    uint32_t which = 0;
    unsigned slot = kept_get(&n->which, &which) ? !(which & 1) : 0;
    atomic_store_explicit(&n->slots[slot], v, memory_order_relaxed);
    kept_order();
    kept_set(&n->which, kept_hash31(v) << 1 | slot);
}
static inline bool kept_get_number(const struct kept_number *n, uint64_t *v) {
    uint32_t which = 0;
    bool whole = kept_get(&n->which, &which);
    *v = atomic_load_explicit(&n->slots[which & 1], memory_order_relaxed);
    return whole && kept_hash31(*v) == which >> 1;
}
#endif
