/* The terminal: shows cells, returns keys, and is restored at every end of the program.
 *
 * The only file that knows ncurses. One terminal a process, one thread. After term_open a fatal
 * signal (SEGV, ABRT, BUS, FPE, ILL) restores the screen and the line settings before the
 * process dies of it; SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGWINCH become readable on
 * term_signal_fd(), so that the loop polls for them as for keys. */
#ifndef CONSOLE_DRAW_TERM_H
#define CONSOLE_DRAW_TERM_H
#include "draw/cells.h"

/* Keys are Unicode code points, control codes, or these. */
enum key {
    KEY_ESCAPE = 27,
    KEY_NONE = 0x110000,
    KEY_ARROW_UP,
    KEY_ARROW_DOWN,
    KEY_ARROW_LEFT,
    KEY_ARROW_RIGHT,
    KEY_PAGE_UP,
    KEY_PAGE_DOWN,
    KEY_TO_HOME,
    KEY_TO_END,
    KEY_RETURN,
    KEY_ERASE,
    KEY_BACK_TAB,
    KEY_POINTER,  /* a mouse event */
    KEY_FUNCTION, /* KEY_FUNCTION + n is Fn */
    KEY_FUNCTION_LAST = KEY_FUNCTION + 12
};
#define KEY_CONTROL(letter) ((uint32_t)(letter)&0x1f)

struct term_options {
    bool ascii; /* no glyph above 126, in any locale */
    bool mono;  /* no colour; also when NO_COLOR is set */
    bool mouse;
    unsigned theme; /* its index in cells_themes */
};

/* False with a sentence in why when there is no usable terminal. */
bool term_open(const struct term_options *options, char *why, size_t why_bytes);
void term_close(void);

/* True when the locale can't show the drawing glyphs. */
bool term_is_ascii(void);
void term_size(int *width, int *height);

/* Shows the grid; only changes go to the terminal, in one write. */
void term_show(const struct cells *cells);
/* Makes the next term_show draw the complete screen. */
void term_redraw(void);
/* Restores the terminal and stops the process as ^Z does; returns when the process continues. */
void term_suspend(void);
/* Follows a changed window size. */
void term_resize(void);

/* Hands a text to the clipboard of the terminal (OSC 52); most terminals take it, some ask first.
 */
void term_copy(const char *text);

/* Changes the colours; false when the terminal has none. */
bool term_set_theme(unsigned theme);
/* While slatetop has the mouse, the terminal's own selection needs Shift. */
void term_set_mouse(bool is_on);

enum pointer_act { POINTER_CLICK, POINTER_WHEEL_UP, POINTER_WHEEL_DOWN };
struct pointer {
    enum pointer_act act;
    int y, x;
};
/* The mouse event of the KEY_POINTER just read. */
struct pointer term_pointer(void);

/* The next key, KEY_NONE when none waits; KEY_POINTER for a mouse event. */
uint32_t term_key(void);
/* True if the key just read is of pasted text. */
bool term_is_pasted(void);
/* True when the terminal is gone: every read reports the end. */
bool term_is_gone(void);

/* Without a terminal: SIGINT and SIGTERM become signals of term_signal. False with errno. */
bool term_catch_interrupts(void);
int term_signal_fd(void);
/* The next signal seen: SIGINT, SIGTERM, SIGHUP, SIGQUIT or SIGWINCH; 0 when none waits. */
int term_signal(void);
#endif
