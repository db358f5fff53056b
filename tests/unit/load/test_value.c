/* Values prove their key: any change, shift, cut or swap is found. */
#include "tap.h"

#include "random.h"
#include "value.h"

#define LARGE 200000
static char value[LARGE], other[LARGE];

static const size_t lengths[] = {0,  1,  2,   3,    7,     8,     11,    12,     13,
                                 16, 32, 100, 1000, 65521, 65533, 65534, 100000, LARGE};
#define LENGTHS (sizeof(lengths) / sizeof(*lengths))

static void own_values_are_right(uint64_t seed) {
    struct rng r = rng_from(seed);
    for (size_t i = 0; i < LENGTHS; i++) {
        bool right = true;
        for (int j = 0; j < 20; j++) {
            uint64_t key = rng_next(&r);
            value_fill(value, lengths[i], key, (uint32_t)rng_next(&r));
            right = right && value_check(value, lengths[i], key) == VALUE_RIGHT;
        }
        ok(right, "a value of %zu bytes is recognised, whatever its version", lengths[i]);
    }
}

TEST(every_flipped_bit_is_found) {
    for (size_t i = 1; i < 12; i++) {
        size_t n = lengths[i];
        uint64_t key = value_key_hash("some-key", 8);
        bool found = true;
        value_fill(value, n, key, 7);
        for (size_t bit = 0; bit < 8 * n; bit++) {
            value[bit / 8] ^= (char)(1 << bit % 8);
            found = found && value_check(value, n, key) != VALUE_RIGHT;
            value[bit / 8] ^= (char)(1 << bit % 8);
        }
        ok(found, "each flipped bit of %zu bytes is found", n);
    }
}

static void damage_in_large_values_is_found(uint64_t seed) {
    struct rng r = rng_from(seed);
    uint64_t key = 99;
    bool found = true, named = true;
    for (int i = 0; i < 200; i++) {
        value_fill(value, LARGE, key, (uint32_t)i);
        value[12 + rng_below(&r, LARGE - 12)] ^= 1;
        enum value_state state = value_check(value, LARGE, key);
        found = found && state != VALUE_RIGHT;
        named = named && state == VALUE_DAMAGED;
    }
    ok(found, "one changed byte of a large value is found");
    ok(named, "and called damage, not another key's value");
    value_fill(value, LARGE, key, 1);
    memcpy(other, value + 20000, 4096);
    memmove(value + 20000, value + 20000 + 4096, 4096);
    memcpy(value + 20000 + 4096, other, 4096);
    is(value_check(value, LARGE, key), VALUE_DAMAGED, "two swapped pages are found");
    value_fill(value, LARGE, key, 1);
    memmove(value + 100, value + 101, LARGE - 101);
    is(value_check(value, LARGE, key), VALUE_DAMAGED, "a shift by one byte is found");
    value_fill(value, LARGE, key, 1);
    value_fill(other, LARGE, key, 2);
    memcpy(value + 100000, other + 100000, 1000);
    is(value_check(value, LARGE, key), VALUE_DAMAGED, "a piece of the same key's other version is found");
}

TEST(foreign_values_are_found) {
    for (size_t i = 3; i < LENGTHS; i++) {
        int wrong = 0;
        for (uint64_t key = 0; key < 50; key++) {
            value_fill(value, lengths[i], key, 5);
            wrong += value_check(value, lengths[i], key + 1) == VALUE_FOREIGN;
        }
        ok(wrong == 50, "another key's value of %zu bytes is found", lengths[i]);
    }
    value_fill(value, 1000, 5, 5);
    is(value_check(value, 999, 5), VALUE_FOREIGN, "a value cut by one byte is found");
    value_fill(value, 8, 5, 5);
    is(value_check(value, 7, 5), VALUE_FOREIGN, "also where it is shorter than the header");
}

TEST(versions_differ) {
    value_fill(value, 100, 1, 1);
    value_fill(other, 100, 1, 2);
    ok(memcmp(value, other, 100) != 0, "versions of one key's value differ");
    value_fill(other, 100, 1, 1);
    ok(memcmp(value, other, 100) == 0, "the same version is the same bytes");
}

int main(void) {
    uint64_t seed = tap_seed();
    value_init();
    own_values_are_right(seed);
    tap_run_tests();
    damage_in_large_values_is_found(seed);
    return tap_done();
}
