#include "views/overlay/palette_choices.h"


#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choices {
    struct palette_choice *list;
    unsigned count;
    const char *typed; /* the text that a choice must fit */
};

static const struct {
    const char *name, *help;
    enum command command; /* the key's command, which does the same in steps */
} words[PALETTE_WORDS] = {
    [WORD_SORT] = {"sort", "by a column; again: the other way round", COMMAND_SORT_NEXT},
    [WORD_FILTER] = {"filter", "show some classes: ev>0 size>=1000", COMMAND_FILTER},
    [WORD_WINDOW] = {"window", "rates over 1, 10 or 100 s", COMMAND_WINDOW},
    [WORD_THEME] = {"theme", "colours", COMMAND_THEME},
    [WORD_SET] = {"set", "change a setting: opens the review", COMMAND_NONE},
    [WORD_CLASS] = {"class", "all figures of a class", COMMAND_OPEN_CLASS},
    [WORD_SERVER] = {"server", "open a server of the fleet", COMMAND_OPEN_SERVER},
};

enum palette_word palette_word_of(const char *typed, const char **argument) {
    size_t bytes = strcspn(typed, " ");
    int word = 0;
    while (word < PALETTE_WORDS &&
           (strlen(words[word].name) != bytes || memcmp(words[word].name, typed, bytes) != 0)) {
        word++;
    }
    *argument = typed[bytes] == ' ' ? typed + bytes + strspn(typed + bytes, " ") : NULL;
    return (enum palette_word)word;
}

/* How a choice fits. A single letter must begin the name: nearly every text contains it. */
static enum palette_fit choices_fit_of(const char *typed, const char *name, const char *help) {
    enum palette_fit fit = FIT_NAME;
    if (strncasecmp(name, typed, strlen(typed)) == 0) {
        return FIT_BEGINS;
    }
    for (typed += strspn(typed, " "); *typed != '\0'; typed += strspn(typed, " ")) {
        char word[PALETTE_LINE_BYTES];
        int bytes = (int)strcspn(typed, " ");
        snprintf(word, sizeof word, "%.*s", bytes, typed);
        typed += bytes;
        if (bytes == 1 ? tolower((unsigned char)name[0]) != tolower((unsigned char)word[0])
                       : strcasestr(name, word) == NULL) {
            if (bytes == 1 || strcasestr(help, word) == NULL) {
                return FIT_NONE;
            }
            fit = FIT_HELP;
        }
    }
    return fit;
}

/* Adds the line "BEFORE NAME AFTER" when the name or the help fits; NULL when it does not. */
static struct palette_choice *choices_add(struct choices *choices, const char *before,
                                          const char *name, const char *after, const char *help) {
    enum palette_fit fit = choices_fit_of(choices->typed, name, help);
    if (fit == FIT_NONE || choices->count == PALETTE_CHOICES) {
        return NULL;
    }
    struct palette_choice *choice = &choices->list[choices->count];
    *choice = (struct palette_choice){.fit = fit, .place = choices->count};
    int bytes = snprintf(choice->line, sizeof choice->line, "%s%.80s%s", before, name, after);
    snprintf(choice->help, sizeof choice->help, "%s", help);
    choices->count += (size_t)bytes < sizeof choice->line; /* a longer line could not be typed */
    return choice;
}

/* ---- the first word of a line ---- */

/* Adds a key. Its name is that of the key bar, or the first words of its help. */
static void choices_add_key(struct choices *choices, const struct key_row *row) {
    char name[NOTE_BYTES], help[NOTE_BYTES], keys[40];
    size_t bytes = strcspn(row->help, ":;,");
    const char *tail = row->help[bytes] != '\0' ? row->help + bytes + 2 : "";
    snprintf(name, sizeof name, "%.*s", (int)bytes, row->help);
    if (row->bar != NULL) {
        snprintf(name, sizeof name, "%s", row->bar);
        name[0] = (char)tolower((unsigned char)name[0]);
        tail = row->help;
    }
    snprintf(help, sizeof help, "%s%s(%s)", tail, *tail != '\0' ? " " : "",
             key_row_names(row, keys, sizeof keys));
    struct palette_choice *choice = choices_add(choices, "", name, "", help);
    if (choice != NULL) {
        choice->command = row->command;
    }
}

/* Adds the keys of the view, without those that move through a list or that a word replaces. */
static void choices_add_keys(struct choices *choices, const struct ui *ui) {
    unsigned scope = (unsigned)view_current(ui)->scope;
    for (unsigned i = 0; i < key_row_count; i++) {
        enum command command = key_rows[i].command;
        bool is_listed = (key_rows[i].scopes & scope) && key_move_rows(command, 1) == 0 &&
                         command != COMMAND_PALETTE;
        for (int word = 0; word < PALETTE_WORDS; word++) {
            is_listed = is_listed && words[word].command != command;
        }
        /* a view may have two keys */
        if (is_listed && (i == 0 || key_rows[i - 1].command != command)) {
            choices_add_key(choices, &key_rows[i]);
        }
    }
}

/* ---- the argument of a word ---- */

static void choices_add_columns(struct choices *choices, const struct ui *ui) {
    bool is_in_fleet = view_current(ui) == &fleet_view;
    for (unsigned i = 0; is_in_fleet && i < FLEET_COLUMNS; i++) {
        choices_add(choices, "sort ", fleet_columns[i].head, "", fleet_columns[i].meaning);
    }
    for (unsigned i = 0; !is_in_fleet && i < COLUMN_COUNT; i++) {
        choices_add(choices, "sort ", class_columns[i].name, "", class_columns[i].meaning);
    }
}

/* Adds columns for the last term, while its column is typed. */
static void choices_add_filter(struct choices *choices, const char *argument) {
    const char *last = strrchr(argument, ' ');
    char before[PALETTE_LINE_BYTES];
    last = last != NULL ? last + 1 : argument;
    snprintf(before, sizeof before, "filter %.*s", (int)(last - argument), argument);
    choices->typed = last;
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        choices_add(choices, before, class_columns[i].name, ">", class_columns[i].meaning);
    }
}

static void choices_add_themes(struct choices *choices) {
    for (unsigned i = 0; i < THEME_COUNT; i++) {
        choices_add(choices, "theme ", cells_themes[i], "", words[WORD_THEME].help);
    }
}

unsigned palette_class(const struct ui *ui) {
    enum scope scope = view_current(ui)->scope;
    return scope == SCOPE_CLASS    ? ui->focus
           : scope == SCOPE_PAGES  ? ui->pages.cursor % CLASS_LIMIT /* 0 for the pool */
           : scope == SCOPE_CURVES ? ui->curves.cursor
           : scope == SCOPE_CLASSES || scope == SCOPE_TUNE ? ui->classes.cursor
                                                           : 0;
}

static void choices_note_setting(const struct tunable *row, bool is_known, char help[NOTE_BYTES]) {
    if (row->refusal[0] != '\0') {
        snprintf(help, NOTE_BYTES, "%s: %s", row->label,
                 is_known ? row->refusal : "waiting for the server");
    } else if (row->form == FORM_NUMBER) {
        snprintf(help, NOTE_BYTES, "%s: now %.40s, %.7g to %.10g", row->label, row->now, row->least,
                 row->most);
    } else {
        snprintf(help, NOTE_BYTES, "%s: now %.60s", row->label, row->now);
    }
}

/* Adds the values of a setting; for a number the typed text. */
static void choices_add_values(struct choices *choices, const struct tunable *row,
                               const char *value, const char *help) {
    char before[PALETTE_LINE_BYTES];
    snprintf(before, sizeof before, "set %.100s ", row->name);
    choices->typed = value;
    if (row->choices[0] == '\0') {
        choices_add(choices, before, value, "", help);
    }
    for (const char *choice = row->choices; *choice != '\0';) {
        char name[SETTING_VALUE_BYTES];
        size_t bytes = strcspn(choice, "|");
        snprintf(name, sizeof name, "%.*s", (int)bytes, choice);
        choice += bytes + (choice[bytes] == '|');
        if (strncasecmp(name, value, strlen(value)) == 0) {
            choices_add(choices, before, name, "", help);
        }
    }
}

/* Adds the settings; after `set`, a name and a blank, the values of that setting. slated reports
 * its settings only on request; an open palette requests them. */
static void choices_add_settings(struct choices *choices, const struct frame *frame,
                                 const struct ui *ui, bool is_behind_set) {
    static struct tunable rows[SETTINGS_MOST];
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL) {
        return;
    }
    const struct answers *answers = model_answers(frame->model);
    unsigned count = settings_list(now, answers, palette_class(ui), rows);
    bool is_known = !now->is_slated || answers->of[INQUIRY_CONFIG].state != ANSWER_NONE;
    const char *typed = choices->typed;
    size_t name_bytes = strcspn(typed, " ");
    for (unsigned i = 0; i < count; i++) {
        char help[NOTE_BYTES];
        choices_note_setting(&rows[i], is_known, help);
        bool is_named = is_behind_set && typed[name_bytes] == ' ' &&
                        strlen(rows[i].name) == name_bytes &&
                        memcmp(rows[i].name, typed, name_bytes) == 0;
        if (is_named) {
            choices_add_values(choices, &rows[i], typed + name_bytes + 1, help);
            choices->typed = typed;
        } else {
            choices_add(choices, "set ", rows[i].name, " ", help);
        }
    }
}

static void choices_add_servers(struct choices *choices, const struct frame *frame) {
    for (unsigned i = 0; i < frame->server_count; i++) {
        const char *name = model_server(frame->servers[i].model);
        if (strcasestr(name, choices->typed) != NULL) { /* its words, on health, are not searched */
            choices_add(choices, "server ", name, "", frame->servers[i].words);
        }
    }
}

static void choices_add_classes(struct choices *choices, const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        char name[12], size[CELL_BYTES], help[NOTE_BYTES];
        snprintf(name, sizeof name, "%u", id);
        if (snapshot_class(now, id)->present &&
            strncmp(name, choices->typed, strlen(choices->typed)) == 0) {
            snprintf(help, sizeof help, "chunks of %s bytes",
                     class_column_text(frame->model, id, COLUMN_SIZE, 1000, size));
            choices_add(choices, "class ", name, "", help);
        }
    }
}

static void choices_add_arguments(struct choices *choices, const struct frame *frame,
                                  const struct ui *ui, enum palette_word word,
                                  const char *argument) {
    choices->typed = argument;
    switch (word) {
    case WORD_SORT:
        choices_add_columns(choices, ui);
        break;
    case WORD_FILTER:
        choices_add_filter(choices, argument);
        break;
    case WORD_WINDOW:
        choices_add(choices, "window ", "1", "", "the newest sample");
        choices_add(choices, "window ", "10", "", "a mean over this many seconds");
        choices_add(choices, "window ", "100", "", "a mean over this many seconds");
        break;
    case WORD_THEME:
        choices_add_themes(choices);
        break;
    case WORD_SET:
        choices_add_settings(choices, frame, ui, true);
        break;
    case WORD_CLASS:
        choices_add_classes(choices, frame);
        break;
    case WORD_SERVER:
        choices_add_servers(choices, frame);
        break;
    case PALETTE_WORDS:
        break;
    }
}

/* Adds all choices whose name or help fits the typed text. */
static void choices_add_all(struct choices *choices, const struct frame *frame,
                            const struct ui *ui) {
    choices_add_keys(choices, ui);
    for (int word = 0; word < PALETTE_WORDS; word++) {
        choices_add(choices, "", words[word].name, " ", words[word].help);
    }
    if (choices->typed[0] != '\0') {
        choices_add_settings(choices, frame, ui, false);
        choices_add_columns(choices, ui);
        choices_add_themes(choices);
        choices_add_servers(choices, frame);
        choices_add_classes(choices, frame);
    }
}

static int choices_compare(const void *left, const void *right) {
    const struct palette_choice *a = left, *b = right;
    return a->fit != b->fit ? (int)a->fit - (int)b->fit : (int)a->place - (int)b->place;
}

unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]) {
    const char *typed = ui->palette.typed + strspn(ui->palette.typed, " "), *argument;
    enum palette_word word = palette_word_of(typed, &argument);
    struct choices choices = {.list = out, .typed = typed};
    if (word != PALETTE_WORDS && argument != NULL) {
        choices_add_arguments(&choices, frame, ui, word, argument);
    } else {
        choices_add_all(&choices, frame, ui);
    }
    qsort(out, choices.count, sizeof *out, choices_compare);
    return choices.count;
}
