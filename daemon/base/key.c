#include "base/key.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t key_hash(const char *bytes, size_t len) { return XXH3_64bits(bytes, len); }
