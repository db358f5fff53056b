/* How this machine scans; test_proto_scan_words.c claims the same of machines without SSE2. */
#include "tap.h"

#include "protocol/scan.h"

static const char *plain_token_end(const char *p, const char *end) {
    while (p < end && *p != ' ' && *p != '\n') {
        p++;
    }
    return p;
}

static void test_scan_agrees_with_a_byte_loop(uint64_t seed) {
    char buffer[256 + 64];
    uint64_t state = seed | 1;
    int wrong = 0, beyond = 0;
    for (int round = 0; round < 100000; round++) {
        for (size_t i = 0; i < sizeof buffer; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            unsigned pick = state >> 40 & 255;
            /* bytes next to the two searched ones, and with the high bit, are the likely mistakes */
            buffer[i] = (char)(pick < 6 ? ' ' : pick < 9 ? '\n' : pick < 60 ? ' ' + 1 : pick < 100 ? '\n' + 1 : (int)pick);
        }
        const char *p = buffer + (state >> 20) % 64, *end = buffer + 64 + (state >> 30) % 192;
        const char *want = plain_token_end(p, end), *got = scan_token_end(p, end);
        wrong += want < end ? got != want : got < end;
        beyond += got > end + 16;
    }
    is(wrong, 0, "the token's end is where a loop over bytes finds it");
    is(beyond, 0, "nothing is found more than a block behind the end");
}

static void test_blocks(void) {
    int wrong = 0;
    for (int c = 0; c < 256; c++) {
        for (int other = 0; other < 256; other++) {
            char bytes[16];
            uint32_t want = 0;
            for (int i = 0; i < 16; i++) {
                bool is_c = (c * 7 + other + i) % 3 == 0;
                bytes[i] = (char)(is_c ? c : other);
                want |= (uint32_t)(bytes[i] == (char)c) << i;
            }
            wrong += scan_is(scan_load(bytes), (char)c) != want;
        }
    }
    is(wrong, 0, "every byte value differs from every other in every place");
}

int main(void) {
    uint64_t seed = tap_seed();
    test_scan_agrees_with_a_byte_loop(seed);
    test_blocks();
    return tap_done();
}
