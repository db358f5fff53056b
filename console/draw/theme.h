/* The names of the themes. term.c has their colours. */
#ifndef CONSOLE_DRAW_THEME_H
#define CONSOLE_DRAW_THEME_H

enum { THEME_COUNT = 5 };
extern const char *const theme_names[THEME_COUNT];
/* The index of a theme in theme_names; THEME_COUNT when the name is unknown. */
unsigned theme_named(const char *name);
#endif
