/* The only table of keys: the bindings, the key bar, the help overlay and the list of the man page
 * come from it. */
#ifndef CONSOLE_DRAW_KEYS_H
#define CONSOLE_DRAW_KEYS_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
    KEY_POINTER, /* a mouse event */
    KEY_FUNCTION, /* KEY_FUNCTION + n is Fn */
    KEY_FUNCTION_LAST = KEY_FUNCTION + 12
};
#define KEY_CONTROL(letter) ((uint32_t)(letter)&0x1f)

enum command {
    COMMAND_NONE,
    COMMAND_HELP,
    COMMAND_EXPLAIN,
    COMMAND_WHY,
    COMMAND_VIEW_TUNE,
    COMMAND_EDIT,
    COMMAND_REVIEW,
    COMMAND_ACCEPT_TRIAL,
    COMMAND_QUIT,
    COMMAND_VIEW_OVERVIEW,
    COMMAND_VIEW_CLASSES,
    COMMAND_VIEW_PAGES,
    COMMAND_VIEW_SIZES,
    COMMAND_VIEW_CURVES,
    COMMAND_VIEW_FLEET,
    COMMAND_VIEW_EVENTS,
    COMMAND_VIEW_HOTKEYS,
    COMMAND_VIEW_DIFF,
    COMMAND_VIEW_LATENCY,
    COMMAND_NEXT_VIEW,
    COMMAND_PREVIOUS_VIEW,
    COMMAND_UP,
    COMMAND_DOWN,
    COMMAND_PAGE_UP,
    COMMAND_PAGE_DOWN,
    COMMAND_TOP,
    COMMAND_BOTTOM,
    COMMAND_MARK_SOURCE,
    COMMAND_MOVE_PAGES,
    COMMAND_AUTOMOVE,
    COMMAND_UNDO,
    COMMAND_REDO,
    COMMAND_FILTER,
    COMMAND_SORT_NEXT,
    COMMAND_SORT_PREVIOUS,
    COMMAND_SORT_REVERSE,
    COMMAND_WINDOW,
    COMMAND_IDLE_ROWS,
    COMMAND_OPEN_SERVER,
    COMMAND_MARK_SERVER,
    COMMAND_PAUSE,
    COMMAND_TIME_BACK,
    COMMAND_TIME_ON,
    COMMAND_MINUTE_BACK,
    COMMAND_MINUTE_ON,
    COMMAND_EVENT_BEFORE,
    COMMAND_EVENT_AFTER,
    COMMAND_LIVE,
    COMMAND_MARK_MOMENT,
    COMMAND_RECORD,
    COMMAND_MOUSE,
    COMMAND_THEME,
    COMMAND_STREAMS,
    COMMAND_REDRAW,
    COMMAND_SUSPEND,
    COMMAND_NEXT_FIELD,
    COMMAND_PREVIOUS_FIELD,
    COMMAND_LESS,
    COMMAND_MORE,
    COMMAND_SEND,
    COMMAND_ACCEPT,
    COMMAND_OPEN_CLASS,
    COMMAND_CLOSE_CLASS,
    COMMAND_NEXT_CLASS,
    COMMAND_PREVIOUS_CLASS,
    COMMAND_MORE_PAGES,
    COMMAND_FEWER_PAGES,
    COMMAND_CELL_MODE,
    COMMAND_COLUMNS,
    COMMAND_TOGGLE,
    COMMAND_EARLIER,
    COMMAND_LATER,
    COMMAND_RESET,
    COMMAND_CANCEL,
    COMMAND_BACK,
    COMMAND_PALETTE,
    COMMAND_COMPLETE
};

/* The views and overlays in which a binding holds. */
enum scope {
    SCOPE_OVERVIEW = 1,
    SCOPE_CLASSES = 2,
    SCOPE_EVENTS = 4,
    SCOPE_REVIEW = 8,
    SCOPE_FILTER = 16,
    SCOPE_HELP = 32,
    SCOPE_COLUMNS = 64,
    SCOPE_EXPLAIN = 128,
    SCOPE_FLEET = 256,
    SCOPE_DIFF = 512,
    SCOPE_TUNE = 1024,
    SCOPE_VALUE = 2048,
    SCOPE_WHY = 4096,
    SCOPE_CLASS = 8192,
    SCOPE_PAGES = 16384,
    SCOPE_SIZES = 32768,
    SCOPE_CURVES = 65536,
    SCOPE_HOTKEYS = 131072,
    SCOPE_PALETTE = 524288,
    SCOPE_LATENCY = 1048576
};
enum {
    SCOPE_VIEWS = SCOPE_OVERVIEW | SCOPE_CLASSES | SCOPE_EVENTS | SCOPE_FLEET | SCOPE_DIFF |
                  SCOPE_TUNE | SCOPE_CLASS | SCOPE_PAGES | SCOPE_SIZES | SCOPE_CURVES |
                  SCOPE_HOTKEYS | SCOPE_LATENCY,
    KEYS_PER_ROW = 5,
    KEY_NAME_BYTES = 8
};

struct key_row {
    enum command command;
    unsigned scopes;             /* enum scope, or'ed */
    uint32_t keys[KEYS_PER_ROW]; /* 0 ends; the key bar shows the first F-key, else the first key */
    const char *bar;             /* label in the key bar, NULL for none */
    const char *help;
};

extern const struct key_row key_rows[];
extern const unsigned key_row_count;

/* COMMAND_NONE when the key means nothing in this scope. */
enum command key_command(uint32_t key, enum scope scope);

/* How many rows down (negative: up) a command moves the cursor of a list. A page is screen_rows. A
 * move to an end is LIST_MOST; no list is longer. 0: the command does not move the cursor. */
enum { LIST_MOST = 10000 };
int key_move_rows(enum command command, int screen_rows);

/* The row `rows` rows from `at`, at most up to the ends: 0 or last. */
unsigned key_step(unsigned at, int rows, unsigned last);

/* The first row to show of a list, of which `rows` fit: top, or the nearest row from which the
 * cursor's row is shown and no row of the screen stays empty. A list without a cursor passes top as
 * cursor. */
unsigned key_top(unsigned top, unsigned cursor, unsigned rows, unsigned count);

/* Edits a typed line of at most line_bytes with its NUL: appends a printable key, or removes the
 * last character (COMMAND_BACK). False for any other key. */
bool key_type(char *line, size_t line_bytes, enum command command, uint32_t key);

/* The first key of a command, 0 when it has none. */
uint32_t key_of_command(enum command command);

/* "F5", "^L", "Esc", "m". */
const char *key_label(uint32_t key, char out[KEY_NAME_BYTES]);

/* All the keys of a row: "m F5". */
const char *key_row_names(const struct key_row *row, char *out, size_t out_bytes);

/* The key that the key bar shows. */
uint32_t key_row_bar_key(const struct key_row *row);
#endif
