#include "tap.h"

#include "protocol/base64.h"

static bool decodes_to(const char *text, const char *want) {
    char to[256];
    size_t n = base64_decode(to, text, strlen(text));
    return n == strlen(want) && memcmp(to, want, n) == 0;
}

static void test_known(void) {
    ok(decodes_to("Zm9v", "foo") && decodes_to("Zm8=", "fo") && decodes_to("Zg==", "f"), "whole and padded groups decode");
    ok(decodes_to("Zm9vYmFy", "foobar") && decodes_to("Zm9vYmE=", "fooba"), "several groups decode");
    ok(decodes_to("Zm!9v", "foo"), "characters outside the alphabet are skipped");
    ok(decodes_to("Zg==Zg==", "f"), "padding ends the text");
    ok(decodes_to("Zm9", "") && decodes_to("", "") && decodes_to("!", "") && decodes_to("Z===", ""),
       "what is no whole group decodes to nothing");
}

static void test_round_trip(uint64_t seed) {
    uint64_t state = seed | 1;
    int wrong = 0, wrong_in_place = 0;
    for (int round = 0; round < 20000; round++) {
        char bytes[192], text[BASE64_BYTES(192)], back[192];
        state = state * 6364136223846793005u + 1442695040888963407u;
        size_t n = 1 + (state >> 33) % 187;
        for (size_t i = 0; i < n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            bytes[i] = (char)(state >> 50);
        }
        size_t text_bytes = (size_t)(base64_encode(text, bytes, n) - text);
        wrong += text_bytes != BASE64_BYTES(n) || base64_decode(back, text, text_bytes) != n || memcmp(back, bytes, n) != 0;
        wrong_in_place += base64_decode(text, text, text_bytes) != n || memcmp(text, bytes, n) != 0;
    }
    is(wrong, 0, "encoded bytes decode to themselves");
    is(wrong_in_place, 0, "decoding in place gives the same");
}

int main(void) {
    uint64_t seed = tap_seed();
    test_known();
    test_round_trip(seed);
    return tap_done();
}
