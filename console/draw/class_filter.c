#include "draw/class_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct term {
    enum class_column column;
    char op[3];
    double bound;
};

/* Parses a term of n bytes; false when the text is no term. */
static bool filter_parse_term(const char *text, size_t n, struct term *term) {
    char word[FILTER_BYTES];
    if (n >= sizeof word) {
        return false;
    }
    memcpy(word, text, n);
    word[n] = '\0';
    size_t name_bytes = strcspn(word, "<>=");
    size_t op_bytes = strspn(word + name_bytes, "<>=");
    const char *number = word + name_bytes + op_bytes;
    *term = (struct term){COLUMN_ID, "=", 0};
    if (op_bytes == 0) {
        number = word;
    } else {
        if (op_bytes > 2) {
            return false;
        }
        memcpy(term->op, word + name_bytes, op_bytes);
        term->op[op_bytes] = '\0';
        unsigned column = class_column_named(word, name_bytes);
        if (column == COLUMN_COUNT) {
            return false;
        }
        term->column = (enum class_column)column;
    }
    char *end;
    term->bound = strtod(number, &end);
    bool known_op = strcmp(term->op, "<") == 0 || strcmp(term->op, "<=") == 0 ||
                    strcmp(term->op, "=") == 0 || strcmp(term->op, ">=") == 0 ||
                    strcmp(term->op, ">") == 0;
    return known_op && end != number && *end == '\0' && isfinite(term->bound);
}

/* Finds the next word of *text and moves *text after it. Returns its bytes; 0 at the end. */
static size_t filter_next_word(const char **text, const char **word) {
    *word = *text + strspn(*text, " ");
    size_t n = strcspn(*word, " ");
    *text = *word + n;
    return n;
}

bool class_filter_check(const char *text, char *why, size_t why_bytes) {
    const char *word;
    for (size_t n = filter_next_word(&text, &word); n > 0; n = filter_next_word(&text, &word)) {
        struct term term;
        if (!filter_parse_term(word, n, &term)) {
            snprintf(why, why_bytes,
                     "filter: '%.*s' is not understood; try ev>0, size>=1000 or a class number",
                     (int)(n < 30 ? n : 30), word);
            return false;
        }
    }
    return true;
}

bool class_filter_passes(const char *text, const struct model *model, unsigned class_id,
                         uint64_t window_ms) {
    const char *word;
    for (size_t n = filter_next_word(&text, &word); n > 0; n = filter_next_word(&text, &word)) {
        struct term term;
        if (!filter_parse_term(word, n, &term)) {
            continue;
        }
        double value = class_column_shown_value(model, class_id, term.column, window_ms);
        bool less = value<term.bound, equal = value == term.bound, more = value> term.bound;
        bool holds = (term.op[0] == '<' && less) || (term.op[0] == '>' && more) ||
                     ((term.op[0] == '=' || term.op[1] == '=') && equal);
        if (!holds) { /* an absent value passes no comparison */
            return false;
        }
    }
    return true;
}
