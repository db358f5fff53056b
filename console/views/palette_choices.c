#include "views/palette_choices.h"

#include "draw/term.h"
#include "views/view_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct choices {
    struct palette_choice *list;
    unsigned count;
    const char *typed; /* what a choice must fit */
};

/* Adds the line "BEFORE NAME AFTER", unless it is longer than a line may be. */
static void put(struct choices *choices, enum palette_fit fit, const char *before, const char *name,
                const char *after, const char *help) {
    if (fit == FIT_NONE || choices->count == PALETTE_CHOICES) {
        return;
    }
    struct palette_choice *choice = &choices->list[choices->count];
    int bytes = snprintf(choice->line, sizeof choice->line, "%s%.80s%s", before, name, after);
    if (bytes < 0 || (size_t)bytes >= sizeof choice->line) {
        return;
    }
    snprintf(choice->help, sizeof choice->help, "%s", help);
    choice->fit = fit;
    choice->place = choices->count++;
}

/* When the name or the help fits. */
static void add(struct choices *choices, const char *before, const char *name, const char *after,
                const char *help) {
    put(choices, palette_fit(choices->typed, name, help), before, name, after, help);
}

/* When the name begins as typed: of numbers and values. */
static void add_begun(struct choices *choices, const char *before, const char *name,
                      const char *help) {
    bool begins = strncasecmp(name, choices->typed, strlen(choices->typed)) == 0;
    put(choices, begins ? FIT_BEGINS : FIT_NONE, before, name, "", help);
}

/* ---- what can be typed first ---- */

/* "undo the last change: opens the review first (F8 u)" */
static void tell_key(const struct key_row *row, const char *words, char help[NOTE_BYTES]) {
    char keys[40];
    snprintf(help, NOTE_BYTES, "%s (%s)", words, key_row_names(row, keys, sizeof keys));
}

static void add_views(struct choices *choices, const struct ui *ui) {
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        const struct key_row *row = palette_key_row(ui, view_list[i]->open);
        char name[40], help[NOTE_BYTES];
        size_t n = 0;
        for (const char *from = view_list[i]->name; *from != '\0' && n + 1 < sizeof name; from++) {
            name[n++] = (char)tolower((unsigned char)*from);
        }
        name[n] = '\0';
        if (row != NULL) { /* what is in it, so that its words find it, without its name */
            const char *behind = strstr(row->help, ": ");
            tell_key(row, behind != NULL ? behind + 2 : row->help, help);
        } else {
            snprintf(help, sizeof help, "the view %s", view_list[i]->name);
        }
        add(choices, "", name, "", help);
    }
}

static void add_words(struct choices *choices, const struct ui *ui) {
    for (unsigned i = 0; i < palette_word_count; i++) {
        const struct palette_word *word = &palette_words[i];
        const struct key_row *row = palette_key_row(ui, word->command);
        char help[NOTE_BYTES];
        if (word->argument != NO_ARGUMENT) {
            add(choices, "", word->word, " ", word->help);
        } else if (row != NULL) {
            tell_key(row, row->help, help);
            add(choices, "", word->word, "", help);
        }
    }
}

/* ---- what stands behind a word ---- */

static void add_columns(struct choices *choices, const struct ui *ui) {
    bool is_in_fleet = view_current(ui) == &fleet_view;
    for (unsigned i = 0; is_in_fleet && i < FLEET_COLUMNS; i++) {
        add(choices, "sort ", fleet_columns[i].head, "", fleet_columns[i].meaning);
    }
    for (unsigned i = 0; !is_in_fleet && i < COLUMN_COUNT; i++) {
        add(choices, "sort ", class_columns[i].name, "", class_columns[i].meaning);
    }
}

/* The column of the last term, while its name is typed. */
static void add_filter(struct choices *choices, const char *rest) {
    const char *last = strrchr(rest, ' ');
    char before[PALETTE_LINE_BYTES];
    last = last != NULL ? last + 1 : rest;
    snprintf(before, sizeof before, "filter %.*s", (int)(last - rest), rest);
    choices->typed = last;
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        add(choices, before, class_columns[i].name, ">", class_columns[i].meaning);
    }
}

static void add_themes(struct choices *choices) {
    for (unsigned i = 0; i < THEME_COUNT; i++) {
        add(choices, "theme ", theme_names[i], "", "colours");
    }
}

static void add_windows(struct choices *choices) {
    static const char *const windows[] = {"1", "10", "100"};
    for (int i = 0; i < 3; i++) {
        add_begun(choices, "window ", windows[i],
                  i == 0 ? "the newest sample" : "a mean over this many seconds");
    }
}

unsigned palette_class(const struct ui *ui) {
    enum scope scope = view_current(ui)->scope;
    return scope == SCOPE_CLASS    ? ui->focus
           : scope == SCOPE_PAGES  ? ui->pages.cursor % CLASS_LIMIT /* the pool is at it */
           : scope == SCOPE_CURVES ? ui->curves.cursor
           : scope == SCOPE_CLASSES || scope == SCOPE_TUNE ? ui->classes.cursor
                                                           : 0;
}

static unsigned list_settings(const struct frame *frame, const struct ui *ui,
                              struct tunable rows[SETTINGS_MOST]) {
    const struct snapshot *now = model_now(frame->model);
    return now != NULL ? settings_list(now, model_answers(frame->model), palette_class(ui), rows)
                       : 0;
}

/* A slated tells its settings when it is asked, which it is while the palette is open. */
static bool is_config_told(const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    return now == NULL || !now->is_slated ||
           model_answers(frame->model)->of[INQUIRY_CONFIG].state != ANSWER_NONE;
}

static void tell_setting(const struct tunable *row, char help[NOTE_BYTES]) {
    if (row->form == FORM_NUMBER) {
        snprintf(help, NOTE_BYTES, "%s: now %.40s, %.7g to %.10g", row->label, row->now, row->least,
                 row->most);
    } else {
        snprintf(help, NOTE_BYTES, "%s: now %.60s", row->label, row->now);
    }
}

static void add_settings(struct choices *choices, const struct frame *frame, const struct ui *ui) {
    static struct tunable rows[SETTINGS_MOST];
    unsigned count = list_settings(frame, ui, rows);
    bool is_told = is_config_told(frame);
    for (unsigned i = 0; i < count; i++) {
        char help[NOTE_BYTES];
        if (rows[i].refusal[0] != '\0') {
            snprintf(help, sizeof help, "%s: %s", rows[i].label,
                     is_told ? rows[i].refusal : "asking the server");
        } else {
            tell_setting(&rows[i], help);
        }
        add(choices, "set ", rows[i].name, " ", help);
    }
}

/* The values of a setting; of a number what is being typed, and its range. */
static void add_values(struct choices *choices, const struct frame *frame, const struct ui *ui,
                       const char *setting) {
    static struct tunable rows[SETTINGS_MOST];
    unsigned count = list_settings(frame, ui, rows), at = 0;
    char help[NOTE_BYTES], before[PALETTE_LINE_BYTES + 8];
    while (at < count && strcmp(rows[at].name, setting) != 0) {
        at++;
    }
    if (at == count) {
        return;
    }
    tell_setting(&rows[at], help);
    snprintf(before, sizeof before, "set %s ", setting);
    for (char *choice = rows[at].choices, *end; *choice != '\0'; choice = end) {
        char name[SETTING_VALUE_BYTES];
        size_t n = strcspn(choice, "|");
        snprintf(name, sizeof name, "%.*s", (int)n, choice);
        end = choice + n + (choice[n] == '|');
        add_begun(choices, before, name, help);
    }
    if (rows[at].choices[0] == '\0') {
        add(choices, before, choices->typed, "", help);
    }
}

static void add_servers(struct choices *choices, const struct frame *frame) {
    for (unsigned i = 0; i < frame->server_count; i++) {
        const char *name = model_server(frame->servers[i].model);
        enum palette_fit fit =
            palette_fit(choices->typed, name, NULL); /* the words are about its health */
        put(choices, fit, "server ", name, "", frame->servers[i].words);
    }
}

static void add_classes(struct choices *choices, const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        char name[12], size[CELL_BYTES], help[NOTE_BYTES];
        if (snapshot_class(now, id)->present) {
            snprintf(name, sizeof name, "%u", id);
            snprintf(help, sizeof help, "chunks of %s bytes",
                     class_column_text(frame->model, id, COLUMN_SIZE, 1000, size));
            add_begun(choices, "class ", name, help);
        }
    }
}

static void add_arguments(struct choices *choices, const struct frame *frame, const struct ui *ui,
                          enum palette_argument argument, const char *rest) {
    struct palette_line behind;
    choices->typed = rest;
    switch (argument) {
    case NO_ARGUMENT:
        break;
    case A_COLUMN:
        add_columns(choices, ui);
        break;
    case A_FILTER:
        add_filter(choices, rest);
        break;
    case A_THEME:
        add_themes(choices);
        break;
    case A_WINDOW:
        add_windows(choices);
        break;
    case A_SETTING:
        behind = palette_split(rest);
        if (behind.rest != NULL) {
            choices->typed = behind.rest;
            add_values(choices, frame, ui, behind.word);
        }
        if (choices->count == 0) { /* words of a setting's name and label */
            choices->typed = rest;
            add_settings(choices, frame, ui);
        }
        break;
    case A_SERVER:
        add_servers(choices, frame);
        break;
    case A_CLASS:
        add_classes(choices, frame);
        break;
    }
}

/* Everything there is, by what is typed of its name or its help. */
static void add_all(struct choices *choices, const struct frame *frame, const struct ui *ui) {
    add_views(choices, ui);
    add_words(choices, ui);
    if (choices->typed[0] != '\0') {
        add_settings(choices, frame, ui);
        add_columns(choices, ui);
        add_themes(choices);
        add_servers(choices, frame);
        add_classes(choices, frame);
    }
}

/* ---- the order ---- */

static int compare(const void *left, const void *right) {
    const struct palette_choice *a = left, *b = right;
    return a->fit != b->fit ? (int)a->fit - (int)b->fit : (int)a->place - (int)b->place;
}

unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]) {
    struct palette_line line = palette_split(ui->palette.typed);
    const struct palette_word *word = palette_word_find(line.word);
    struct choices choices = {.list = out, .typed = ui->palette.typed};
    if (line.rest != NULL && word != NULL) {
        add_arguments(&choices, frame, ui, word->argument, line.rest);
    } else {
        add_all(&choices, frame, ui);
    }
    qsort(out, choices.count, sizeof *out, compare);
    return choices.count;
}
