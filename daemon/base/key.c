#include "base/key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static uint64_t hash_seed;

void key_hash_seed(uint64_t seed) { hash_seed = seed; }

uint64_t key_hash(const char *bytes, size_t len) { return XXH3_64bits_withSeed(bytes, len, hash_seed); }
