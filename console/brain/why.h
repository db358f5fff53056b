/* Why automove moves pages, or does not: on slated in its own words, on memcached derived from its
 * documented rule and the figures it shows. Pure functions of the model. One thread. */
#ifndef CONSOLE_BRAIN_WHY_H
#define CONSOLE_BRAIN_WHY_H
#include "facts/model.h"

enum { WHY_LINES = 14 };

enum why_kind { WHY_PLAIN, WHY_GOOD, WHY_BAD };
struct why_line {
    enum why_kind kind;
    char text[2 * NOTE_BYTES];
};

/* Fills at most WHY_LINES; returns how many, at least one. The first is the answer, what follows the
 * figures it rests on and what to press. is_past: an answer that is not there will not come. */
unsigned why_automove(const struct model *model, bool is_past, struct why_line out[WHY_LINES]);

/* The inquiries that it reads. */
#define WHY_WANTS (INQUIRY_BIT(MOVES) | INQUIRY_BIT(AUTOMOVE) | INQUIRY_BIT(SETTINGS))
#endif
