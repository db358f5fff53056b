/* The choices that the palette offers for the typed line: the keys of the view by their names, and
 * lines of a word with an argument, "sort age" or "set slab_automove 1"; the best fit first. Pure
 * functions of the frame; cost: some 0.4 ms, most of it the list of settings. */
#ifndef CONSOLE_VIEWS_OVERLAY_PALETTE_CHOICES_H
#define CONSOLE_VIEWS_OVERLAY_PALETTE_CHOICES_H
#include "views/view.h"

enum {
    PALETTE_CHOICES = 400, /* further ones are left out */
    PALETTE_LINE_BYTES = 120
};

/* How well a choice fits the typed words, in any order, without regard to case. */
enum palette_fit { FIT_BEGINS, FIT_NAME, FIT_HELP, FIT_NONE };

/* One way to complete the typed line. */
struct palette_choice {
    char line[PALETTE_LINE_BYTES]; /* complete; a blank or '>' at its end: it goes on */
    char help[NOTE_BYTES];
    enum command command; /* COMMAND_NONE: the line is a word with its argument */
    enum palette_fit fit;
    unsigned place; /* its place among equal fits */
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

/* The word that begins a line; *argument: the text after it and a blank, NULL if there is none. */
enum palette_word palette_word_of(const char *typed, const char **argument);

/* The class under the cursor of the view, for the setting class_policy; 0: none. */
unsigned palette_class(const struct ui *ui);

/* Writes the choices for the typed line, in the order of the screen; returns how many. */
unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]);
#endif
