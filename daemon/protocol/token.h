/* The tokens of a line. */
#ifndef SLATE_PROTOCOL_TOKEN_H
#define SLATE_PROTOCOL_TOKEN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "protocol/scan.h"

struct token {
    const char *ptr;
    uint32_t    bytes;
};

/* Splits a line (without its end) at spaces into at most `max` tokens, and ignores the rest.
 * Returns the number of tokens. */
static inline unsigned token_split(const char *line, size_t bytes, struct token *out,
                                   unsigned max) {
    const char *end = line + bytes, *p = line;
    unsigned n = 0;
    while (n < max) {
        p = scan_spaces_end(p, end);
        if (p == end) {
            break;
        }
        const char *stop = memchr(p, ' ', (size_t)(end - p));
        stop = stop ? stop : end;
        out[n++] = (struct token){p, (uint32_t)(stop - p)};
        p = stop;
    }
    return n;
}

static inline bool token_equals(const struct token *t, const char *word, size_t bytes) {
    return t->bytes == bytes && memcmp(t->ptr, word, bytes) == 0;
}
#define TOKEN_IS(t, word) token_equals((t), (word), sizeof(word) - 1)
#endif
