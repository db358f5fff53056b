/* A small fast random generator (SplitMix64) and the 64-bit mixer under it.
 * Not for secrets. A generator is 8 bytes, so one can be made from a key's hash to draw
 * numbers that stay the same for that key. Not shared between threads. */
#ifndef LOAD_RANDOM_H
#define LOAD_RANDOM_H
#include <math.h>
#include <stdint.h>

struct rng {
    uint64_t state;
};

/* A bijection of 64 bits in which every input bit changes about half of the output bits. */
static inline uint64_t mix64(uint64_t x) {
    x ^= x >> 30;
    x *= UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 27;
    x *= UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static inline struct rng rng_from(uint64_t seed) {
    return (struct rng){.state = mix64(seed ^ UINT64_C(0x5851f42d4c957f2d))};
}

static inline uint64_t rng_next(struct rng *r) {
    r->state += UINT64_C(0x9e3779b97f4a7c15);
    return mix64(r->state);
}

/* 0 <= result < n; n must not be 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n) {
    return (uint64_t)(((unsigned __int128)rng_next(r) * n) >> 64);
}

/* 0 <= result < 1. */
static inline double rng_unit(struct rng *r) {
    return (double)(rng_next(r) >> 11) * 0x1p-53;
}

/* 0 < result <= 1: safe under a logarithm. */
static inline double rng_unit_open(struct rng *r) {
    return 1.0 - rng_unit(r);
}

/* Standard normal (Box and Muller; the second variate is not kept, so draws stay independent of
 * history). */
static inline double rng_normal(struct rng *r) {
    double radius = sqrt(-2.0 * log(rng_unit_open(r)));
    return radius * cos(6.283185307179586 * rng_unit(r));
}
#endif
