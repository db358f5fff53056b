#include "draw/keys.h"

#include <stdio.h>
#include <string.h>

#define F(n) (KEY_FUNCTION + (n))

/* Order is the order of the key bar and of the help. Capital letters execute; Enter never sends a
 * write. */
/* clang-format off */
const struct key_row key_rows[] = {
    {COMMAND_HELP, SCOPE_VIEWS, {F(1), 'h'}, "Help", "this list of keys"},
    {COMMAND_PALETTE, SCOPE_VIEWS, {':'}, NULL,
     "a command, view, setting, class or server by its name"},
    {COMMAND_EXPLAIN, SCOPE_VIEWS, {'?'}, "Explain", "what a figure means, its source, what to do"},
    {COMMAND_WHY, SCOPE_VIEWS, {'x'}, "Why", "why automove moves pages, or does not"},
    {COMMAND_VIEW_OVERVIEW, SCOPE_VIEWS, {'1'}, NULL, "overview: health, rates, memory"},
    {COMMAND_VIEW_CLASSES, SCOPE_VIEWS, {'2'}, NULL, "classes: one row a slab class"},
    {COMMAND_VIEW_CLASSES, SCOPE_VIEWS & ~SCOPE_CLASSES, {'c'}, NULL,
     "classes, from any other view"},
    {COMMAND_VIEW_PAGES, SCOPE_VIEWS, {'3'}, NULL, "pages: a cell a page, to see and move them"},
    {COMMAND_VIEW_TUNE, SCOPE_VIEWS, {'4'}, NULL, "tune: every setting that can change live"},
    {COMMAND_VIEW_SIZES, SCOPE_VIEWS, {'5'}, NULL, "sizes: items by size against class limits"},
    {COMMAND_VIEW_CURVES, SCOPE_VIEWS, {'6'}, NULL,
     "curves: what other memory or policies would do"},
    {COMMAND_VIEW_FLEET, SCOPE_VIEWS, {'7'}, NULL, "fleet: one row a server, worst first"},
    {COMMAND_VIEW_EVENTS, SCOPE_VIEWS, {'8'}, NULL, "events: page moves, settings, what you sent"},
    {COMMAND_VIEW_HOTKEYS, SCOPE_VIEWS, {'9'}, NULL, "hot keys: those with most requests"},
    {COMMAND_VIEW_DIFF, SCOPE_VIEWS, {'d'}, NULL,
     "diff: what changed since the moment that D marked"},
    {COMMAND_VIEW_LATENCY, SCOPE_VIEWS, {'l'}, NULL, "latency: round trips, measured from here"},
    {COMMAND_MARK_MOMENT, SCOPE_VIEWS, {'D'}, NULL, "mark the moment on the screen, for the diff"},
    {COMMAND_NEXT_VIEW, SCOPE_VIEWS, {'\t'}, NULL, "next view"},
    {COMMAND_PREVIOUS_VIEW, SCOPE_VIEWS, {KEY_BACK_TAB}, NULL, "previous view"},
    {COMMAND_UP, SCOPE_VIEWS | SCOPE_HELP | SCOPE_COLUMNS, {KEY_ARROW_UP, 'k'}, NULL, "up a row"},
    {COMMAND_DOWN, SCOPE_VIEWS | SCOPE_HELP | SCOPE_COLUMNS, {KEY_ARROW_DOWN, 'j'}, NULL,
     "down a row"},
    {COMMAND_PAGE_UP, SCOPE_VIEWS | SCOPE_HELP, {KEY_PAGE_UP, KEY_CONTROL('b')}, NULL,
     "up a screen"},
    {COMMAND_PAGE_DOWN, SCOPE_VIEWS | SCOPE_HELP, {KEY_PAGE_DOWN, KEY_CONTROL('f')}, NULL,
     "down a screen"},
    {COMMAND_TOP, SCOPE_VIEWS | SCOPE_HELP, {KEY_TO_HOME, 'g'}, NULL, "first row"},
    {COMMAND_BOTTOM, SCOPE_VIEWS | SCOPE_HELP, {KEY_TO_END, 'G'}, NULL, "last row"},
    {COMMAND_OPEN_SERVER, SCOPE_FLEET, {KEY_RETURN}, "Open", "open the server under the cursor"},
    {COMMAND_MARK_SERVER, SCOPE_FLEET, {'m'}, "Mark",
     "mark the server; a setting goes to all marked ones"},
    {COMMAND_FILTER, SCOPE_CLASSES, {F(4), '\\', '/'}, "Filter",
     "show some classes: ev>0 size>=1000, or a number"},
    {COMMAND_OPEN_CLASS, SCOPE_CLASSES | SCOPE_PAGES | SCOPE_CURVES, {KEY_RETURN}, "Class",
     "all figures of the class under the cursor"},
    {COMMAND_CLOSE_CLASS, SCOPE_CLASS, {KEY_ESCAPE, KEY_ERASE}, "Back",
     "back to where it was opened"},
    {COMMAND_NEXT_CLASS, SCOPE_CLASS, {'n'}, "Next", "the next class"},
    {COMMAND_PREVIOUS_CLASS, SCOPE_CLASS, {'N'}, NULL, "the class before it"},
    {COMMAND_MARK_SOURCE, SCOPE_CLASSES | SCOPE_PAGES, {'f'}, "From",
     "mark this class as the source; again to unmark"},
    {COMMAND_MORE_PAGES, SCOPE_PAGES, {'+', '='}, NULL, "mark one page more of the source"},
    {COMMAND_FEWER_PAGES, SCOPE_PAGES, {'-'}, NULL, "mark one page less"},
    {COMMAND_CELL_MODE, SCOPE_PAGES, {'o'}, "Cells", "cells show how full or how old a page is"},
    {COMMAND_MOVE_PAGES,
     SCOPE_OVERVIEW | SCOPE_CLASSES | SCOPE_PAGES | SCOPE_CLASS | SCOPE_CURVES,
     {F(5), 'm'}, "Move", "move pages here: opens the review, sends nothing"},
    {COMMAND_REVIEW, SCOPE_SIZES, {F(5), 'm', KEY_RETURN}, "Change",
     "change to these sizes: opens the review, sends nothing"},
    {COMMAND_SORT_NEXT, SCOPE_CLASSES | SCOPE_FLEET, {F(6), 's', '>'}, "Sort",
     "sort by the next column"},
    {COMMAND_SORT_PREVIOUS, SCOPE_CLASSES | SCOPE_FLEET, {'<'}, NULL,
     "sort by the previous column"},
    {COMMAND_SORT_REVERSE, SCOPE_CLASSES | SCOPE_FLEET, {'r', 'I'}, NULL, "turn the order round"},
    {COMMAND_REVIEW, SCOPE_TUNE, {F(7), 't'}, "Review",
     "review all new values: opens the review, sends nothing"},
    {COMMAND_MORE, SCOPE_TUNE, {'+', '='}, "More",
     "the next value, in the column NEW only"},
    {COMMAND_LESS, SCOPE_TUNE, {'-'}, "Less",
     "the value before, in the column NEW only"},
    {COMMAND_EDIT, SCOPE_TUNE, {KEY_RETURN, 'e'}, "Type", "type the new value"},
    {COMMAND_RESET, SCOPE_TUNE, {'r'}, NULL, "forget the new value of this row"},
    {COMMAND_AUTOMOVE, SCOPE_VIEWS & ~SCOPE_TUNE, {F(7), 't'}, "Automove",
     "automove mode: opens the review, sends nothing"},
    {COMMAND_UNDO, SCOPE_VIEWS, {F(8), 'u'}, "Undo",
     "undo the last change: opens the review first"},
    {COMMAND_REDO, SCOPE_VIEWS, {KEY_CONTROL('r')}, NULL,
     "redo the change undone last: opens the review"},
    {COMMAND_ACCEPT_TRIAL, SCOPE_VIEWS, {'K'}, NULL,
     "keep the change on trial: it does not go back"},
    {COMMAND_COLUMNS, SCOPE_CLASSES, {'c'}, NULL, "choose the columns and their order"},
    {COMMAND_WINDOW, SCOPE_CLASSES, {'a'}, NULL, "rates over 1, 10 or 100 s"},
    {COMMAND_IDLE_ROWS, SCOPE_CLASSES, {'z'}, NULL, "hide or show classes without traffic"},
    {COMMAND_RECORD, SCOPE_VIEWS, {F(9), 'R'}, NULL, "record to a file, or stop recording"},
    {COMMAND_PAUSE, SCOPE_VIEWS, {' '}, "Pause", "pause and go on; sampling never stops"},
    {COMMAND_TIME_BACK, SCOPE_VIEWS, {KEY_ARROW_LEFT}, NULL, "back in time by a sample"},
    {COMMAND_TIME_ON, SCOPE_VIEWS, {KEY_ARROW_RIGHT}, NULL, "on in time by a sample"},
    {COMMAND_MINUTE_BACK, SCOPE_VIEWS, {'['}, NULL, "back by a minute"},
    {COMMAND_MINUTE_ON, SCOPE_VIEWS, {']'}, NULL, "on by a minute"},
    {COMMAND_EVENT_BEFORE, SCOPE_VIEWS, {'{'}, NULL, "to the event before"},
    {COMMAND_EVENT_AFTER, SCOPE_VIEWS, {'}'}, NULL, "to the event after"},
    {COMMAND_LIVE, SCOPE_VIEWS, {'.'}, NULL, "to now, or to the end of the recording"},
    {COMMAND_STREAMS, SCOPE_EVENTS, {'w'}, "Watch", "watch the next stream of the server, or none"},
    {COMMAND_THEME, SCOPE_VIEWS, {'T'}, NULL, "the next theme of colours"},
    {COMMAND_MOUSE, SCOPE_VIEWS, {'M'}, NULL, "use the mouse, or leave it to the terminal"},
    {COMMAND_REDRAW, SCOPE_VIEWS, {KEY_CONTROL('l')}, NULL, "draw the whole screen again"},
    {COMMAND_SUSPEND, SCOPE_VIEWS, {KEY_CONTROL('z')}, NULL, "back to the shell; fg returns"},
    {COMMAND_QUIT, SCOPE_VIEWS, {F(10), 'q', KEY_CONTROL('c')}, "Quit",
     "leave; pages not yet requested are not moved"},

    {COMMAND_SEND, SCOPE_REVIEW, {'S'}, "Send", "send what the review shows; Enter never sends"},
    {COMMAND_NEXT_FIELD, SCOPE_REVIEW, {KEY_ARROW_DOWN, '\t', 'j', KEY_RETURN}, "Next field",
     "next field"},
    {COMMAND_PREVIOUS_FIELD, SCOPE_REVIEW, {KEY_ARROW_UP, KEY_BACK_TAB, 'k'}, NULL,
     "previous field"},
    {COMMAND_LESS, SCOPE_REVIEW, {KEY_ARROW_LEFT, '-', 'h'}, "Less",
     "smaller value; or type digits"},
    {COMMAND_MORE, SCOPE_REVIEW, {KEY_ARROW_RIGHT, '+', 'l'}, "More",
     "larger value; or type digits"},
    {COMMAND_HELP, SCOPE_REVIEW, {F(1), '?'}, "Keys", "the keys of a review"},
    {COMMAND_CANCEL, SCOPE_REVIEW, {KEY_ESCAPE, 'q', KEY_CONTROL('c')}, "Cancel",
     "close the review, send nothing"},

    {COMMAND_ACCEPT, SCOPE_PALETTE, {KEY_RETURN}, "Run",
     "run the command typed, or else the choice marked"},
    {COMMAND_COMPLETE, SCOPE_PALETTE, {'\t'}, "Complete", "type the choice that is marked"},
    {COMMAND_UP, SCOPE_PALETTE, {KEY_ARROW_UP}, NULL, "the choice above"},
    {COMMAND_DOWN, SCOPE_PALETTE, {KEY_ARROW_DOWN}, NULL, "the choice below"},
    {COMMAND_CANCEL, SCOPE_PALETTE, {KEY_ESCAPE, KEY_CONTROL('c')}, "Cancel", "run nothing"},
    {COMMAND_BACK, SCOPE_PALETTE, {KEY_ERASE}, NULL, "take back a character of the command"},

    {COMMAND_ACCEPT, SCOPE_FILTER, {KEY_RETURN}, "Use", "use the filter, or what is searched for"},
    {COMMAND_CANCEL, SCOPE_FILTER, {KEY_ESCAPE, KEY_CONTROL('c')}, "Cancel", "keep the old one"},
    {COMMAND_BACK, SCOPE_FILTER, {KEY_ERASE}, NULL, "take back a character"},

    {COMMAND_ACCEPT, SCOPE_VALUE, {KEY_RETURN}, "Take", "take the new value; nothing is sent"},
    {COMMAND_CANCEL, SCOPE_VALUE, {KEY_ESCAPE, KEY_CONTROL('c')}, "Cancel", "keep the old one"},
    {COMMAND_BACK, SCOPE_VALUE, {KEY_ERASE}, NULL, "take back a character of the value"},

    {COMMAND_TOGGLE, SCOPE_COLUMNS, {' '}, "Show", "always, never, or while there is room"},
    {COMMAND_EARLIER, SCOPE_COLUMNS, {'<', KEY_ARROW_LEFT}, "Left", "move the column to the left"},
    {COMMAND_LATER, SCOPE_COLUMNS, {'>', KEY_ARROW_RIGHT}, "Right", "move the column to the right"},
    {COMMAND_RESET, SCOPE_COLUMNS, {'r'}, "Reset", "columns as they were at the start"},
    {COMMAND_CANCEL, SCOPE_COLUMNS, {KEY_ESCAPE, 'q', 'c', KEY_RETURN}, "Done",
     "close the list of columns"},

    {COMMAND_NEXT_FIELD, SCOPE_EXPLAIN, {KEY_ARROW_RIGHT, '\t', 'l', 'n'}, "Next",
     "the next figure"},
    {COMMAND_PREVIOUS_FIELD, SCOPE_EXPLAIN, {KEY_ARROW_LEFT, KEY_BACK_TAB, 'h', 'N'}, "Previous",
     "the figure before"},
    {COMMAND_UP, SCOPE_EXPLAIN, {KEY_ARROW_UP, 'k'}, NULL, "scroll up"},
    {COMMAND_DOWN, SCOPE_EXPLAIN, {KEY_ARROW_DOWN, 'j'}, NULL, "scroll down"},
    {COMMAND_CANCEL, SCOPE_EXPLAIN, {KEY_ESCAPE, 'q', '?', KEY_RETURN}, "Close",
     "close the explanation"},

    {COMMAND_UP, SCOPE_WHY, {KEY_ARROW_UP, 'k'}, NULL, "scroll the reasons up"},
    {COMMAND_DOWN, SCOPE_WHY, {KEY_ARROW_DOWN, 'j'}, NULL, "scroll the reasons down"},
    {COMMAND_CANCEL, SCOPE_WHY, {KEY_ESCAPE, 'q', 'x', KEY_RETURN}, "Close", "close the reasons"},

    {COMMAND_FILTER, SCOPE_HELP, {'/'}, "Search", "show only the keys whose line holds a text"},
    {COMMAND_CANCEL, SCOPE_HELP, {KEY_ESCAPE, 'q', 'h', '?', F(1)}, "Close", "close the help"},
};
/* clang-format on */
const unsigned key_row_count = sizeof key_rows / sizeof *key_rows;

enum command key_command(uint32_t key, enum scope scope) {
    for (unsigned i = 0; i < key_row_count; i++) {
        for (int k = 0;
             k < KEYS_PER_ROW && (key_rows[i].scopes & (unsigned)scope) && key_rows[i].keys[k] != 0;
             k++) {
            if (key_rows[i].keys[k] == key) {
                return key_rows[i].command;
            }
        }
    }
    return COMMAND_NONE;
}

int key_move_rows(enum command command, int screen_rows) {
    switch (command) {
    case COMMAND_UP:
        return -1;
    case COMMAND_DOWN:
        return 1;
    case COMMAND_PAGE_UP:
        return -screen_rows;
    case COMMAND_PAGE_DOWN:
        return screen_rows;
    case COMMAND_TOP:
        return -LIST_MOST;
    case COMMAND_BOTTOM:
        return LIST_MOST;
    default: /* no other command moves through a list */
        return 0;
    }
}

unsigned key_step(unsigned at, int rows, unsigned last) {
    long to = (long)at + rows;
    return to < 0 ? 0 : to > (long)last ? last : (unsigned)to;
}

unsigned key_top(unsigned top, unsigned cursor, unsigned rows, unsigned count) {
    unsigned last = count > rows ? count - rows : 0;
    top = cursor < top ? cursor : cursor >= top + rows ? cursor - rows + 1 : top;
    return top < last ? top : last;
}

bool key_type(char *line, size_t line_bytes, enum command command, uint32_t key) {
    size_t length = strlen(line);
    if (command == COMMAND_BACK) {
        line[length > 0 ? length - 1 : 0] = '\0';
        return true;
    }
    if (key < ' ' || key > '~' || length + 1 == line_bytes) {
        return false;
    }
    line[length] = (char)key;
    line[length + 1] = '\0';
    return true;
}

uint32_t key_of_command(enum command command) {
    for (unsigned i = 0; i < key_row_count; i++) {
        if (key_rows[i].command == command) {
            return key_rows[i].keys[0];
        }
    }
    return 0;
}

const char *key_label(uint32_t key, char out[KEY_NAME_BYTES]) {
    static const struct {
        uint32_t key;
        const char *name;
    } named[] = {
        {KEY_ARROW_UP, "Up"},
        {KEY_ARROW_DOWN, "Down"},
        {KEY_ARROW_LEFT, "Left"},
        {KEY_ARROW_RIGHT, "Right"},
        {KEY_PAGE_UP, "PgUp"},
        {KEY_PAGE_DOWN, "PgDn"},
        {KEY_TO_HOME, "Home"},
        {KEY_TO_END, "End"},
        {KEY_RETURN, "Enter"},
        {KEY_ERASE, "Bksp"},
        {KEY_BACK_TAB, "S-Tab"},
        {KEY_ESCAPE, "Esc"},
        {'\t', "Tab"},
        {' ', "Space"},
    };
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].key == key) {
            snprintf(out, KEY_NAME_BYTES, "%s", named[i].name);
            return out;
        }
    }
    if (key > KEY_FUNCTION && key <= KEY_FUNCTION_LAST) {
        snprintf(out, KEY_NAME_BYTES, "F%u", (key - KEY_FUNCTION) & 0xf);
    } else if (key < ' ') {
        snprintf(out, KEY_NAME_BYTES, "^%c", (char)(key + '@'));
    } else {
        snprintf(out, KEY_NAME_BYTES, "%c", key < 0x7f ? (char)key : '?');
    }
    return out;
}

const char *key_row_names(const struct key_row *row, char *out, size_t out_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (int k = 0; k < KEYS_PER_ROW && row->keys[k] != 0; k++) {
        char name[KEY_NAME_BYTES];
        int n = snprintf(out + used, out_bytes - used, "%s%s", used > 0 ? " " : "",
                         key_label(row->keys[k], name));
        if (n < 0 || (size_t)n >= out_bytes - used) {
            break;
        }
        used += (size_t)n;
    }
    return out;
}

uint32_t key_row_bar_key(const struct key_row *row) {
    for (int k = 0; k < KEYS_PER_ROW && row->keys[k] != 0; k++) {
        if (row->keys[k] > KEY_FUNCTION) {
            return row->keys[k];
        }
    }
    return row->keys[0];
}
