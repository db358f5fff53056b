/* A key, hashed once where it was parsed. `ptr` belongs to whoever made it; 1 to KEY_BYTES_MAX bytes, any bytes. */
#ifndef SLATE_BASE_KEY_H
#define SLATE_BASE_KEY_H
#include <stddef.h>
#include <stdint.h>

enum { KEY_BYTES_MAX = 250 };

struct key {
    const char *ptr;
    uint64_t    hash; /* key_hash(ptr, len): the top bits name the partition, the rest the bucket and its tag */
    uint8_t     len;
};

uint64_t key_hash(const char *bytes, size_t len); /* XXH3, 64 bits; 5 to 10 ns for a short key */
void     key_hash_seed(uint64_t seed);            /* once, before any key is hashed; 0 otherwise, as in unit tests */

static inline struct key key_make(const char *bytes, size_t len) {
    return (struct key){.ptr = bytes, .hash = key_hash(bytes, len), .len = (uint8_t)len};
}
#endif
