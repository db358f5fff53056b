#include "views/palette.h"

#include "draw/term.h"
#include "views/view_list.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 10, HELP_X = 34, ARGUMENT_BYTES = 100 };

enum argument { NO_ARGUMENT, A_COLUMN, A_FILTER, A_THEME, A_WINDOW, A_SETTING, A_SERVER, A_CLASS };

/* Words for commands that take no argument; their help is that of the key. The names of views are
 * words, too. */
static const struct {
    const char *word;
    enum command command;
} plain_words[] = {
    {"help", COMMAND_HELP},
    {"explain", COMMAND_EXPLAIN},
    {"why", COMMAND_WHY},
    {"move", COMMAND_MOVE_PAGES},
    {"automove", COMMAND_AUTOMOVE},
    {"review", COMMAND_REVIEW},
    {"undo", COMMAND_UNDO},
    {"redo", COMMAND_REDO},
    {"keep", COMMAND_KEEP_TRIAL},
    {"mark-source", COMMAND_MARK_SOURCE},
    {"columns", COMMAND_COLUMNS},
    {"idle-classes", COMMAND_IDLE_ROWS},
    {"reverse", COMMAND_SORT_REVERSE},
    {"cells", COMMAND_CELL_MODE},
    {"watch", COMMAND_STREAMS},
    {"record", COMMAND_RECORD},
    {"pause", COMMAND_PAUSE},
    {"live", COMMAND_LIVE},
    {"back", COMMAND_TIME_BACK},
    {"forward", COMMAND_TIME_ON},
    {"minute-back", COMMAND_MINUTE_BACK},
    {"minute-forward", COMMAND_MINUTE_ON},
    {"event-before", COMMAND_EVENT_BEFORE},
    {"event-after", COMMAND_EVENT_AFTER},
    {"mark", COMMAND_MARK_MOMENT},
    {"mouse", COMMAND_MOUSE},
    {"redraw", COMMAND_REDRAW},
    {"suspend", COMMAND_SUSPEND},
    {"quit", COMMAND_QUIT},
};
enum { PLAIN_WORDS = sizeof plain_words / sizeof *plain_words };

/* Words that take an argument, and the commands that do the same a step at a time. */
static const struct {
    const char *word, *help;
    enum argument argument;
    enum command command;
} argument_words[] = {
    {"sort", "by a column; again: the other way round", A_COLUMN, COMMAND_SORT_NEXT},
    {"filter", "show some classes: ev>0 size>=1000", A_FILTER, COMMAND_FILTER},
    {"window", "rates over so many seconds", A_WINDOW, COMMAND_WINDOW},
    {"theme", "colours", A_THEME, COMMAND_THEME},
    {"set", "change a setting: opens the review", A_SETTING, COMMAND_NONE},
    {"class", "all there is to know of a class", A_CLASS, COMMAND_OPEN_CLASS},
    {"server", "open a server of the fleet", A_SERVER, COMMAND_OPEN_SERVER},
};
enum { ARGUMENT_WORDS = sizeof argument_words / sizeof *argument_words };

void palette_open(struct ui *ui) {
    ui->palette = (struct palette_ui){.is_open = true};
}

bool palette_knows(enum command command) {
    bool knows = false;
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        knows |= view_list[i]->open == command;
    }
    for (int i = 0; i < PLAIN_WORDS; i++) {
        knows |= plain_words[i].command == command;
    }
    for (int i = 0; i < ARGUMENT_WORDS; i++) {
        knows |= argument_words[i].command == command;
    }
    return knows;
}

/* ---- what is typed ---- */

struct line {
    char word[PALETTE_LINE_BYTES];
    const char *rest; /* behind the word; NULL while the word is still typed */
};

static struct line split(const char *typed) {
    struct line line = {.rest = NULL};
    typed += strspn(typed, " ");
    size_t n = strcspn(typed, " ");
    snprintf(line.word, sizeof line.word, "%.*s", (int)n, typed);
    if (typed[n] == ' ') {
        line.rest = typed + n + strspn(typed + n, " ");
    }
    return line;
}

static void lower(char out[40], const char *name) {
    size_t i = 0;
    for (; name[i] != '\0' && i + 1 < 40; i++) {
        out[i] = (char)tolower((unsigned char)name[i]);
    }
    out[i] = '\0';
}

/* The argument word that it is; -1 for none. */
static int argument_word(const char *word) {
    for (int i = 0; i < ARGUMENT_WORDS; i++) {
        if (strcmp(argument_words[i].word, word) == 0) {
            return i;
        }
    }
    return -1;
}

/* The row of a command's key in this view; NULL when it has none there. */
static const struct key_row *row_of(const struct ui *ui, enum command command) {
    for (unsigned i = 0; i < key_row_count; i++) {
        if (key_rows[i].command == command &&
            (key_rows[i].scopes & (unsigned)view_current(ui)->scope)) {
            return &key_rows[i];
        }
    }
    return NULL;
}

/* ---- choices ---- */

struct choices {
    struct palette_choice *list;
    unsigned count;
    const char *begin; /* what a choice begins with */
};

/* Adds "BEFORE NAME" when the name begins as typed. */
static void add(struct choices *choices, const char *before, const char *name, const char *after,
                const char *help) {
    if (choices->count < PALETTE_CHOICES &&
        strncasecmp(name, choices->begin, strlen(choices->begin)) == 0) {
        struct palette_choice *choice = &choices->list[choices->count++];
        snprintf(choice->line, sizeof choice->line, "%s%.80s%s", before, name, after);
        snprintf(choice->help, sizeof choice->help, "%s", help);
    }
}

static void add_words(struct choices *choices, const struct ui *ui) {
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        const struct key_row *row = row_of(ui, view_list[i]->open);
        char name[40], key[KEY_NAME_BYTES], help[NOTE_BYTES];
        lower(name, view_list[i]->name);
        snprintf(help, sizeof help, "the view %s%s%s", view_list[i]->name,
                 row != NULL ? ", key " : "", row != NULL ? key_label(row->keys[0], key) : "");
        add(choices, "", name, "", help);
    }
    for (int i = 0; i < PLAIN_WORDS; i++) {
        const struct key_row *row = row_of(ui, plain_words[i].command);
        char help[NOTE_BYTES], keys[40];
        if (row != NULL) {
            snprintf(help, sizeof help, "%s (%s)", row->help,
                     key_row_names(row, keys, sizeof keys));
            add(choices, "", plain_words[i].word, "", help);
        }
    }
    for (int i = 0; i < ARGUMENT_WORDS; i++) {
        add(choices, "", argument_words[i].word, " ", argument_words[i].help);
    }
}

static bool is_in_fleet(const struct ui *ui) {
    return view_current(ui) == &fleet_view;
}

static void add_columns(struct choices *choices, const struct ui *ui) {
    for (unsigned i = 0; is_in_fleet(ui) && i < FLEET_COLUMNS; i++) {
        add(choices, "sort ", fleet_columns[i].head, "", fleet_columns[i].meaning);
    }
    for (unsigned i = 0; !is_in_fleet(ui) && i < COLUMN_COUNT; i++) {
        add(choices, "sort ", class_columns[i].name, "", class_columns[i].meaning);
    }
}

/* The column of the last term, while its name is typed. */
static void add_filter(struct choices *choices, const char *rest) {
    const char *last = strrchr(rest, ' ');
    char before[PALETTE_LINE_BYTES];
    last = last != NULL ? last + 1 : rest;
    snprintf(before, sizeof before, "filter %.*s", (int)(last - rest), rest);
    choices->begin = last;
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        add(choices, before, class_columns[i].name, ">", class_columns[i].meaning);
    }
}

/* Its name; then its value. */
static void add_settings(struct choices *choices, const struct frame *frame, const struct ui *ui,
                         const char *rest) {
    static struct tunable rows[SETTINGS_MOST];
    const struct snapshot *now = model_now(frame->model);
    unsigned count =
        now != NULL ? settings_list(now, model_answers(frame->model), ui->classes.cursor, rows) : 0;
    struct line line = split(rest);
    for (unsigned i = 0; i < count; i++) {
        char help[NOTE_BYTES], before[PALETTE_LINE_BYTES];
        bool is_name = strcmp(rows[i].name, line.word) == 0;
        if (rows[i].form == FORM_NUMBER) {
            snprintf(help, sizeof help, "%s: now %.40s, %.7g to %.10g", rows[i].label, rows[i].now,
                     rows[i].least, rows[i].most);
        } else {
            snprintf(help, sizeof help, "%s: now %.60s", rows[i].label, rows[i].now);
        }
        if (line.rest == NULL) {
            choices->begin = line.word;
            add(choices, "set ", rows[i].name, " ",
                rows[i].refusal[0] != '\0' ? rows[i].refusal : help);
            continue;
        }
        snprintf(before, sizeof before, "set %s ", rows[i].name);
        choices->begin = line.rest;
        for (char *choice = rows[i].choices, *end; is_name && *choice != '\0'; choice = end) {
            char name[SETTING_VALUE_BYTES];
            size_t n = strcspn(choice, "|");
            snprintf(name, sizeof name, "%.*s", (int)n, choice);
            end = choice + n + (choice[n] == '|');
            add(choices, before, name, "", help);
        }
        if (is_name && rows[i].choices[0] == '\0') {
            choices->begin = "";
            add(choices, before, line.rest, "", help); /* what is to be typed, and its range */
        }
    }
}

static void add_classes(struct choices *choices, const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        char name[12], size[CELL_BYTES], help[NOTE_BYTES];
        if (now->classes[id].present) {
            snprintf(name, sizeof name, "%u", id);
            snprintf(help, sizeof help, "chunks of %s bytes",
                     class_column_text(frame->model, id, COLUMN_SIZE, 1000, size));
            add(choices, "class ", name, "", help);
        }
    }
}

static void add_arguments(struct choices *choices, const struct frame *frame, const struct ui *ui,
                          enum argument argument, const char *rest) {
    static const char *const windows[] = {"1", "10", "100"};
    choices->begin = rest;
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
        for (unsigned i = 0; i < THEME_COUNT; i++) {
            add(choices, "theme ", theme_names[i], "", "");
        }
        break;
    case A_WINDOW:
        for (int i = 0; i < 3; i++) {
            add(choices, "window ", windows[i], "",
                i == 0 ? "the newest sample" : "a mean over so many seconds");
        }
        break;
    case A_SETTING:
        add_settings(choices, frame, ui, rest);
        break;
    case A_SERVER:
        for (unsigned i = 0; i < frame->server_count; i++) {
            add(choices, "server ", model_server(frame->servers[i].model), "",
                frame->servers[i].words);
        }
        break;
    case A_CLASS:
        add_classes(choices, frame);
        break;
    }
}

unsigned palette_choices(const struct frame *frame, const struct ui *ui,
                         struct palette_choice out[PALETTE_CHOICES]) {
    struct line line = split(ui->palette.typed);
    struct choices choices = {.list = out, .begin = line.word};
    int word = argument_word(line.word);
    if (line.rest == NULL) {
        add_words(&choices, ui);
    } else if (word >= 0) {
        add_arguments(&choices, frame, ui, argument_words[word].argument, line.rest);
    }
    return choices.count;
}

/* ---- drawing ---- */

void palette_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    static struct palette_choice list[PALETTE_CHOICES];
    unsigned count = palette_choices(frame, ui, list);
    unsigned room = cells->height - 6 < SHOWN_MOST ? (unsigned)(cells->height - 6) : SHOWN_MOST;
    unsigned shown = count < room ? count : room;
    ui->palette.choice = ui->palette.choice < count ? ui->palette.choice
                         : count > 0                ? count - 1
                                                    : 0;
    unsigned top = ui->palette.choice < shown ? 0 : ui->palette.choice - shown + 1;
    bool has_why = ui->palette.why[0] != '\0';
    int y = cells->height - 2 - has_why - (int)shown - 1;
    char title[80];
    if (count == 0) {
        snprintf(title, sizeof title, "no command begins so");
    } else if (count > shown) {
        snprintf(title, sizeof title, "%u of %u choices, Down shows more", shown, count);
    } else {
        snprintf(title, sizeof title, "%u choice%s", count, count == 1 ? "" : "s");
    }
    cells_fill(cells, (struct rect){y, 0, (int)shown + 2 + has_why, cells->width}, ' ',
               STYLE_PLAIN);
    cells_rule(cells, y++, 0, cells->width, title);
    for (unsigned i = top; i < top + shown; i++, y++) {
        cells_text_fit(cells, y, 1, HELP_X - 2, STYLE_STRONG, list[i].line);
        cells_text_fit(cells, y, HELP_X, cells->width - HELP_X, STYLE_PLAIN, list[i].help);
        if (i == ui->palette.choice) {
            cells_select(cells, y, 0, cells->width);
        }
    }
}

/* ---- keys ---- */

static struct intent sorted(struct ui *ui, const char *name) {
    for (unsigned i = 0; is_in_fleet(ui) && i < FLEET_COLUMNS; i++) {
        if (strcasecmp(fleet_columns[i].head, name) == 0) {
            fleet_view.click(ui, HOT_SORT, i);
            return (struct intent){0};
        }
    }
    for (unsigned i = 0; !is_in_fleet(ui) && i < COLUMN_COUNT; i++) {
        if (strcasecmp(class_columns[i].name, name) == 0) {
            classes_view.click(ui, HOT_SORT, i);
            return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
        }
    }
    return say("there is no column '%.40s'", name);
}

static struct intent filtered(struct ui *ui, const char *text) {
    struct class_table_ui *table = &ui->classes;
    char why[120];
    if (!class_filter_check(text, why, sizeof why)) {
        return say("%s", why);
    }
    snprintf(table->filter, sizeof table->filter, "%.*s", FILTER_BYTES - 1, text);
    return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
}

static struct intent themed(const char *name) {
    for (unsigned i = 0; i < THEME_COUNT; i++) {
        if (strcasecmp(theme_names[i], name) == 0) {
            return (struct intent){.kind = INTENT_THEME, .theme = i};
        }
    }
    return say("there is no theme '%.40s'", name);
}

static struct intent windowed(struct ui *ui, const char *seconds) {
    int window_s = atoi(seconds);
    if (window_s != 1 && window_s != 10 && window_s != 100) {
        return say("rates are over 1, 10 or 100 s, not '%.40s'", seconds);
    }
    ui->classes.window_ms = (uint64_t)window_s * 1000;
    return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
}

static struct intent set(const struct frame *frame, const struct ui *ui, const char *rest) {
    struct line line = split(rest);
    char value[SETTING_VALUE_BYTES], why[NOTE_BYTES];
    if (line.rest == NULL || line.rest[0] == '\0') {
        return say("set takes a setting and its new value: set slab_automove 1");
    }
    bool is_of_class = strcmp(line.word, "class_policy") == 0;
    snprintf(value, sizeof value, is_of_class ? "%.100s %u" : "%.150s", line.rest,
             ui->classes.cursor);
    struct action action = action_set(line.word, value);
    if (!action_check(&action, frame->model, why, sizeof why)) {
        return say("%s", why);
    }
    return review_of(action);
}

static struct intent classed(const struct frame *frame, struct ui *ui, const char *number) {
    const struct snapshot *now = model_now(frame->model);
    char *end;
    unsigned long id = strtoul(number, &end, 10);
    if (end == number || *end != '\0' || id == 0 || id >= CLASS_LIMIT || now == NULL ||
        !now->classes[id].present) {
        return say("there is no class '%.20s'", number);
    }
    class_open(ui, (unsigned)id);
    return (struct intent){0};
}

static struct intent served(const struct frame *frame, const char *name) {
    for (unsigned i = 0; i < frame->server_count; i++) {
        if (strcmp(model_server(frame->servers[i].model), name) == 0) {
            return (struct intent){.kind = INTENT_OPEN_SERVER, .server = frame->servers[i].server};
        }
    }
    return say("no server '%.80s' is watched", name);
}

static struct intent with_argument(const struct frame *frame, struct ui *ui, int word,
                                   const char *rest) {
    enum argument argument = argument_words[word].argument;
    if (rest[0] == '\0' && argument != A_FILTER) {
        return say("%s takes one word more: %s", argument_words[word].word,
                   argument_words[word].help);
    }
    switch (argument) {
    case NO_ARGUMENT:
        break;
    case A_COLUMN:
        return sorted(ui, rest);
    case A_FILTER:
        return filtered(ui, rest);
    case A_THEME:
        return themed(rest);
    case A_WINDOW:
        return windowed(ui, rest);
    case A_SETTING:
        return set(frame, ui, rest);
    case A_SERVER:
        return served(frame, rest);
    case A_CLASS:
        return classed(frame, ui, rest);
    }
    return (struct intent){0};
}

/* What a whole line wants done. */
static struct intent run(const struct frame *frame, struct ui *ui, const char *typed) {
    char text[PALETTE_LINE_BYTES], name[40];
    size_t bytes = strlen(typed);
    while (bytes > 0 && typed[bytes - 1] == ' ') {
        bytes--;
    }
    snprintf(text, sizeof text, "%.*s", (int)bytes, typed);
    struct line line = split(text);
    int word = argument_word(line.word);
    if (word >= 0) {
        return with_argument(frame, ui, word, line.rest != NULL ? line.rest : "");
    }
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        lower(name, view_list[i]->name);
        if (strcmp(name, line.word) == 0) {
            return (struct intent){.kind = INTENT_COMMAND, .command = view_list[i]->open};
        }
    }
    for (int i = 0; i < PLAIN_WORDS; i++) {
        bool is_word = strcmp(plain_words[i].word, line.word) == 0;
        if (is_word && row_of(ui, plain_words[i].command) == NULL) {
            return say("%s does nothing in %s", line.word, view_current(ui)->name);
        } else if (is_word) {
            return (struct intent){.kind = INTENT_COMMAND, .command = plain_words[i].command};
        }
    }
    return say("there is no command '%.40s': Tab completes", line.word);
}

/* Enter takes a line that is whole as it stands, else the choice that is marked. */
static struct intent take(const struct frame *frame, struct ui *ui) {
    static struct palette_choice list[PALETTE_CHOICES];
    struct palette_ui *palette = &ui->palette;
    unsigned count = palette_choices(frame, ui, list);
    struct intent intent = run(frame, ui, palette->typed);
    bool has_choice = count > 0 && palette->choice < count &&
                      strcmp(list[palette->choice].line, palette->typed) != 0;
    if (intent.kind == INTENT_SAY && has_choice) {
        const char *chosen = list[palette->choice].line;
        snprintf(palette->typed, sizeof palette->typed, "%s", chosen);
        /* an argument is to follow */
        if (chosen[strlen(chosen) - 1] == ' ' || chosen[strlen(chosen) - 1] == '>') {
            palette->choice = 0;
            return (struct intent){0};
        }
        intent = run(frame, ui, chosen);
    }
    if (intent.kind == INTENT_SAY) { /* typing goes on, with the reason above */
        snprintf(palette->why, sizeof palette->why, "%s", intent.text);
        return (struct intent){0};
    }
    palette->is_open = false;
    return intent;
}

static void complete(const struct frame *frame, struct ui *ui) {
    static struct palette_choice list[PALETTE_CHOICES];
    struct palette_ui *palette = &ui->palette;
    unsigned count = palette_choices(frame, ui, list);
    if (palette->choice < count) {
        snprintf(palette->typed, sizeof palette->typed, "%s", list[palette->choice].line);
        palette->choice = 0;
    }
}

struct intent palette_command(const struct frame *frame, struct ui *ui, enum command command,
                              uint32_t key) {
    struct palette_ui *palette = &ui->palette;
    size_t length = strlen(palette->typed);
    palette->why[0] = '\0';
    switch (command) {
    case COMMAND_ACCEPT:
        return take(frame, ui);
    case COMMAND_CANCEL:
        palette->is_open = false;
        break;
    case COMMAND_COMPLETE:
        complete(frame, ui);
        break;
    case COMMAND_UP:
    case COMMAND_DOWN:
        palette->choice = list_step(palette->choice, command_rows(command, 1), PALETTE_CHOICES);
        break;
    case COMMAND_BACK:
        palette->is_open = length > 0;
        palette->typed[length > 0 ? length - 1 : 0] = '\0';
        palette->choice = 0;
        break;
    default:
        if (key >= ' ' && key <= '~' && length + 1 < sizeof palette->typed) {
            palette->typed[length] = (char)key;
            palette->typed[length + 1] = '\0';
            palette->choice = 0;
        }
        break;
    }
    return (struct intent){0};
}
