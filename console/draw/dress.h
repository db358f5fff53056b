/* The colours of the themes that have some. A pure table, so that a suite can compute contrasts. */
#ifndef CONSOLE_DRAW_DRESS_H
#define CONSOLE_DRAW_DRESS_H
#include "draw/cells.h"

enum { DRESS_DEFAULT, DRESS_LIGHT, DRESS_COUNT = THEME_COUNT - 1 }; /* mono has no colours */
enum dress_attributes { DRESS_BOLD = 1, DRESS_UNDERLINE = 2 };

/* One of the first eight colours, and a better one of 256; -1: the terminal's own. */
struct ink {
    short of_8, of_256;
};
struct dress {
    unsigned attributes;
    struct ink foreground, background;
};
/* By the order of cells_themes. */
extern const struct dress dresses[DRESS_COUNT][STYLE_COUNT];
#endif
