/* The names of the themes. What each looks like is the terminal's business. */
#ifndef CONSOLE_DRAW_THEME_H
#define CONSOLE_DRAW_THEME_H

enum { THEME_COUNT = 5 };
extern const char *const theme_names[THEME_COUNT];
/* Its place in theme_names; THEME_COUNT when there is none of that name. */
unsigned theme_named(const char *name);
#endif
