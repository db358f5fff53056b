#include "value.h"

#include <endian.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "random.h"

/* A prime period: no two chunks of a large value can be swapped without being noticed.
 * Stored twice in a row, so that a stretch of one period is contiguous from any start. */
#define PATTERN_BYTES 65521

static char pattern[2 * PATTERN_BYTES];

/* Small values take their stretch from the pattern's beginning, which stays in the nearest cache.
 */
#define SMALL_BYTES 4096
#define SMALL_STARTS 4093

void value_init(void) {
    struct rng r = rng_from(1);
    for (size_t i = 0; i < PATTERN_BYTES; i++) {
        pattern[i] = pattern[i + PATTERN_BYTES] = (char)rng_next(&r);
    }
}

uint64_t value_key_hash(const char *key, size_t key_bytes) {
    return XXH3_64bits(key, key_bytes);
}

static uint64_t identity_of(uint64_t key_hash, size_t value_bytes, uint32_t version) {
    return mix64(key_hash ^ mix64(((uint64_t)value_bytes << 32) + version + 1));
}

static const char *stretch_of(uint64_t identity, size_t value_bytes) {
    return pattern + identity % (value_bytes <= SMALL_BYTES ? SMALL_STARTS : PATTERN_BYTES);
}

/* All of a value that has no room for a header. */
static void small_bytes(char into[VALUE_HEADER_BYTES], uint64_t key_hash, size_t value_bytes) {
    uint64_t first = htole64(identity_of(key_hash, value_bytes, 0));
    uint32_t second = htole32((uint32_t)identity_of(key_hash, value_bytes, 1));
    memcpy(into, &first, sizeof(first));
    memcpy(into + sizeof(first), &second, sizeof(second));
}

void value_fill(char *into, size_t value_bytes, uint64_t key_hash, uint32_t version) {
    if (value_bytes < VALUE_HEADER_BYTES) {
        char small[VALUE_HEADER_BYTES];
        small_bytes(small, key_hash, value_bytes);
        memcpy(into, small, value_bytes);
        return;
    }
    uint64_t identity = identity_of(key_hash, value_bytes, version);
    uint32_t version_le = htole32(version);
    uint64_t identity_le = htole64(identity);
    const char *stretch = stretch_of(identity, value_bytes);
    memcpy(into, &version_le, sizeof(version_le));
    memcpy(into + sizeof(version_le), &identity_le, sizeof(identity_le));
    for (size_t at = VALUE_HEADER_BYTES; at < value_bytes;) {
        size_t n = value_bytes - at < PATTERN_BYTES ? value_bytes - at : PATTERN_BYTES;
        memcpy(into + at, stretch, n);
        at += n;
    }
}

enum value_state value_check(const char *value, size_t value_bytes, uint64_t key_hash) {
    if (value_bytes < VALUE_HEADER_BYTES) {
        char small[VALUE_HEADER_BYTES];
        small_bytes(small, key_hash, value_bytes);
        return memcmp(value, small, value_bytes) == 0 ? VALUE_RIGHT : VALUE_FOREIGN;
    }
    uint32_t version;
    uint64_t identity;
    memcpy(&version, value, sizeof(version));
    memcpy(&identity, value + sizeof(version), sizeof(identity));
    identity = le64toh(identity);
    if (identity != identity_of(key_hash, value_bytes, le32toh(version))) {
        return VALUE_FOREIGN;
    }
    const char *stretch = stretch_of(identity, value_bytes);
    for (size_t at = VALUE_HEADER_BYTES; at < value_bytes;) {
        size_t n = value_bytes - at < PATTERN_BYTES ? value_bytes - at : PATTERN_BYTES;
        if (memcmp(value + at, stretch, n) != 0) {
            return VALUE_DAMAGED;
        }
        at += n;
    }
    return VALUE_RIGHT;
}

const char *value_state_text(enum value_state state) {
    switch (state) {
    case VALUE_RIGHT:
        return "right";
    case VALUE_FOREIGN:
        return "not a value of this key and length";
    case VALUE_DAMAGED:
        return "begins as this key's value, but its bytes are damaged";
    }
    return "";
}
