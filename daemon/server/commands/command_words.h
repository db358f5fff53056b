/* The words of a command line, and their values. Words are borrowed from the line, and not
 * terminated. */
#ifndef SLATE_SERVER_COMMANDS_COMMAND_WORDS_H
#define SLATE_SERVER_COMMANDS_COMMAND_WORDS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mem/class_set.h"
#include "protocol/token.h"

enum { WORDS_MAX = 24 }; /* of one line; further words are dropped */

struct words {
    unsigned    count;
    struct token word[WORDS_MAX];
};

/* Splits the line at spaces. */
static inline void words_split(const char *line, size_t bytes, struct words *w) {
    w->count = token_split(line, bytes, w->word, WORDS_MAX);
}

bool word_is(const struct token *, const char *text);
/* True: `text` begins with the word. memcached matches the words behind stats, slabs, lru,
 * lru_crawler and watch in this way. If two texts match, the first one that is compared counts. */
bool word_begins(const struct token *, const char *text);

/* Read a number: digits within the range of the type; int32 also with a minus; double as strtod
 * reads a finite number. False: the word is no such number. */
bool word_u32(const struct token *, uint32_t *);
bool word_i32(const struct token *, int32_t *);
bool word_double(const struct token *, double *);
/* Copies the word as a C string. False: the word does not fit. */
bool word_text(const struct token *, char *to, size_t room);

/* Reads class ids from 1 to `last` in a list like 1,2,3, or all classes of "all". False: no such
 * list. */
bool word_classes(const struct token *, unsigned last, struct class_set *);
#endif
