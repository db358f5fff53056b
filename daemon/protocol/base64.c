#include "protocol/base64.h"

#include <stdint.h>

static const char alphabet[64] = {
    'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O', 'P',
    'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'a', 'b', 'c', 'd', 'e', 'f',
    'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o', 'p', 'q', 'r', 's', 't', 'u', 'v',
    'w', 'x', 'y', 'z', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '+', '/',
};

/* Returns the six bits of a character; of padding 0. -1: the character is not in the alphabet. */
static int base64_sextet(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : c == '=' ? 0 : -1;
}

size_t base64_decode(char *to, const char *from, size_t n) {
    size_t known = 0, out = 0;
    uint32_t group = 0;
    unsigned in_group = 0, padding = 0;
    for (size_t i = 0; i < n; i++) {
        known += base64_sextet(from[i]) >= 0;
    }
    if (known % 4 != 0) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        int bits = base64_sextet(from[i]);
        if (bits < 0) {
            continue;
        }
        padding += from[i] == '=';
        group = group << 6 | (uint32_t)bits;
        if (++in_group < 4) {
            continue;
        }
        if (padding > 2) {
            return 0;
        }
        /* Writing in place is safe: this group's characters have been read, and the bytes are fewer
         * than those characters. */
        to[out++] = (char)(group >> 16);
        to[out++] = (char)(group >> 8);
        to[out++] = (char)group;
        if (padding > 0) {
            return out - padding; /* padding ends the text */
        }
        group = 0;
        in_group = 0;
    }
    return out;
}

char *base64_encode(char *to, const char *from, size_t n) {
    const unsigned char *in = (const unsigned char *)from;
    for (; n >= 3; n -= 3, in += 3) {
        uint32_t group = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        *to++ = alphabet[group >> 6 & 63];
        *to++ = alphabet[group & 63];
    }
    if (n > 0) {
        uint32_t group = (uint32_t)in[0] << 16 | (n == 2 ? (uint32_t)in[1] << 8 : 0);
        *to++ = alphabet[group >> 18];
        *to++ = alphabet[group >> 12 & 63];
        *to++ = n == 2 ? alphabet[group >> 6 & 63] : '=';
        *to++ = '=';
    }
    return to;
}
