#include "base/key.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

static unsigned char secret[XXH3_SECRET_DEFAULT_SIZE] __attribute__((aligned(64)));

void key_hash_seed(uint64_t seed) { XXH3_generateSecret_fromSeed(secret, seed); }

__attribute__((constructor)) static void key_seed_with_0(void) { key_hash_seed(0); }

bool key_hash_draw(void) {
    ssize_t got; /* so few bytes come at once, or not at all */
    do {
        got = getrandom(secret, sizeof secret, 0);
    } while (got < 0 && errno == EINTR);
    return got == (ssize_t)sizeof secret;
}

uint64_t key_hash(const char *bytes, size_t len) {
    return XXH3_64bits_withSecret(bytes, len, secret, sizeof secret);
}

bool key_fits_line(const char *bytes, size_t len) {
    return memchr(bytes, '\n', len) == NULL && memchr(bytes, '\r', len) == NULL &&
           memchr(bytes, ' ', len) == NULL;
}
