/* Counts distinct keys, exactly but for equal hashes: two keys of 64 bits in 10^19 are taken for
 * one. Memory: 11 to 22 bytes a key, at most 1 GiB. Threading: one thread at a time. Cost: a cache
 * miss a key. */
#ifndef SLATE_SIMULATE_KEYS_H
#define SLATE_SIMULATE_KEYS_H
#include <stdbool.h>
#include <stdint.h>

#define SIMULATE_KEYS_MAX (UINT64_C(3) << 25) /* a hundred million */

struct simulate_keys;
struct simulate_keys *simulate_keys_create(void); /* NULL: out of memory */
void                  simulate_keys_destroy(struct simulate_keys **);
/* false: out of memory, or SIMULATE_KEYS_MAX */
bool                  simulate_keys_add(struct simulate_keys *, uint64_t hash);
uint64_t              simulate_keys_count(const struct simulate_keys *);
#endif
