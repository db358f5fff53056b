/* The numbers by which threads tell whether they hold references, and how others wait until they do
 * not. */
#ifndef SLATE_CACHE_EPOCH_H
#define SLATE_CACHE_EPOCH_H
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREADS_MAX = 160 };

/* A thread's turn, odd within one; in the cache's memory because others look at it after the thread
 * has gone.
 *
 * Within a turn a thread may hold references that it found without a lock. Who takes memory away
 * (cache_quiesce, a limbo of the heap store) makes it unreachable first and then waits for every
 * turn that it sees under way. Two things make that enough:
 *   - turn_enter stores the odd number, then a fence, then the thread looks for references; the
 *     other makes memory unreachable, then a fence, then looks at the numbers. So at least one of
 *     them sees what the other did: no turn that is not seen finds what was taken away. Without the
 *     fence a processor may look for references before others see the number, also behind a
 *     sequentially consistent store (AArch64: a load may pass a stlr), and both would see the old.
 *   - turn_leave releases and the look at the numbers acquires, so all that was done in a turn, a
 *     hit's byte too, comes before what is done with the memory afterwards.
 * tests/model explores both, and shows what goes wrong without. */
struct turn {
    _Atomic uint64_t n;
    bool             used;
} __attribute__((aligned(64)));

static inline void turn_enter(struct turn *t) {
    uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    assert(n % 2 == 0);
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
    /* seen before any reference is found in this turn; pairs with turns_look */
    atomic_thread_fence(memory_order_seq_cst);
}
static inline void turn_leave(struct turn *t) {
    uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    assert(n % 2 == 1);
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
}
static inline bool turn_is_under_way(const struct turn *t) {
    return atomic_load_explicit(&t->n, memory_order_relaxed) & 1;
}
/* The numbers of THREADS_MAX turns, after what was made unreachable before, by this thread or by
 * one that it heard from. */
static inline void turns_look(const struct turn *turns, uint64_t *seen) {
    atomic_thread_fence(memory_order_seq_cst); /* pairs with turn_enter */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        seen[i] = atomic_load_explicit(&turns[i].n, memory_order_acquire);
    }
}
/* Whether the turn that was seen still is under way; no turn was, if that number is even. */
static inline bool turn_lasts(const struct turn *t, uint64_t seen) {
    return seen & 1 && atomic_load_explicit(&t->n, memory_order_acquire) == seen;
}
#endif
