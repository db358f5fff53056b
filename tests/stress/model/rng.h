/* A stream of random numbers: one a thread, each from the seed of the run, so that SEED repeats every thread's choices. */
#ifndef MODEL_RNG_H
#define MODEL_RNG_H
#include <stdbool.h>
#include <stdint.h>

static inline uint64_t mix64(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t rng_next(uint64_t *state) { return mix64(*state += 0x9e3779b97f4a7c15u); }
static inline uint64_t rng_below(uint64_t *state, uint64_t n) { return rng_next(state) % n; }
static inline bool rng_one_in(uint64_t *state, uint64_t n) { return rng_below(state, n) == 0; }
#endif
