/* What the palette offers for a line as it is typed: the keys of the view by their names, and lines
 * of a word with an argument, "sort age" or "set slab_automove 1"; the ones that fit best first.
 * Pure functions of the frame; cost: some 0.4 ms, most of it the list of settings. */
#ifndef CONSOLE_VIEWS_PALETTE_CHOICES_H
#define CONSOLE_VIEWS_PALETTE_CHOICES_H
#include "views/view.h"

enum {
    PALETTE_CHOICES = 400, /* further ones are left out */
    PALETTE_LINE_BYTES = 120
};

/* How well a choice fits what is typed: words in any order, without regard to case. */
enum palette_fit { FIT_BEGINS, FIT_NAME, FIT_HELP, FIT_NONE };

/* One way to go on with what is typed. */
struct palette_choice {
    char line[PALETTE_LINE_BYTES]; /* whole; a blank or '>' at its end: more is to follow */
    char help[NOTE_BYTES];
    enum command command; /* COMMAND_NONE: the line is a word with its argument */
    enum palette_fit fit;
    unsigned place; /* of those that fit as well */
};

/* Words that take an argument. */
enum palette_word {
    WORD_SORT,
    WORD_FILTER,
    WORD_WINDOW,
    WORD_THEME,
    WORD_SET,
    WORD_CLASS,
    WORD_SERVER,
    PALETTE_WORDS /* none */
};

/* The word that a line begins with; *rest: what is behind it and a blank, NULL where none is. */
enum palette_word palette_word_of(const char *typed, const char **rest);

/* The class under the cursor of the view, whose policy class_policy means; 0: none. */
unsigned palette_class(const struct ui *ui);

/* What fits the line as it is typed, in the order of the screen; returns how many. */
unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]);
#endif
