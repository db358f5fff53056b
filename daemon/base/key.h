/* A key, hashed once where it was parsed. `ptr` belongs to whoever made it; 1 to KEY_BYTES_MAX
 * bytes, any bytes.
 *
 * The hash is XXH3 with a secret of 192 bytes that a server draws at its start, so that nobody can
 * choose keys that share a place of the index. Why a secret and not XXH3's seed of 64 bits: the
 * seed is added to the same public secret in each of XXH3's ways of reading (1 to 3, 4 to 8, 9 to
 * 16, 17 to 128, 129 to 240 bytes, longer), and for keys up to 8 bytes the rest is a bijection: one
 * known hash of such a key is the seed, and so all hashes. With a random secret each of the ways
 * reads other bytes of it, and one of 17 bytes and more 16 new ones for each 16 bytes of the key.
 * For a given length no two keys up to 8 bytes share a hash at all; for longer ones each factor of
 * XXH3's multiplications has bytes of the secret in it, and no pair is known that collides whatever
 * the secret. XXH3 is not a cryptographic hash: that nobody finds collisions also needs that nobody
 * sees hashes, and no reply tells one. Beyond that, a place of the index is bounded: index/index.h.
 * Both cost the same: for 3 to 23 bytes a secret takes 3 to 6 instructions more than a seed,
 * because XXH3 knows its own secret when it is compiled, for 100 and more some fewer; 9 to 10 ns
 * for a short key and 15 for 100 bytes, either way. */
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
/* Before any key is hashed and any thread runs. Programs that call neither hash alike every time,
 * as seeded with 0: unit tests, benchmarks and --simulate. */
bool key_hash_draw(void);          /* a secret from the kernel; false and errno */
/* a secret that follows from the seed, for tests that must repeat */
void key_hash_seed(uint64_t seed);
/* The secret itself, for the next process, which goes on with an index of this one's. */
enum { KEY_SECRET_BYTES = 192 };
void key_hash_secret(unsigned char to[KEY_SECRET_BYTES]);
void key_hash_set_secret(const unsigned char from[KEY_SECRET_BYTES]);

/* Whether a line of text can have the key as it is: keys that came in packets or in base64 may hold
 * what ends a word or a line. */
bool key_fits_line(const char *bytes, size_t len);

static inline struct key key_make(const char *bytes, size_t len) {
    return (struct key){.ptr = bytes, .hash = key_hash(bytes, len), .len = (uint8_t)len};
}
#endif
