#include "views/palette_words.h"

#include "views/view_list.h"

#include <stdio.h>
#include <string.h>

const struct palette_word palette_words[] = {
    {"help", NO_ARGUMENT, COMMAND_HELP, NULL},
    {"explain", NO_ARGUMENT, COMMAND_EXPLAIN, NULL},
    {"why", NO_ARGUMENT, COMMAND_WHY, NULL},
    {"move", NO_ARGUMENT, COMMAND_MOVE_PAGES, NULL},
    {"automove", NO_ARGUMENT, COMMAND_AUTOMOVE, NULL},
    {"review", NO_ARGUMENT, COMMAND_REVIEW, NULL},
    {"undo", NO_ARGUMENT, COMMAND_UNDO, NULL},
    {"redo", NO_ARGUMENT, COMMAND_REDO, NULL},
    {"keep", NO_ARGUMENT, COMMAND_KEEP_TRIAL, NULL},
    {"mark-source", NO_ARGUMENT, COMMAND_MARK_SOURCE, NULL},
    {"mark-server", NO_ARGUMENT, COMMAND_MARK_SERVER, NULL},
    {"columns", NO_ARGUMENT, COMMAND_COLUMNS, NULL},
    {"idle-classes", NO_ARGUMENT, COMMAND_IDLE_ROWS, NULL},
    {"reverse", NO_ARGUMENT, COMMAND_SORT_REVERSE, NULL},
    {"cells", NO_ARGUMENT, COMMAND_CELL_MODE, NULL},
    {"watch", NO_ARGUMENT, COMMAND_STREAMS, NULL},
    {"record", NO_ARGUMENT, COMMAND_RECORD, NULL},
    {"pause", NO_ARGUMENT, COMMAND_PAUSE, NULL},
    {"live", NO_ARGUMENT, COMMAND_LIVE, NULL},
    {"back", NO_ARGUMENT, COMMAND_TIME_BACK, NULL},
    {"forward", NO_ARGUMENT, COMMAND_TIME_ON, NULL},
    {"minute-back", NO_ARGUMENT, COMMAND_MINUTE_BACK, NULL},
    {"minute-forward", NO_ARGUMENT, COMMAND_MINUTE_ON, NULL},
    {"event-before", NO_ARGUMENT, COMMAND_EVENT_BEFORE, NULL},
    {"event-after", NO_ARGUMENT, COMMAND_EVENT_AFTER, NULL},
    {"mark", NO_ARGUMENT, COMMAND_MARK_MOMENT, NULL},
    {"mouse", NO_ARGUMENT, COMMAND_MOUSE, NULL},
    {"redraw", NO_ARGUMENT, COMMAND_REDRAW, NULL},
    {"suspend", NO_ARGUMENT, COMMAND_SUSPEND, NULL},
    {"quit", NO_ARGUMENT, COMMAND_QUIT, NULL},
    {"sort", A_COLUMN, COMMAND_SORT_NEXT, "by a column; again: the other way round"},
    {"filter", A_FILTER, COMMAND_FILTER, "show some classes: ev>0 size>=1000"},
    {"window", A_WINDOW, COMMAND_WINDOW, "rates over 1, 10 or 100 s"},
    {"theme", A_THEME, COMMAND_THEME, "colours"},
    {"set", A_SETTING, COMMAND_NONE, "change a setting: opens the review"},
    {"class", A_CLASS, COMMAND_OPEN_CLASS, "all figures of a class"},
    {"server", A_SERVER, COMMAND_OPEN_SERVER, "open a server of the fleet"},
};
const unsigned palette_word_count = sizeof palette_words / sizeof *palette_words;

const struct palette_word *palette_word_find(const char *word) {
    for (unsigned i = 0; i < palette_word_count; i++) {
        if (strcmp(palette_words[i].word, word) == 0) {
            return &palette_words[i];
        }
    }
    return NULL;
}

const struct view *palette_view_find(const char *name) {
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        if (strcasecmp(view_list[i]->name, name) == 0) {
            return view_list[i];
        }
    }
    return NULL;
}

const struct key_row *palette_key_row(const struct ui *ui, enum command command) {
    unsigned scope = (unsigned)view_current(ui)->scope;
    for (unsigned i = 0; i < key_row_count; i++) {
        if (key_rows[i].command == command && (key_rows[i].scopes & scope)) {
            return &key_rows[i];
        }
    }
    return NULL;
}

bool palette_knows(enum command command) {
    bool knows = false;
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        knows |= view_list[i]->open == command;
    }
    for (unsigned i = 0; i < palette_word_count; i++) {
        knows |= palette_words[i].command == command;
    }
    return knows;
}

struct palette_line palette_split(const char *typed) {
    struct palette_line line = {.rest = NULL};
    typed += strspn(typed, " ");
    size_t n = strcspn(typed, " ");
    snprintf(line.word, sizeof line.word, "%.*s", (int)n, typed);
    if (typed[n] == ' ') {
        line.rest = typed + n + strspn(typed + n, " ");
    }
    return line;
}
