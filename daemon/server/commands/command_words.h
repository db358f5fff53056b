/* A command line as words, and what a word may say. Words are borrowed from the line and not
 * terminated. */
#ifndef SLATE_SERVER_COMMANDS_COMMAND_WORDS_H
#define SLATE_SERVER_COMMANDS_COMMAND_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"
#include "protocol/token.h"

enum { WORDS_MAX = 24 }; /* of one line; further ones are left out */

struct words {
    unsigned    count;
    struct token word[WORDS_MAX];
};

/* at spaces */
static inline void words_split(const char *line, size_t bytes, struct words *w) {
    w->count = token_split(line, bytes, w->word, WORDS_MAX);
}

bool word_is(const struct token *, const char *text);
/* Whether the word is a beginning of `text`, as memcached matches the words behind stats, slabs,
 * lru, lru_crawler and watch. Where a word begins two of them, the one asked first counts. */
bool word_begins(const struct token *, const char *text);

/* Whole words of digits within the type; int32 also with a sign; double as strtod reads it, finite.
 * False: not one. */
bool word_u32(const struct token *, uint32_t *);
bool word_i32(const struct token *, int32_t *);
bool word_double(const struct token *, double *);
/* Copies the word as a C string; false: it does not fit. */
bool word_text(const struct token *, char *to, size_t room);

/* Class ids of a list like 1,2,3, from 1 to `last`, or every one for "all". False: not such a
 * list. */
bool word_classes(const struct token *, unsigned last, struct class_set *);
#endif
