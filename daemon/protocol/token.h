/* A piece of a line, and a function that splits a line at spaces. */
#ifndef SLATE_PROTOCOL_TOKEN_H
#define SLATE_PROTOCOL_TOKEN_H
#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>
#include <string.h>

struct token {
    const char *ptr;
    uint32_t    bytes;
};

/* Splits a line (without its end) at spaces into at most `max` tokens; what follows is ignored.
 * Returns how many. */
unsigned token_split(const char *line, size_t bytes, struct token *out, unsigned max);

static inline bool token_equals(const struct token *t, const char *word, size_t bytes) {
    return t->bytes == bytes && memcmp(t->ptr, word, bytes) == 0;
}
#define TOKEN_IS(t, word) token_equals((t), (word), sizeof(word) - 1)
#endif
