/* The layout of items: bytes in and out of chunks at any alignment, keys compared in place, marks. */
#include "tap.h"

#include "base/clock.h"
#include "mem/item.h"

static _Alignas(8) char chunk[4096];

static void test_bytes_survive_any_alignment(uint64_t x) {
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++) {
        tap_random(&x);
        size_t at = x % 64, n = (x >> 16) % 300;
        char from[400], to[400];
        for (size_t j = 0; j < n; j++) {
            from[j] = (char)(x >> (j % 50));
        }
        memset(chunk, 0x5a, sizeof chunk);
        bytes_store(chunk + at, from, n);
        bytes_load(to, chunk + at, n);
        wrong += memcmp(from, to, n) != 0;
        wrong += at > 0 && chunk[at - 1] != 0x5a;
        wrong += chunk[at + n] != 0x5a;
    }
    is(wrong, 0, "20000 stores and loads of 0 to 299 bytes at any offset, neighbours untouched");
}

static void test_keys_compare_in_place(uint64_t x) {
    unsigned wrong = 0;
    for (int i = 0; i < 20000; i++) {
        tap_random(&x);
        struct item *it = (void *)chunk;
        size_t len = 1 + x % KEY_BYTES_MAX;
        uint8_t flags = (uint8_t)((x >> 20 & 1 ? ITEM_CAS : 0) | (x >> 21 & 1 ? ITEM_CFLAGS : 0));
        char bytes[KEY_BYTES_MAX];
        for (size_t j = 0; j < len; j++) {
            bytes[j] = (char)(x >> (j % 40));
        }
        memset(chunk, (int)(x >> 24), sizeof chunk);
        item_set_flags(it, flags);
        item_store32(&it->value_bytes, 10);
        atomic_store(&it->node.key_len, (uint8_t)len);
        bytes_store(chunk + item_key_offset(flags, 10), bytes, len);
        struct key key = {.ptr = bytes, .len = (uint8_t)len};
        wrong += !item_has_key(it, &key);
        bytes[(x >> 30) % len] ^= 1;
        wrong += item_has_key(it, &key);
    }
    is(wrong, 0, "20000 keys of any length and place: equal when equal, not when one bit differs");
}

TEST(test_header_sizes) {
    is(item_key_offset(0, 100), 24, "a header is 24 bytes without CAS");
    is(item_key_offset(ITEM_CAS, 100), 32, "and 32 with");
    is(item_key_offset(ITEM_CAS | ITEM_CFLAGS, 100), 36, "client flags cost four bytes when they are not zero");
}

TEST(test_hits_stop_writing) {
    struct item *it = (void *)chunk;
    memset(chunk, 0, sizeof chunk);
    node_set_time_s(&it->node, 10);
    unsigned writes = 0;
    for (uint32_t now_s = 10; now_s < 10 + 200000; now_s++) {
        uint8_t before = node_mark(&it->node);
        item_note_hit(it, 2, now_s);
        writes += node_mark(&it->node) != before;
    }
    ok(writes <= 33, "200000 hits, one a second, write the item %u times", writes);
    is(node_hits(&it->node), 2, "and count up to the policy's most");
}

TEST(test_expiry_times) {
    clock_start();
    uint32_t now_s = clock_now_s();
    is(clock_expiry_s(0, now_s), 0, "0 never expires");
    is(clock_expiry_s(-1, now_s), CLOCK_EXPIRED, "a negative time is expired at once");
    is(clock_expiry_s(100, now_s), now_s + 100, "up to 30 days are relative");
    is(clock_expiry_s(CLOCK_RELATIVE_MAX_S + 1, now_s), CLOCK_EXPIRED, "more is a unix time, here long past");
    is(clock_expiry_s(clock_unix_s(now_s) + 5000, now_s), now_s + 5000, "and one to come is a time to come");
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    test_bytes_survive_any_alignment(seed);
    test_keys_compare_in_place(seed);
    tap_run_tests();
    return tap_done();
}
