/* The palette: commands, views, settings, servers and classes by their names, with completion. What
 * is typed is a word, and behind some words an argument: "classes", "sort age", "set slab_automove
 * 1". Nothing here sends anything: what would change the server opens a review. Pure functions of
 * the frame but for ui. */
#ifndef CONSOLE_VIEWS_PALETTE_H
#define CONSOLE_VIEWS_PALETTE_H
#include "views/view.h"

enum { PALETTE_CHOICES = 200, PALETTE_LINE_BYTES = 120 };

/* One way to go on with what is typed. */
struct palette_choice {
    /* the whole line with it; a blank at its end: an argument is to follow */
    char line[PALETTE_LINE_BYTES];
    char help[NOTE_BYTES];
};

void palette_open(struct ui *ui);
/* What fits the line as it is typed, in the order of the screen; returns how many. */
unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]);
void palette_draw(const struct frame *frame, struct ui *ui, struct cells *cells);
/* A key while it is open. What it wants done when a line was taken; INTENT_NONE else. */
struct intent palette_command(const struct frame *frame, struct ui *ui, enum command command,
                              uint32_t key);

/* Whether the word of a command is in the table, or a view's name is; for tests. */
bool palette_knows(enum command command);
#endif
