/* The colours of the themes that have some. Pure, so that a suite can compute contrasts. */
#ifndef CONSOLE_DRAW_DRESS_H
#define CONSOLE_DRAW_DRESS_H
#include "draw/cells.h"

/* By the order of cells_themes; mono, the last one, has no colours. */
enum { DRESS_DEFAULT, DRESS_LIGHT, DRESS_COLOUR_BLIND, DRESS_COUNT = THEME_COUNT - 1 };
enum dress_attributes { DRESS_BOLD = 1, DRESS_UNDERLINE = 2 };

/* One of the first eight colours, and a better one of 256; -1: the terminal's own. */
struct ink {
    short of_8, of_256;
};
struct dress {
    unsigned attributes;
    struct ink foreground, background;
};
/* A theme's STYLE_COUNT dresses. On white, default and colour-blind have those of light. */
const struct dress *dress_of(unsigned theme, bool is_on_white);
#endif
