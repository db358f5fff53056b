#include "value.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "rng.h"

static const unsigned char magic[4] = {0xF1, 0xA7, 0xE5, 0x9D};

enum { WORD = 8, DIGITS_MAX = 24 };

static uint64_t body_seed(uint32_t key_id, uint32_t version, uint32_t bytes) {
    return mix64(((uint64_t)key_id << 32 | version) + 0x9e3779b97f4a7c15u * bytes);
}

static uint64_t body_word(uint64_t seed, size_t i) { return (seed + i) * 0xd1342543de82ef95u ^ seed >> 29; }

/* Bytes without a head: of a range that begins neither a head nor a number. */
static char short_byte(uint32_t key_id, uint32_t version, size_t i) {
    return (char)(0x80 | (body_word(body_seed(key_id, version, 0), i) >> 40 & 0x3f));
}

static bool is_short_byte(unsigned char c) { return (c & 0xc0) == 0x80; }

static void put_head(char *to, uint32_t key_id, uint32_t version, uint32_t bytes) {
    memcpy(to, magic, 4);
    memcpy(to + 4, &key_id, 4);
    memcpy(to + 8, &version, 4);
    memcpy(to + 12, &bytes, 4);
}

static void number_text(const struct segment *s, char *to) {
    char digits[DIGITS_MAX];
    int n = snprintf(digits, sizeof digits, "%" PRIu64, s->number);
    memset(to, ' ', s->bytes);
    memcpy(to, digits, (size_t)n < s->bytes ? (size_t)n : s->bytes);
}

void segment_write(const struct segment *s, uint32_t key_id, char *to) {
    if (s->kind == SEGMENT_NUMBER) {
        number_text(s, to);
        return;
    }
    if (s->bytes < SEGMENT_HEAD_BYTES) {
        for (size_t i = 0; i < s->bytes; i++) {
            to[i] = short_byte(key_id, s->version, i);
        }
        return;
    }
    put_head(to, key_id, s->version, s->bytes);
    uint64_t seed = body_seed(key_id, s->version, s->bytes);
    size_t body = s->bytes - SEGMENT_HEAD_BYTES, i = 0;
    to += SEGMENT_HEAD_BYTES;
    for (; (i + 1) * WORD <= body; i++) {
        uint64_t word = body_word(seed, i);
        memcpy(to + i * WORD, &word, WORD);
    }
    uint64_t last = body_word(seed, i);
    memcpy(to + i * WORD, &last, body - i * WORD);
}

/* The body behind a head that was already found right. */
static bool body_matches(const char *at, size_t body, uint64_t seed) {
    size_t i = 0;
    uint64_t differs = 0;
    for (; (i + 1) * WORD <= body; i++) {
        uint64_t word;
        memcpy(&word, at + i * WORD, WORD);
        differs |= word ^ body_word(seed, i);
    }
    uint64_t last = body_word(seed, i);
    return differs == 0 && memcmp(at + i * WORD, &last, body - i * WORD) == 0;
}

bool segment_matches(const struct segment *s, uint32_t key_id, const char *bytes) {
    if (s->kind == SEGMENT_GENERATED && s->bytes >= SEGMENT_HEAD_BYTES) {
        char head[SEGMENT_HEAD_BYTES];
        put_head(head, key_id, s->version, s->bytes);
        return memcmp(head, bytes, sizeof head) == 0 &&
               body_matches(bytes + sizeof head, s->bytes - sizeof head, body_seed(key_id, s->version, s->bytes));
    }
    for (size_t i = 0; s->kind == SEGMENT_GENERATED && i < s->bytes; i++) {
        if (bytes[i] != short_byte(key_id, s->version, i)) {
            return false;
        }
    }
    char text[4096];
    if (s->kind == SEGMENT_NUMBER && s->bytes <= sizeof text) {
        number_text(s, text);
        return memcmp(text, bytes, s->bytes) == 0;
    }
    return s->kind == SEGMENT_GENERATED;
}

struct value_tale value_read(uint32_t key_id, const char *bytes, size_t n) {
    struct value_tale tale = {.sound = true};
    size_t at = 0;
    while (at < n && tale.sound) {
        unsigned char c = (unsigned char)bytes[at];
        if (c != magic[0]) {
            tale.sound = is_short_byte(c) || (c >= '0' && c <= '9') || c == ' ';
            at++;
            continue;
        }
        uint32_t head_key, version, length;
        if (n - at < SEGMENT_HEAD_BYTES) {
            tale.sound = false;
            break;
        }
        memcpy(&head_key, bytes + at + 4, 4);
        memcpy(&version, bytes + at + 8, 4);
        memcpy(&length, bytes + at + 12, 4);
        tale.sound = memcmp(bytes + at, magic, sizeof magic) == 0 && head_key == key_id && length >= SEGMENT_HEAD_BYTES &&
                     length <= n - at &&
                     body_matches(bytes + at + SEGMENT_HEAD_BYTES, length - SEGMENT_HEAD_BYTES, body_seed(key_id, version, length));
        tale.version = version > tale.version ? version : tale.version;
        at += length;
    }
    return tale;
}
