#include "views/palette_match.h"

#include <ctype.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Where a word stands in a text. */
enum place { AT_WORD, INSIDE, NOWHERE };

static enum place place_of(const char *text, const char *word, size_t word_bytes) {
    enum place best = NOWHERE;
    for (size_t at = 0; text[at] != '\0'; at++) {
        if (strncasecmp(text + at, word, word_bytes) != 0) {
            continue;
        }
        if (at == 0 || !isalnum((unsigned char)text[at - 1])) {
            return AT_WORD;
        }
        best = INSIDE;
    }
    return best;
}

static enum palette_fit fit_of_word(const char *word, size_t word_bytes, const char *name,
                                    const char *help) {
    enum place in_name = place_of(name, word, word_bytes);
    if (in_name == AT_WORD) {
        return FIT_NAME_WORD;
    }
    if (word_bytes == 1) {
        return FIT_NONE;
    }
    enum place in_help = help != NULL ? place_of(help, word, word_bytes) : NOWHERE;
    return in_name == INSIDE    ? FIT_NAME_INSIDE
           : in_help == AT_WORD ? FIT_HELP_WORD
           : in_help == INSIDE  ? FIT_HELP_INSIDE
                                : FIT_NONE;
}

enum palette_fit palette_fit(const char *typed, const char *name, const char *help) {
    enum palette_fit worst = FIT_BEGINS;
    if (strncasecmp(name, typed, strlen(typed)) == 0) {
        return FIT_BEGINS;
    }
    for (typed += strspn(typed, " "); *typed != '\0'; typed += strspn(typed, " ")) {
        size_t bytes = strcspn(typed, " ");
        enum palette_fit fit = fit_of_word(typed, bytes, name, help);
        worst = fit > worst ? fit : worst;
        typed += bytes;
    }
    return worst;
}
