/* Turn numbers: a thread publishes whether it may hold references, and other threads wait until it
 * holds none. */
#ifndef SLATE_CACHE_PAGES_EPOCH_H
#define SLATE_CACHE_PAGES_EPOCH_H
#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { THREADS_MAX = 160 };

/* A thread's turn number: odd while a turn is under way. The number lies in the cache's memory
 * because other threads read it after its thread has ended.
 *
 * Within a turn a thread may hold references that it found without a lock. A thread that frees
 * memory (cache_quiesce, deferred_free.c) first makes the memory unreachable and then waits for
 * every turn that it sees under way. Two rules make this sufficient:
 *
 * - turn_enter stores the odd number, then a fence follows, then the thread reads references. The
 * freeing thread makes memory unreachable, then a fence follows, then it reads the numbers. So at
 * least one thread sees the other's store: a turn that the freeing thread does not see cannot find
 * the memory. Without the fence a processor may read references before others see the number, even
 * after a sequentially consistent store (AArch64: a load may pass a stlr). Then both threads would
 * see the old state.
 *
 * - turn_leave releases and the read of the numbers acquires. So every store of a turn, a hit's
 * byte too, happens before the next use of the memory.
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
/* Reads the numbers of THREADS_MAX turns. Call after the memory was made unreachable, by this
 * thread or by a thread that this thread has synchronized with. */
static inline void turns_read(const struct turn *turns, uint64_t *seen) {
    atomic_thread_fence(memory_order_seq_cst); /* pairs with turn_enter */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        seen[i] = atomic_load_explicit(&turns[i].n, memory_order_acquire);
    }
}
/* True while the turn with this number is under way. An even number stands for no turn. */
static inline bool turn_lasts(const struct turn *t, uint64_t seen) {
    return seen & 1 && atomic_load_explicit(&t->n, memory_order_acquire) == seen;
}
#endif
