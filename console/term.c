#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR 1
#include "term.h"

#include <curses.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <ncursesw/term.h> /* <term.h> would find our own */
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

/* ncurses has KEY_ names of its own; those of keys.h are enum constants and stay distinct because
 * they are not macros. */

static struct {
    bool is_open, is_ascii, has_colour;
    SCREEN *screen;
    attr_t attributes[STYLE_COUNT];
    short pairs[STYLE_COUNT];
    int signal_pipe[2];
} term = {.signal_pipe = {-1, -1}};

/* Kept apart from ncurses for the handler of fatal signals, which may call only what is
 * async-signal-safe. */
static struct termios saved_line;
static char restore_text[128];
static size_t restore_bytes;

static const int fatal_signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
static const int loop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGWINCH};

static void on_fatal(int number) {
    ssize_t written = write(STDOUT_FILENO, restore_text, restore_bytes);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &saved_line);
    raise(number); /* SA_RESETHAND: this time the default action runs */
}

static void on_loop_signal(int number) {
    unsigned char byte = (unsigned char)number;
    ssize_t written = write(term.signal_pipe[1], &byte, 1);
    (void)written; /* a full pipe means that the loop has enough to wake up for */
}

static void append_restore(const char *capability) {
    const char *text = tigetstr(capability);
    if (text == NULL || text == (const char *)-1 ||
        restore_bytes + strlen(text) > sizeof restore_text) {
        return;
    }
    memcpy(restore_text + restore_bytes, text, strlen(text));
    restore_bytes += strlen(text);
}

static void catch_signals(void) {
    struct sigaction fatal = {.sa_handler = on_fatal, .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        sigaction(fatal_signals[i], &fatal, NULL);
    }
    struct sigaction loop = {.sa_handler = on_loop_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof loop_signals / sizeof *loop_signals; i++) {
        sigaction(loop_signals[i], &loop, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static void release_signals(void) {
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        signal(fatal_signals[i], SIG_DFL);
    }
    for (size_t i = 0; i < sizeof loop_signals / sizeof *loop_signals; i++) {
        signal(loop_signals[i], SIG_DFL);
    }
}

static void set_style(enum style style, attr_t attributes, short foreground, short background) {
    term.attributes[style] = attributes;
    term.pairs[style] = 0;
    if (term.has_colour && (foreground >= 0 || background >= 0)) {
        init_pair((short)(style + 1), foreground, background);
        term.pairs[style] = (short)(style + 1);
    }
}

/* Without colour, weight and reverse carry the same distinctions; words and marks carry them
 * anyway. */
static void choose_styles(void) {
    bool colour = term.has_colour;
    set_style(STYLE_PLAIN, A_NORMAL, -1, -1);
    set_style(STYLE_DIM, A_DIM, -1, -1);
    set_style(STYLE_STRONG, A_BOLD, -1, -1);
    set_style(STYLE_TITLE, colour ? A_NORMAL : A_REVERSE, COLOR_WHITE, COLOR_BLUE);
    set_style(STYLE_HEADER, colour ? A_NORMAL : A_UNDERLINE, COLOR_CYAN, -1);
    set_style(STYLE_KEYBAR, colour ? A_NORMAL : A_REVERSE, COLOR_BLACK, COLOR_CYAN);
    set_style(STYLE_GRAPH, A_NORMAL, COLOR_CYAN, -1);
    set_style(STYLE_GOOD, A_NORMAL, COLOR_GREEN, -1);
    set_style(STYLE_WARN, A_BOLD, COLOR_YELLOW, -1);
    set_style(STYLE_BAD, colour ? A_BOLD : A_BOLD | A_REVERSE, COLOR_RED, -1);
    set_style(STYLE_DIALOG, A_NORMAL, -1, -1);
}

static bool open_signal_pipe(void) {
    return pipe2(term.signal_pipe, O_CLOEXEC | O_NONBLOCK) == 0;
}

bool term_open(const struct term_options *options, char *why, size_t why_bytes) {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        snprintf(why, why_bytes, "no terminal: use -b for plain text");
        return false;
    }
    if (!open_signal_pipe()) {
        snprintf(why, why_bytes, "cannot open a pipe");
        return false;
    }
    tcgetattr(STDIN_FILENO, &saved_line);
    term.screen = newterm(NULL, stdout, stdin);
    if (term.screen == NULL) {
        const char *name = getenv("TERM");
        snprintf(why, why_bytes, "the terminal type '%.40s' is not known: set TERM",
                 name != NULL ? name : "");
        return false;
    }
    set_term(term.screen);
    term.is_open = true;
    append_restore("sgr0");
    append_restore("rmkx");
    append_restore("cnorm");
    append_restore("rmcup");
    term.is_ascii = options->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    const char *no_colour = getenv("NO_COLOR");
    term.has_colour = !options->mono && (no_colour == NULL || no_colour[0] == '\0') && has_colors();
    if (term.has_colour) {
        start_color();
        use_default_colors();
    }
    choose_styles();
    raw();
    noecho();
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    catch_signals();
    return true;
}

void term_close(void) {
    if (!term.is_open) {
        return;
    }
    endwin();
    delscreen(term.screen);
    release_signals();
    term.is_open = false;
    close(term.signal_pipe[0]);
    close(term.signal_pipe[1]);
    term.signal_pipe[0] = term.signal_pipe[1] = -1;
}

bool term_is_ascii(void) {
    return term.is_ascii;
}

void term_size(int *width, int *height) {
    getmaxyx(stdscr, *height, *width);
}

/* The terminal's drawing of one cell. */
static void to_curses(const struct cell *cell, cchar_t *out) {
    wchar_t glyph[2] = {(wchar_t)cell->glyph, L'\0'};
    unsigned style = cell->style & ~(unsigned)CELL_SELECTED;
    attr_t attributes =
        term.attributes[style] | (cell->style & CELL_SELECTED ? A_REVERSE : A_NORMAL);
    setcchar(out, glyph, attributes, term.pairs[style], NULL);
}

void term_show(const struct cells *cells) {
    cchar_t row[1000];
    for (int y = 0; y < cells->height; y++) {
        for (int x = 0; x < cells->width; x++) {
            to_curses(&cells->grid[y * cells->width + x], &row[x]);
        }
        mvadd_wchnstr(y, 0, row, cells->width);
    }
    refresh();
}

void term_redraw(void) {
    clearok(curscr, TRUE);
}

/* ncurses handles SIGTSTP: it puts the terminal back, stops the process, and draws everything again
 * afterwards. */
void term_suspend(void) {
    raise(SIGTSTP);
}

void term_resize(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        resizeterm(size.ws_row, size.ws_col);
    }
}

static uint32_t from_curses(wint_t code) {
    static const struct {
        wint_t code;
        uint32_t key;
    } twins[] = {
        {KEY_UP, KEY_ARROW_UP},       {KEY_DOWN, KEY_ARROW_DOWN}, {KEY_LEFT, KEY_ARROW_LEFT},
        {KEY_RIGHT, KEY_ARROW_RIGHT}, {KEY_PPAGE, KEY_PAGE_UP},   {KEY_NPAGE, KEY_PAGE_DOWN},
        {KEY_HOME, KEY_TO_HOME},      {KEY_END, KEY_TO_END},      {KEY_ENTER, KEY_RETURN},
        {KEY_BACKSPACE, KEY_ERASE},   {KEY_DC, KEY_ERASE},        {KEY_BTAB, KEY_BACK_TAB},
    };
    for (size_t i = 0; i < sizeof twins / sizeof *twins; i++) {
        if (twins[i].code == code) {
            return twins[i].key;
        }
    }
    if (code >= (wint_t)KEY_F(1) && code <= (wint_t)KEY_F(12)) {
        return (uint32_t)KEY_FUNCTION + (code - (wint_t)KEY_F(0));
    }
    return KEY_NONE + 0xffff; /* a key without meaning here */
}

uint32_t term_key(void) {
    wint_t code;
    int kind = get_wch(&code);
    if (kind == ERR) {
        return KEY_NONE;
    }
    if (kind == KEY_CODE_YES) {
        return from_curses(code);
    }
    if (code == '\r' || code == '\n') {
        return KEY_RETURN;
    }
    return code == 127 || code == 8 ? (uint32_t)KEY_ERASE : (uint32_t)code;
}

int term_signal_fd(void) {
    return term.signal_pipe[0];
}

int term_signal(void) {
    unsigned char byte;
    return read(term.signal_pipe[0], &byte, 1) == 1 ? byte : 0;
}
