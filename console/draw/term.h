/* The terminal: cells out, keys in, and everything put back as it was, whatever happens.
 *
 * The only file that knows ncurses. One terminal a process, one thread. After term_open a fatal
 * signal (SEGV, ABRT, BUS, FPE, ILL, QUIT) restores the screen and the line settings before the
 * process dies of it; SIGINT, SIGTERM, SIGHUP and SIGWINCH become readable on term_signal_fd(), so
 * that the loop sees them as it sees keys. */
#ifndef CONSOLE_DRAW_TERM_H
#define CONSOLE_DRAW_TERM_H
#include "draw/cells.h"
#include "draw/keys.h"
#include "draw/theme.h"

struct term_options {
    bool ascii; /* no glyph above 126, whatever the locale says */
    bool mono;  /* no colour; also when NO_COLOR is set */
    bool mouse;
    unsigned theme; /* its place in theme_names */
};

/* False with a sentence in why when there is no usable terminal. */
bool term_open(const struct term_options *options, char *why, size_t why_bytes);
void term_close(void);

/* True when the locale can't show the drawing glyphs. */
bool term_is_ascii(void);
void term_size(int *width, int *height);

/* Shows the grid; only what changed goes to the terminal, in one write. */
void term_show(const struct cells *cells);
/* Forgets what is on the screen, so that the next term_show draws all of it. */
void term_redraw(void);
/* Stops the process as ^Z does, with the terminal put back; returns when it is continued. */
void term_suspend(void);
/* Follows a changed window size. */
void term_resize(void);

/* Other colours, where there are any: false when there are none. */
bool term_set_theme(unsigned theme);
/* While the mouse is ours, the terminal's own selection needs Shift. */
void term_set_mouse(bool is_on);

enum pointer_act { POINTER_CLICK, POINTER_WHEEL_UP, POINTER_WHEEL_DOWN };
struct pointer {
    enum pointer_act act;
    int y, x;
};
/* What KEY_POINTER, just read, was about. */
struct pointer term_pointer(void);

/* The next key, KEY_NONE when none waits; KEY_POINTER when the mouse did something. */
uint32_t term_key(void);
/* True when nobody is there any more: reading would report an end for ever. */
bool term_is_gone(void);

int term_signal_fd(void);
/* The next signal seen: SIGINT, SIGTERM, SIGHUP or SIGWINCH; 0 when none waits. */
int term_signal(void);
#endif
