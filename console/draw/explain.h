/* The meaning of every figure and setting: the entries of man/explain.txt, built into slatetop. The
 * text is read once, at the first call. One thread. */
#ifndef CONSOLE_DRAW_EXPLAIN_H
#define CONSOLE_DRAW_EXPLAIN_H
#include <stdbool.h>
#include <stddef.h>

struct explanation {
    const char *term, *also, *unit, *meaning, *source, *formula, *what_to_do;
    /* only also and formula may be "" */
};

/* The entry of a term; NULL when there is none. Not searched by other names: views know terms. */
const struct explanation *explain_term(const char *term);

/* The entry at an index, in the order of the text; NULL past the end. */
const struct explanation *explain_at(unsigned index);

/* The terms that a view shows, in reading order, and which of them is under the cursor. */
enum { TERMS_MOST = 64, TERM_BYTES = 40 };
struct terms {
    unsigned count, current;
    char name[TERMS_MOST][TERM_BYTES];
};
/* Adds "prefix" and "name" as one term; is_current makes it the one under the cursor. A term that
 * does not fit is left out. */
void explain_add(struct terms *terms, const char *prefix, const char *name, bool is_current);
#endif
