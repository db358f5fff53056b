/* A set of slab class ids, 0 to 255: a value to pass around, or one that threads share.
 *
 * Threading: a plain set has one owner. A shared set is for any thread. A take empties the set word
 * by word: of two ids that are added at the same time, the taker may get one now and the other by
 * its next call. Cost: a shift and a mask; four exchanges to take a shared set. */
#ifndef SLATE_MEM_CLASS_SET_H
#define SLATE_MEM_CLASS_SET_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum { CLASS_SET_WORDS = 4, CLASS_SET_IDS = CLASS_SET_WORDS * 64 };

struct class_set {
    uint64_t words[CLASS_SET_WORDS];
};

static inline bool class_set_has(const struct class_set *s, unsigned id) {
    return s->words[id / 64] >> (id % 64) & 1;
}
static inline void class_set_add(struct class_set *s, unsigned id) {
    s->words[id / 64] |= (uint64_t)1 << (id % 64);
}
static inline void class_set_remove(struct class_set *s, unsigned id) {
    s->words[id / 64] &= ~((uint64_t)1 << (id % 64));
}
static inline bool class_set_empty(const struct class_set *s) {
    return (s->words[0] | s->words[1] | s->words[2] | s->words[3]) == 0;
}
static inline unsigned class_set_count(const struct class_set *s) {
    unsigned n = 0;
    for (unsigned i = 0; i < CLASS_SET_WORDS; i++) {
        n += (unsigned)__builtin_popcountll(s->words[i]);
    }
    return n;
}
/* Ids 1 to `last`. */
static inline struct class_set class_set_first(unsigned last) {
    struct class_set s = {{0}};
    for (unsigned id = 1; id <= last; id++) {
        class_set_add(&s, id);
    }
    return s;
}
static inline struct class_set class_set_all(void) { return class_set_first(CLASS_SET_IDS - 1); }
static inline struct class_set class_set_one(unsigned id) {
    struct class_set s = {{0}};
    class_set_add(&s, id);
    return s;
}
static inline struct class_set class_set_meet(struct class_set a, const struct class_set *b) {
    for (unsigned i = 0; i < CLASS_SET_WORDS; i++) {
        a.words[i] &= b->words[i];
    }
    return a;
}
static inline void class_set_join(struct class_set *to, const struct class_set *more) {
    for (unsigned i = 0; i < CLASS_SET_WORDS; i++) {
        to->words[i] |= more->words[i];
    }
}

struct class_set_shared {
    _Atomic uint64_t words[CLASS_SET_WORDS];
};

/* Adds an id. True: the id is new, and none of the 64 ids in its word was in the set. If the set
 * has the id, nothing is written. */
static inline bool class_set_shared_add(struct class_set_shared *s, unsigned id) {
    _Atomic uint64_t *word = &s->words[id / 64];
    uint64_t bit = (uint64_t)1 << (id % 64);
    if (atomic_load_explicit(word, memory_order_relaxed) & bit) {
        return false;
    }
    return atomic_fetch_or_explicit(word, bit, memory_order_relaxed) == 0;
}
static inline bool class_set_shared_has(const struct class_set_shared *s, unsigned id) {
    return atomic_load_explicit(&s->words[id / 64], memory_order_relaxed) >> (id % 64) & 1;
}
static inline void class_set_shared_subtract(struct class_set_shared *s,
                                             const struct class_set *less) {
    for (unsigned i = 0; i < CLASS_SET_WORDS; i++) {
        atomic_fetch_and_explicit(&s->words[i], ~less->words[i], memory_order_relaxed);
    }
}
/* Returns the ids and empties the set. */
static inline struct class_set class_set_shared_take(struct class_set_shared *s) {
    struct class_set taken;
    for (unsigned i = 0; i < CLASS_SET_WORDS; i++) {
        taken.words[i] = atomic_exchange_explicit(&s->words[i], 0, memory_order_relaxed);
    }
    return taken;
}
#endif
