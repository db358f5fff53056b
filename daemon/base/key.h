/* A key, hashed once where it is parsed. `ptr` belongs to the code that made the key; 1 to
 * KEY_BYTES_MAX bytes, any bytes.
 *
 * The hash is XXH3 with a secret of 192 bytes that a server draws at its start, so that no client
 * can choose keys that share a place of the index. XXH3's seed of 64 bits would not do: XXH3 adds
 * the seed to the same public secret in each of its ways of reading (1 to 3, 4 to 8, 9 to 16, 17 to
 * 128, 129 to 240 bytes, longer). For keys up to 8 bytes the other steps are a bijection: one known
 * hash of such a key gives the seed, and so all hashes. With a random secret each way reads other
 * bytes of it; the ways for 17 bytes and more read 16 new ones for each 16 bytes of the key. No two
 * keys of one length up to 8 bytes share a hash at all. For longer keys each factor of XXH3's
 * multiplications has bytes of the secret in it, and no pair is known that collides whatever the
 * secret is. XXH3 is not a cryptographic hash: its collisions stay hard to find only while no
 * client sees a hash, and no reply contains one. A bound on the index's places covers the rest:
 * index/index.h. Cost, with seed or secret: 9 to 10 ns for a short key, 15 for 100 bytes. */
#ifndef SLATE_BASE_KEY_H
#define SLATE_BASE_KEY_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { KEY_BYTES_MAX = 250 };

struct key {
    const char *ptr;
    /* key_hash(ptr, len): the top bits name the partition, the rest the bucket and its tag */
    uint64_t    hash;
    uint8_t     len;
};

uint64_t key_hash(const char *bytes, size_t len); /* 5 to 10 ns for a short key */
/* Sets the secret. Call one of both before any key is hashed and any thread runs. A program that
 * calls neither has the same hashes in every run, as with seed 0: unit tests, benchmarks and
 * --simulate. */
bool key_hash_draw(void);          /* draws a secret from the kernel; false and errno */
/* Derives the secret from a seed, for tests that must repeat. */
void key_hash_seed(uint64_t seed);

/* Whether a line of text can have the key without an encoding. Keys from packets or base64 may hold
 * bytes that end a word or a line. */
bool key_fits_line(const char *bytes, size_t len);

static inline struct key key_make(const char *bytes, size_t len) {
    return (struct key){.ptr = bytes, .hash = key_hash(bytes, len), .len = (uint8_t)len};
}
#endif
