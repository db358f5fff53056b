#include "reply.h"

#include <stdbool.h>
#include <string.h>

static const struct word {
    const char *text;
    enum reply_kind kind;
    bool whole_line; /* false: further text may follow after a blank */
} words[] = {
    {"END", REPLY_END, true},
    {"STORED", REPLY_DONE, true},
    {"HD", REPLY_DONE, false},
    {"EN", REPLY_NOT_FOUND, false},
    {"NOT_FOUND", REPLY_NOT_FOUND, true},
    {"NF", REPLY_NOT_FOUND, false},
    {"NOT_STORED", REPLY_NOT_STORED, true},
    {"NS", REPLY_NOT_STORED, false},
    {"DELETED", REPLY_DONE, true},
    {"OK", REPLY_DONE, true},
    {"EXISTS", REPLY_EXISTS, true},
    {"EX", REPLY_EXISTS, false},
    {"MN", REPLY_FENCE, true},
    {"VERSION", REPLY_FENCE, false},
    {"ERROR", REPLY_ERROR, false},
    {"CLIENT_ERROR", REPLY_ERROR, false},
    {"SERVER_ERROR", REPLY_ERROR, false},
    {"SERVER_ERROR:", REPLY_ERROR, false},
};

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static enum reply_kind kind_of_line(const char *line, size_t n) {
    for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
        size_t bytes = strlen(words[i].text);
        if (n >= bytes && memcmp(line, words[i].text, bytes) == 0 &&
            (n == bytes || (!words[i].whole_line && line[bytes] == ' '))) {
            return words[i].kind;
        }
    }
    return REPLY_BAD;
}

/* Reads digits at *at; false when there are none or the number is over REPLY_VALUE_MAX. */
static bool read_number(const char **at, const char *end, size_t *out) {
    const char *p = *at;
    size_t number = 0;
    if (p == end || !is_digit(*p)) {
        return false;
    }
    for (; p < end && is_digit(*p); p++) {
        number = number * 10 + (size_t)(*p - '0');
        if (number > REPLY_VALUE_MAX) {
            return false;
        }
    }
    *at = p;
    *out = number;
    return true;
}

/* VALUE <key> <flags> <bytes>[ <cas>] — `line` without its end. */
static bool parse_value_line(const char *line, const char *end, struct reply *out) {
    const char *p = line + 6;
    const char *blank = memchr(p, ' ', (size_t)(end - p));
    if (blank == NULL || blank == p) {
        return false;
    }
    out->key = p;
    out->key_bytes = (size_t)(blank - p);
    p = blank + 1;
    const char *flags = p;
    while (p < end && is_digit(*p)) { /* up to 64 bits: may be over the limit of a length */
        p++;
    }
    if (p == flags || p == end || *p != ' ') {
        return false;
    }
    p++;
    if (!read_number(&p, end, &out->value_bytes)) {
        return false;
    }
    return p == end || *p == ' ';
}

/* VA <bytes>[ <flag>…]; the flag k<key> names the key. */
static bool parse_va_line(const char *line, const char *end, struct reply *out) {
    const char *p = line + 3;
    if (!read_number(&p, end, &out->value_bytes)) {
        return false;
    }
    while (p < end) {
        if (*p != ' ') {
            return false;
        }
        p++;
        const char *blank = memchr(p, ' ', (size_t)(end - p));
        const char *stop = blank ? blank : end;
        if (p < stop && *p == 'k') {
            out->key = p + 1;
            out->key_bytes = (size_t)(stop - p) - 1;
        }
        p = stop;
    }
    return true;
}

static void parse_value(const char *bytes, size_t n, const char *end, size_t head,
                        struct reply *out) {
    bool good =
        bytes[2] == 'L' ? parse_value_line(bytes, end, out) : parse_va_line(bytes, end, out);
    if (!good) {
        out->kind = REPLY_BAD;
        return;
    }
    size_t whole = head + out->value_bytes + 2;
    if (n < whole) {
        out->needed = whole;
        return;
    }
    out->value = bytes + head;
    if (out->value[out->value_bytes] != '\r' || out->value[out->value_bytes + 1] != '\n') {
        out->kind = REPLY_BAD;
        return;
    }
    out->kind = REPLY_VALUE;
    out->used = whole;
}

void reply_parse(const char *bytes, size_t n, struct reply *out) {
    size_t window = n < REPLY_LINE_MAX ? n : REPLY_LINE_MAX;
    const char *newline = window ? memchr(bytes, '\n', window) : NULL;

    *out = (struct reply){.kind = REPLY_MORE, .line = bytes};
    if (newline == NULL) {
        out->needed = n + 1;
        if (n >= REPLY_LINE_MAX) {
            out->kind = REPLY_BAD;
            out->line_bytes = REPLY_LINE_MAX;
        }
        return;
    }
    size_t head = (size_t)(newline - bytes) + 1;
    if (head < 2 || newline[-1] != '\r') {
        out->kind = REPLY_BAD;
        out->line_bytes = head - 1;
        return;
    }
    const char *end = newline - 1;
    out->line_bytes = head - 2;
    if ((out->line_bytes > 6 && memcmp(bytes, "VALUE ", 6) == 0) ||
        (out->line_bytes > 3 && memcmp(bytes, "VA ", 3) == 0)) {
        parse_value(bytes, n, end, head, out);
        return;
    }
    out->kind = kind_of_line(bytes, out->line_bytes);
    if (out->kind != REPLY_BAD) {
        out->used = head;
    }
}
