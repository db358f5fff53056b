/* The palette: keys, settings, classes and servers by their names, with completion. The operator
 * types a word, and after some words an argument: "classes", "sort age", "set slab_automove 1"; or
 * parts of words to search for. The palette sends nothing: a change of the server opens a review.
 * Pure functions of the frame but for ui. */
#ifndef CONSOLE_VIEWS_OVERLAY_PALETTE_H
#define CONSOLE_VIEWS_OVERLAY_PALETTE_H
#include "views/overlay/palette_choices.h"

void palette_open(struct ui *ui);
void palette_draw(const struct frame *frame, struct ui *ui, struct cells *cells);
/* Handles a key while the palette is open. Returns the intent of a taken line; else INTENT_NONE. */
struct intent palette_command(const struct frame *frame, struct ui *ui, enum command command,
                              uint32_t key);
#endif
