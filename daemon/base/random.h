/* Pseudo-random numbers and mixing of bits. None of them is a secret. Pure; any thread. */
#ifndef SLATE_BASE_RANDOM_H
#define SLATE_BASE_RANDOM_H
#include <stdint.h>

/* 2^64 over the golden ratio, odd: products with it spread over all bits, best over the highest. */
#define RANDOM_ODD UINT64_C(0x9e3779b97f4a7c15)

/* The next of a sequence (xorshift64*); the state is not 0, and its first value is the seed. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t x = *state;
    x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
    *state = x;
    return x * UINT64_C(2685821657736338717);
}

/* Mixes all bits into all others, one to one: the finaliser of SplitMix, OOPSLA 2014. */
static inline uint64_t random_mix(uint64_t x) {
    x += RANDOM_ODD;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}
#endif
