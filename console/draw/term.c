#define _XOPEN_SOURCE_EXTENDED 1
#define NCURSES_WIDECHAR 1
#include "draw/term.h"

#include "draw/dress.h"
#include "draw/sequence.h"

#include <curses.h>
#include <errno.h>
#include <fcntl.h>
#include <langinfo.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <ncursesw/term.h> /* <term.h> would find slatetop's */
#include <termios.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

/* ncurses has KEY_ names of its own; those of keys.h are enum constants and stay distinct because
 * they are not macros. */

static struct {
    bool is_open, is_ascii, has_colour, has_mouse;
    bool is_light; /* the background */
    unsigned theme;
    uint64_t background_until_ms; /* the terminal may tell its background till then; 0: not asked */
    int tty_fd;   /* the terminal, while standard output is redirected */
    int frame_fd; /* memory file that collects a frame; -1: none, frames go out in parts */
    char *frame;
    size_t frame_bytes;
    struct pointer pointer;
    struct sequence sequence;
    bool is_pasting;
    uint64_t pasted_ms; /* the time of the last pasted key */
    SCREEN *screen;
    attr_t attributes[STYLE_COUNT];
    short pairs[STYLE_COUNT];
    int signal_pipe[2];
} term = {.signal_pipe = {-1, -1}, .frame_fd = -1, .tty_fd = STDOUT_FILENO};

/* Saved apart from ncurses for the handler of fatal signals, which may call only async-signal-safe
 * functions. */
static struct termios saved_line;
static char restore_text[128];
static size_t restore_bytes;

static const int fatal_signals[] = {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
static const int loop_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGWINCH};

static void term_on_fatal(int number) {
    ssize_t written = write(term.tty_fd, restore_text, restore_bytes);
    (void)written;
    tcsetattr(STDIN_FILENO, TCSANOW, &saved_line);
    raise(number); /* SA_RESETHAND: this time the default action runs */
}

static void term_on_loop_signal(int number) {
    unsigned char byte = (unsigned char)number;
    ssize_t written = write(term.signal_pipe[1], &byte, 1);
    (void)written; /* a full pipe wakes up the loop anyway */
}

static void term_append_text(const char *text) {
    if (restore_bytes + strlen(text) <= sizeof restore_text) {
        memcpy(restore_text + restore_bytes, text, strlen(text));
        restore_bytes += strlen(text);
    }
}

static void term_append_restore(const char *capability) {
    const char *text = tigetstr(capability);
    if (text == NULL || text == (const char *)-1) {
        return;
    }
    term_append_text(strcmp(capability, "kmous") == 0 ? "\033[?1006l\033[?1000l" : text);
}

static void term_catch_signals(void) {
    struct sigaction fatal = {.sa_handler = term_on_fatal,
                              .sa_flags = (int)SA_RESETHAND | SA_NODEFER};
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        sigaction(fatal_signals[i], &fatal, NULL);
    }
    struct sigaction loop = {.sa_handler = term_on_loop_signal, .sa_flags = SA_RESTART};
    for (size_t i = 0; i < sizeof loop_signals / sizeof *loop_signals; i++) {
        sigaction(loop_signals[i], &loop, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
}

static void term_release_signals(void) {
    for (size_t i = 0; i < sizeof fatal_signals / sizeof *fatal_signals; i++) {
        signal(fatal_signals[i], SIG_DFL);
    }
    for (size_t i = 0; i < sizeof loop_signals / sizeof *loop_signals; i++) {
        signal(loop_signals[i], SIG_DFL);
    }
}

/* ---- themes ---- */

/* Without colour, bold and reverse carry the same distinctions; words and marks always do. */
static const attr_t mono_attributes[STYLE_COUNT] = {
    [STYLE_DIM] = A_DIM,          [STYLE_STRONG] = A_BOLD,    [STYLE_TITLE] = A_REVERSE,
    [STYLE_HEADER] = A_UNDERLINE, [STYLE_KEYBAR] = A_REVERSE, [STYLE_WARN] = A_BOLD,
    [STYLE_BAD] = A_BOLD | A_REVERSE,
};

bool term_set_theme(unsigned theme) {
    bool has_colour = term.has_colour && theme < DRESS_COUNT;
    term.theme = theme;
    for (int style = 0; style < STYLE_COUNT; style++) {
        term.pairs[style] = 0;
        term.attributes[style] = mono_attributes[style];
        if (has_colour) {
            const struct dress *dress = &dress_of(theme, term.is_light)[style];
            bool is_rich = COLORS >= 256;
            short foreground = is_rich ? dress->foreground.of_256 : dress->foreground.of_8;
            short background = is_rich ? dress->background.of_256 : dress->background.of_8;
            term.attributes[style] = (dress->attributes & DRESS_BOLD ? A_BOLD : A_NORMAL) |
                                     (dress->attributes & DRESS_UNDERLINE ? A_UNDERLINE : A_NORMAL);
            if (foreground >= 0 || background >= 0) {
                init_pair((short)(style + 1), foreground, background);
                term.pairs[style] = (short)(style + 1);
            }
        }
    }
    return term.has_colour;
}

void term_set_mouse(bool is_on) {
    term.has_mouse = is_on;
    mousemask(is_on ? BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0, NULL);
    mouseinterval(0);
    keyok(KEY_MOUSE, is_on); /* else ncurses takes the begin of a report, and leaves the rest */
}

/* ---- pasted text ---- */

/* Codes of ncurses for the marks around pasted text: of keys that no keyboard has. */
enum { PASTE_BEGINS = KEY_F(62), PASTE_ENDS = KEY_F(63) };
/* The mark at the end was lost when so much time passes within pasted text. */
enum { PASTE_MS = 1000 };

static const char paste_off[] = "\033[?2004l";

/* Pasted text would else be keys, and "S" in it would change a server. */
static void term_set_paste(bool is_on) {
    fputs(is_on ? "\033[?2004h" : paste_off, stdout);
    fflush(stdout);
}

/* ---- the background ---- */

/* After the first frame; a later answer would change colours under the reader's eyes. */
enum { BACKGROUND_MS = 50 };

static uint64_t term_now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Takes the background from COLORFGBG, such as "0;15", and asks the terminal for it (OSC 11). Only
 * terminals of 256 colours are asked: others may print the question. */
static void term_ask_background(void) {
    const char *colours = getenv("COLORFGBG");
    const char *last = colours != NULL ? strrchr(colours, ';') : NULL;
    long background = last != NULL ? strtol(last + 1, NULL, 10) : 0;
    term.is_light = background == 7 || background > 8;
    term.background_until_ms = 0;
    if (term.has_colour && COLORS >= 256) {
        term.background_until_ms = UINT64_MAX;
        fputs("\033]11;?\033\\", stdout);
        fflush(stdout);
    }
}

/* Takes the terminal's answer, "11;rgb:ffff/ffff/ffff"; anything else does nothing. */
static void term_take_background(const char *answer) {
    unsigned red, green, blue;
    if (term_now_ms() >= term.background_until_ms ||
        sscanf(answer, "11;rgb:%2x%*[0-9a-f]/%2x%*[0-9a-f]/%2x", &red, &green, &blue) != 3) {
        return;
    }
    term.is_light = 299 * red + 587 * green + 114 * blue > 127 * 1000;
    term_set_theme(term.theme);
}

/* ---- opening and closing ---- */

bool term_open(const struct term_options *options, char *why, size_t why_bytes) {
    if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
        snprintf(why, why_bytes, "no terminal: use -b for plain text");
        return false;
    }
    if (pipe2(term.signal_pipe, O_CLOEXEC | O_NONBLOCK) != 0) {
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
    /* A terminal that cannot place the cursor, such as TERM=dumb, would show rubbish. */
    const char *place = tigetstr("cup");
    if (place == NULL || place == (const char *)-1) { /* -1: ncurses does not know "cup" */
        snprintf(why, why_bytes,
                 "the terminal type '%.40s' cannot place the cursor: set TERM, or use -b",
                 getenv("TERM"));
        endwin();
        tcsetattr(STDIN_FILENO, TCSANOW, &saved_line);
        return false;
    }
    term.is_open = true;
    term_append_restore("sgr0");
    term_append_restore("rmkx");
    term_append_restore("cnorm");
    term_append_restore("kmous"); /* ends mouse reports, if the terminal has a mouse */
    term_append_text(paste_off);
    term_append_restore("rmcup");
    term.is_ascii = options->ascii || strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
    const char *no_colour = getenv("NO_COLOR");
    term.has_colour = !options->mono && (no_colour == NULL || no_colour[0] == '\0') && has_colors();
    if (term.has_colour) {
        start_color();
        use_default_colors();
    }
    raw();
    noecho();
    term_ask_background();
    term_set_theme(options->theme);
    nonl();
    keypad(stdscr, TRUE);
    nodelay(stdscr, TRUE);
    set_escdelay(25);
    curs_set(0);
    term_set_mouse(options->mouse);
    define_key("\033[200~", PASTE_BEGINS);
    define_key("\033[201~", PASTE_ENDS);
    term_set_paste(true);
    term.tty_fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    term.frame_fd = memfd_create("frame", MFD_CLOEXEC);
    if (term.tty_fd < 0 || term.frame_fd < 0) {
        term.tty_fd = term.tty_fd < 0 ? STDOUT_FILENO : term.tty_fd;
        term.frame_fd = -1;
    }
    term_catch_signals();
    return true;
}

void term_close(void) {
    if (!term.is_open) {
        return;
    }
    term_set_mouse(false);
    term_set_paste(false);
    endwin();
    delscreen(term.screen);
    free(term.frame);
    term.frame = NULL;
    term.frame_bytes = 0;
    if (term.frame_fd >= 0) {
        close(term.frame_fd);
        close(term.tty_fd);
        term.frame_fd = -1;
        term.tty_fd = STDOUT_FILENO;
    }
    term_release_signals();
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

void term_copy(const char *text) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *at = (const unsigned char *)text;
    size_t left = strlen(text);
    fputs("\033]52;c;", stdout);
    while (left > 0) {
        unsigned bits = (unsigned)at[0] << 16 | (left > 1 ? (unsigned)at[1] << 8 : 0) |
                        (left > 2 ? (unsigned)at[2] : 0);
        for (unsigned i = 0; i < 4; i++) {
            putchar(i <= left ? digits[bits >> (18 - 6 * i) & 63] : '=');
        }
        at += left > 2 ? 3 : left;
        left -= left > 2 ? 3 : left;
    }
    putchar('\a');
    fflush(stdout);
}

/* Converts a cell for ncurses. The system's library knows of some glyphs another width. */
static void term_to_curses(const struct cell *cell, bool is_wide, cchar_t *out) {
    bool is_shown = cell->glyph < 0x80 || wcwidth((wchar_t)cell->glyph) == (is_wide ? 2 : 1);
    wchar_t glyph[2] = {is_shown ? (wchar_t)cell->glyph : L'?', L'\0'};
    unsigned style = cell->style & ~(unsigned)CELL_SELECTED;
    attr_t attributes =
        term.attributes[style] | (cell->style & CELL_SELECTED ? A_REVERSE : A_NORMAL);
    setcchar(out, glyph, attributes, term.pairs[style], NULL);
}

/* ncurses writes a few bytes at a time, and a terminal that draws between them flickers. So
 * slatetop redirects its output to memory, and sends it in one write. */
static void term_release_output(void) {
    off_t bytes = lseek(term.frame_fd, 0, SEEK_END);
    dup2(term.tty_fd, STDOUT_FILENO);
    if (bytes > 0 && (size_t)bytes > term.frame_bytes) {
        char *larger = realloc(term.frame, (size_t)bytes);
        if (larger != NULL) {
            term.frame = larger;
            term.frame_bytes = (size_t)bytes;
        }
    }
    lseek(term.frame_fd, 0, SEEK_SET);
    /* Writes all of the frame at once; without memory for it, in parts. */
    ssize_t got;
    while (term.frame_bytes > 0 && (got = read(term.frame_fd, term.frame, term.frame_bytes)) > 0) {
        for (ssize_t sent = 0; sent < got;) {
            ssize_t n = write(STDOUT_FILENO, term.frame + sent, (size_t)(got - sent));
            if (n < 0 && errno == EAGAIN) {
                poll(&(struct pollfd){.fd = STDOUT_FILENO, .events = POLLOUT}, 1, 1000);
            } else if (n < 0 && errno != EINTR) {
                break; /* the terminal is gone, which the loop notices */
            }
            sent += n > 0 ? n : 0;
        }
    }
    lseek(term.frame_fd, 0, SEEK_SET);
    int cut = ftruncate(term.frame_fd, 0);
    (void)cut; /* truncation of memory does not fail */
}

void term_show(const struct cells *cells) {
    cchar_t row[1000];
    for (int y = 0; y < cells->height; y++) {
        const struct cell *cell = &cells->grid[y * cells->width];
        int count = 0;
        for (int x = 0; x < cells->width; x++) {
            if (cell[x].glyph != CELL_REST) {
                bool is_wide = x + 1 < cells->width && cell[x + 1].glyph == CELL_REST;
                term_to_curses(&cell[x], is_wide, &row[count++]);
            }
        }
        mvadd_wchnstr(y, 0, row, count);
    }
    bool is_caught = term.frame_fd >= 0 && dup2(term.frame_fd, STDOUT_FILENO) >= 0;
    refresh();
    if (is_caught) {
        term_release_output();
    }
    if (term.background_until_ms == UINT64_MAX) {
        term.background_until_ms = term_now_ms() + BACKGROUND_MS;
    }
}

void term_redraw(void) {
    clearok(curscr, TRUE);
}

/* ncurses handles SIGTSTP: it restores the terminal, stops the process, and draws everything again
 * afterwards. */
void term_suspend(void) {
    term_set_paste(false);
    raise(SIGTSTP);
    term_set_paste(true);
}

void term_resize(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 && size.ws_col > 0) {
        resizeterm(size.ws_row, size.ws_col);
    }
}

static uint32_t term_take_pointer(void) {
    MEVENT event;
    if (getmouse(&event) != OK) {
        return KEY_NONE + 0xffff;
    }
    term.pointer = (struct pointer){.act = event.bstate & BUTTON4_PRESSED   ? POINTER_WHEEL_UP
                                           : event.bstate & BUTTON5_PRESSED ? POINTER_WHEEL_DOWN
                                                                            : POINTER_CLICK,
                                    .y = event.y,
                                    .x = event.x};
    return KEY_POINTER;
}

struct pointer term_pointer(void) {
    return term.pointer;
}

static uint32_t term_from_curses(wint_t code) {
    if (code == KEY_MOUSE) {
        return term_take_pointer();
    }
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
    return KEY_NONE + 0xffff; /* a key that slatetop does not know */
}

/* As get_wch. */
static int term_read(wint_t *code) {
    int kind;
    if (sequence_wants_byte(&term.sequence)) {
        int byte = getch();
        *code = (wint_t)byte;
        kind = byte == ERR ? ERR : byte > UCHAR_MAX ? KEY_CODE_YES : OK;
    } else {
        kind = get_wch(code);
    }
    if (kind == KEY_CODE_YES) { /* a whole key, or mark: the rest of another does not come */
        term.sequence.part = SEQUENCE_NONE;
    }
    return kind;
}

static void term_mark_paste(bool begins) {
    term.is_pasting = begins;
    term.pasted_ms = term_now_ms();
}

/* True if a code belongs to a sequence, which may tell the background or mark pasted text. */
static bool term_is_sequence(wint_t code) {
    const char *text = term.sequence.text;
    uint64_t now_ms = term_now_ms();
    if (sequence_take(&term.sequence, code, now_ms)) {
        if (term.sequence.part == SEQUENCE_NONE) {
            term_take_background(text);
        }
        if (strcmp(text, "200~") == 0 || strcmp(text, "201~") == 0) {
            term_mark_paste(text[2] == '0');
        }
        return true;
    }
    if (code != KEY_ESCAPE) {
        return false;
    }
    int kind = get_wch(&code);
    if (kind == OK && sequence_begin(&term.sequence, code, now_ms)) {
        return true;
    }
    if (kind == ERR) {
        sequence_escape(&term.sequence, now_ms);
    } else if (kind == OK) {
        unget_wch((wchar_t)code);
    } else {
        ungetch((int)code);
    }
    return false;
}

/* True if a key is a mark around pasted text, which it notes. */
static bool term_is_paste_mark(wint_t code) {
    if (code == PASTE_BEGINS || code == PASTE_ENDS) {
        term_mark_paste(code == PASTE_BEGINS);
        return true;
    }
    return false;
}

bool term_is_pasted(void) {
    return term.is_pasting;
}

uint32_t term_key(void) {
    wint_t code;
    int kind;
    do {
        kind = term_read(&code);
    } while ((kind == OK && term_is_sequence(code)) ||
             (kind == KEY_CODE_YES && term_is_paste_mark(code)));
    if (kind == ERR) {
        return KEY_NONE;
    }
    term.is_pasting = term.is_pasting && term_now_ms() - term.pasted_ms < PASTE_MS;
    term.pasted_ms = term_now_ms();
    if (kind == KEY_CODE_YES) {
        return term_from_curses(code);
    }
    if (code == '\r' || code == '\n') {
        return KEY_RETURN;
    }
    return code == 127 || code == 8 ? (uint32_t)KEY_ERASE : (uint32_t)code;
}

bool term_is_gone(void) {
    struct pollfd polled = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&polled, 1, 0) > 0 && (polled.revents & (POLLHUP | POLLERR | POLLNVAL));
}

bool term_catch_interrupts(void) {
    struct sigaction action = {.sa_handler = term_on_loop_signal, .sa_flags = SA_RESTART};
    return pipe2(term.signal_pipe, O_CLOEXEC | O_NONBLOCK) == 0 &&
           sigaction(SIGINT, &action, NULL) == 0 && sigaction(SIGTERM, &action, NULL) == 0;
}

int term_signal_fd(void) {
    return term.signal_pipe[0];
}

int term_signal(void) {
    unsigned char byte;
    return read(term.signal_pipe[0], &byte, 1) == 1 ? byte : 0;
}
