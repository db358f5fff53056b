#include "keys.h"

#include <stdio.h>
#include <string.h>

#define F(n) (KEY_FUNCTION + (n))

/* Order is the order of the key bar and of the help. Capital letters execute; Enter never sends a
 * write. */
/* clang-format off */
const struct key_row key_rows[] = {
    {COMMAND_HELP, SCOPE_VIEWS, {F(1), '?', 'h'}, "Help", "this list of keys"},
    {COMMAND_VIEW_OVERVIEW, SCOPE_VIEWS, {'1'}, NULL, "overview: health, rates, memory"},
    {COMMAND_VIEW_CLASSES, SCOPE_VIEWS, {'2', 'c'}, NULL, "classes: one row a slab class"},
    {COMMAND_VIEW_EVENTS, SCOPE_VIEWS, {'3'}, NULL, "events: page moves, settings, what you sent"},
    {COMMAND_NEXT_VIEW, SCOPE_VIEWS, {'\t'}, NULL, "next view"},
    {COMMAND_PREVIOUS_VIEW, SCOPE_VIEWS, {KEY_BACK_TAB}, NULL, "previous view"},
    {COMMAND_UP, SCOPE_VIEWS | SCOPE_HELP, {KEY_ARROW_UP, 'k'}, NULL, "up a row"},
    {COMMAND_DOWN, SCOPE_VIEWS | SCOPE_HELP, {KEY_ARROW_DOWN, 'j'}, NULL, "down a row"},
    {COMMAND_PAGE_UP, SCOPE_VIEWS | SCOPE_HELP, {KEY_PAGE_UP, KEY_CONTROL('b')}, NULL,
     "up a screen"},
    {COMMAND_PAGE_DOWN, SCOPE_VIEWS | SCOPE_HELP, {KEY_PAGE_DOWN, KEY_CONTROL('f')}, NULL,
     "down a screen"},
    {COMMAND_TOP, SCOPE_VIEWS | SCOPE_HELP, {KEY_TO_HOME, 'g'}, NULL, "first row"},
    {COMMAND_BOTTOM, SCOPE_VIEWS | SCOPE_HELP, {KEY_TO_END, 'G'}, NULL, "last row"},
    {COMMAND_FILTER, SCOPE_CLASSES, {F(4), '\\', '/'}, "Filter",
     "show some classes: ev>0 size>=1000, or a number"},
    {COMMAND_MARK_SOURCE, SCOPE_CLASSES, {'f'}, "From",
     "mark this class as the source; again to unmark"},
    {COMMAND_MOVE_PAGES, SCOPE_OVERVIEW | SCOPE_CLASSES, {F(5), 'm'}, "Move",
     "move pages here: opens the review, sends nothing"},
    {COMMAND_SORT_NEXT, SCOPE_CLASSES, {F(6), 's', '>'}, "Sort", "sort by the next column"},
    {COMMAND_SORT_PREVIOUS, SCOPE_CLASSES, {'<'}, NULL, "sort by the previous column"},
    {COMMAND_SORT_REVERSE, SCOPE_CLASSES, {'r', 'I'}, NULL, "turn the order round"},
    {COMMAND_AUTOMOVE, SCOPE_VIEWS, {F(7), 't'}, "Automove",
     "automove mode: opens the review, sends nothing"},
    {COMMAND_UNDO, SCOPE_VIEWS, {F(8), 'u'}, "Undo",
     "undo your last change: opens the review first"},
    {COMMAND_WINDOW, SCOPE_CLASSES, {'a'}, NULL, "rates over 1, 10 or 100 s"},
    {COMMAND_IDLE_ROWS, SCOPE_CLASSES, {'z'}, NULL, "hide or show classes without traffic"},
    {COMMAND_REDRAW, SCOPE_VIEWS, {KEY_CONTROL('l')}, NULL, "draw the whole screen again"},
    {COMMAND_SUSPEND, SCOPE_VIEWS, {KEY_CONTROL('z')}, NULL, "back to the shell; fg returns"},
    {COMMAND_QUIT, SCOPE_VIEWS, {F(10), 'q', KEY_CONTROL('c')}, "Quit",
     "leave; pages not yet asked for are not moved"},

    {COMMAND_SEND, SCOPE_REVIEW, {'S'}, "Send", "send what the review shows; Enter never sends"},
    {COMMAND_NEXT_FIELD, SCOPE_REVIEW, {KEY_ARROW_DOWN, '\t', 'j', KEY_RETURN}, "Next field",
     "next field"},
    {COMMAND_PREVIOUS_FIELD, SCOPE_REVIEW, {KEY_ARROW_UP, KEY_BACK_TAB, 'k'}, NULL,
     "previous field"},
    {COMMAND_LESS, SCOPE_REVIEW, {KEY_ARROW_LEFT, '-', 'h'}, "Less",
     "smaller value; or type digits"},
    {COMMAND_MORE, SCOPE_REVIEW, {KEY_ARROW_RIGHT, '+', 'l'}, "More",
     "larger value; or type digits"},
    {COMMAND_CANCEL, SCOPE_REVIEW, {KEY_ESCAPE, 'q', KEY_CONTROL('c')}, "Cancel",
     "close the review, send nothing"},

    {COMMAND_ACCEPT, SCOPE_FILTER, {KEY_RETURN}, "Filter", "use the filter"},
    {COMMAND_CANCEL, SCOPE_FILTER, {KEY_ESCAPE, KEY_CONTROL('c')}, "Cancel", "keep the old filter"},
    {COMMAND_BACK, SCOPE_FILTER, {KEY_ERASE}, NULL, "take back a character"},

    {COMMAND_CANCEL, SCOPE_HELP, {KEY_ESCAPE, 'q', '?', F(1)}, "Close", "close the help"},
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
