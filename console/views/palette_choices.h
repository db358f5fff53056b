/* What the palette offers for a line as it is typed: commands, views, settings, columns, themes,
 * servers and classes, the ones that fit best first. Pure functions of the frame; cost: some 0.4
 * ms, most of it the list of settings. */
#ifndef CONSOLE_VIEWS_PALETTE_CHOICES_H
#define CONSOLE_VIEWS_PALETTE_CHOICES_H
#include "views/palette_match.h"
#include "views/palette_words.h"

enum { PALETTE_CHOICES = 400 }; /* further ones are left out */

/* One way to go on with what is typed. */
struct palette_choice {
    char line[PALETTE_LINE_BYTES]; /* the whole line with it; a blank at its end: an argument is to
                                      follow */
    char help[NOTE_BYTES];
    enum palette_fit fit;
    unsigned place; /* of those that fit as well */
};

/* The class under the cursor of the view, whose policy class_policy means; 0: none. */
unsigned palette_class(const struct ui *ui);

/* What fits the line as it is typed, in the order of the screen; returns how many. */
unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]);
#endif
