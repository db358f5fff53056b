/* When a key expires, in a cache of each size.
 *
 * A small cache evicts a key and stores it anew more often than a large one does, so its copy of
 * the key expires later. A key's sizes are divided into at most three ranges, in each of which all
 * copies expire at one time. With times to live of one length this is exact but for the division
 * of sizes into steps; where a key would need a fourth range, the two neighbours with the nearest
 * times become one. Values; no memory of their own; cost: a few comparisons. */
#ifndef SLATE_SAMPLE_CURVE_COPIES_H
#define SLATE_SAMPLE_CURVE_COPIES_H
#include <stdbool.h>
#include <stdint.h>

/* CURVE_STEPS: the sizes of caches, ascending. */
enum { CURVE_STEPS = 136, CURVE_COPIES = 3 };

struct curve_copies {
    uint32_t expires_s[CURVE_COPIES]; /* 0: never */
    uint8_t to[CURVE_COPIES];         /* the first step behind the range; CURVE_STEPS in the last */
};

/* A cache of any size has stored the key. */
struct curve_copies curve_copies_stored(uint32_t expires_s);
/* The key is read, and stored where the read misses: in caches below `step`, which have evicted it,
 * and where the copy has expired. Adds 1 to hits[s] where sizes from s on hit, and subtracts 1
 * where sizes from s on miss, unless `hits` (CURVE_STEPS of them) is NULL. expires_s: of a copy
 * that is stored now. Returns whether the largest size hits. */
bool curve_copies_read(struct curve_copies *, unsigned step, uint32_t expires_s, uint32_t now_s,
                       float *hits);
/* Whether the copies of all sizes have expired. */
bool curve_copies_expired(const struct curve_copies *, uint32_t now_s);
#endif
