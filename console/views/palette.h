/* The palette: keys, settings, classes and servers by their names, with completion. What is typed
 * is a word, and behind some words an argument: "classes", "sort age", "set slab_automove 1"; or
 * parts of words of what is looked for. Nothing here sends anything: what would change the server
 * opens a review. Pure functions of the frame but for ui. */
#ifndef CONSOLE_VIEWS_PALETTE_H
#define CONSOLE_VIEWS_PALETTE_H
#include "views/palette_choices.h"

void palette_open(struct ui *ui);
void palette_draw(const struct frame *frame, struct ui *ui, struct cells *cells);
/* A key while it is open. What it wants done when a line was taken; INTENT_NONE else. */
struct intent palette_command(const struct frame *frame, struct ui *ui, enum command command,
                              uint32_t key);
#endif
