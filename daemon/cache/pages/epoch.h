/* Turn numbers: by them each thread tells whether it may hold references, and others wait until it
 * holds none. */
#ifndef SLATE_CACHE_PAGES_EPOCH_H
#define SLATE_CACHE_PAGES_EPOCH_H
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREADS_MAX = 160 };

/* A thread's turn number: odd while a turn is under way. It lies in the cache's memory because
 * other threads read it after its thread has ended.
 *
 * Within a turn a thread may hold references that it found without a lock. A thread that takes
 * memory away (cache_quiesce, a limbo of the heap store) first makes the memory unreachable and
 * then waits for every turn that it sees under way. Two rules make that enough:
 *
 * - turn_enter stores the odd number, then a fence follows, then the thread looks for references.
 * The other thread makes memory unreachable, then a fence follows, then it reads the numbers. So at
 * least one of the two sees what the other did: a turn that the other thread does not see cannot
 * find the memory. Without the fence a processor may look for references before others see the
 * number, even behind a sequentially consistent store (AArch64: a load may pass a stlr). Both
 * threads would then see the old state.
 *
 * - turn_leave releases and the read of the numbers acquires. So all that was done in a turn, a
 * hit's byte too, happens before what is done with the memory afterwards.
 *
 * tests/model explores both rules, and shows what goes wrong without each. */
struct turn {
    _Atomic uint64_t n;
    bool             used;
} __attribute__((aligned(64)));

static inline void turn_enter(struct turn *t) {
    uint64_t n = atomic_load_explicit(&t->n, memory_order_relaxed);
    assert(n % 2 == 0);
    atomic_store_explicit(&t->n, n + 1, memory_order_release);
    /* every thread sees the number before this turn finds a reference; pairs with turns_read */
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
/* Reads the numbers of THREADS_MAX turns. To be called after the memory was made unreachable, by
 * this thread or by one that told it so. */
static inline void turns_read(const struct turn *turns, uint64_t *seen) {
    atomic_thread_fence(memory_order_seq_cst); /* pairs with turn_enter */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        seen[i] = atomic_load_explicit(&turns[i].n, memory_order_acquire);
    }
}
/* Whether the turn with this number is still under way. An even number stands for no turn. */
static inline bool turn_lasts(const struct turn *t, uint64_t seen) {
    return seen & 1 && atomic_load_explicit(&t->n, memory_order_acquire) == seen;
}
#endif
