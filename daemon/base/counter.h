/* Counters owned by one thread each: plain relaxed stores, summed by the reader.
 *
 * A struct of counters is generated from a table of X(name) rows; every member is a `counter`, so a
 * reader may sum structs member by member. Only the owner adds; any thread may load. Cost: one load
 * and one store. */
#ifndef SLATE_BASE_COUNTER_H
#define SLATE_BASE_COUNTER_H
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

struct counter {
    _Atomic uint64_t n;
};

static inline uint64_t counter_get(const struct counter *c) {
    return atomic_load_explicit(&c->n, memory_order_relaxed);
}
static inline void     counter_set(struct counter *c, uint64_t n) {
    atomic_store_explicit(&c->n, n, memory_order_relaxed);
}
static inline void counter_add(struct counter *c, uint64_t by) {
    counter_set(c, counter_get(c) + by);
}

/* Sums `count` counters (a struct of counters is an array of them) into `sum`. */
static inline void counter_sum(uint64_t *sum, const struct counter *from, size_t count) {
    for (size_t i = 0; i < count; i++) {
        sum[i] += counter_get(&from[i]);
    }
}

#define COUNTER_MEMBER(name) struct counter name;
#define COUNTER_VALUE(name) uint64_t name;

/* Members of a struct for a table's counters, or for their values: each by its name, and all as the
 * array `each`, for code that chooses one by number. COUNTER_AT: the place of a name in the
 * array. */
#define COUNTERS_OF(table) \
    union { \
        struct { table(COUNTER_MEMBER) }; \
        struct counter each[sizeof(struct { table(COUNTER_MEMBER) }) / sizeof(struct counter)]; \
    };
#define COUNTER_VALUES_OF(table) \
    union { \
        struct { table(COUNTER_VALUE) }; \
        uint64_t each[sizeof(struct { table(COUNTER_VALUE) }) / sizeof(uint64_t)]; \
    };
#define COUNTER_AT(type, name) (offsetof(struct type, name) / sizeof(struct counter))
_Static_assert(sizeof(struct counter) == sizeof(uint64_t), "COUNTER_AT serves both");
#endif
