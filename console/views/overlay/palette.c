#include "views/overlay/palette.h"

#include "views/review/marked.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MOST = 10, HELP_X = 34 };

void palette_open(struct ui *ui) {
    ui->palette = (struct palette_ui){.is_open = true};
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
        snprintf(title, sizeof title, "nothing matches");
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

static struct intent palette_sort_by(struct ui *ui, const char *name) {
    bool is_in_fleet = view_current(ui) == &fleet_view;
    for (unsigned i = 0; is_in_fleet && i < FLEET_COLUMNS; i++) {
        if (strcasecmp(fleet_columns[i].head, name) == 0) {
            fleet_view.click(ui, HOT_SORT, i);
            return (struct intent){0};
        }
    }
    for (unsigned i = 0; !is_in_fleet && i < COLUMN_COUNT; i++) {
        if (strcasecmp(class_columns[i].name, name) == 0) {
            classes_view.click(ui, HOT_SORT, i);
            return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
        }
    }
    return view_say("there is no column '%.40s'", name);
}

static struct intent palette_filter_by(struct ui *ui, const char *text) {
    struct class_table_ui *table = &ui->classes;
    char why[120];
    if (!class_filter_check(text, why, sizeof why)) {
        return view_say("%s", why);
    }
    snprintf(table->filter, sizeof table->filter, "%.*s", FILTER_BYTES - 1, text);
    return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
}

static struct intent palette_set_window(struct ui *ui, const char *seconds) {
    int window_s = atoi(seconds);
    if (window_s != 1 && window_s != 10 && window_s != 100) {
        return view_say("rates are over 1, 10 or 100 s, not '%.40s'", seconds);
    }
    ui->classes.window_ms = (uint64_t)window_s * 1000;
    return (struct intent){.kind = INTENT_COMMAND, .command = COMMAND_VIEW_CLASSES};
}

static struct intent palette_set_setting(const struct frame *frame, const struct ui *ui,
                                         const char *argument) {
    char name[SETTING_NAME_BYTES], value[SETTING_VALUE_BYTES], why[NOTE_BYTES];
    size_t bytes = strcspn(argument, " ");
    const char *typed = argument + bytes + strspn(argument + bytes, " ");
    if (*typed == '\0') {
        return view_say("set takes a setting and its new value: set slab_automove 1");
    }
    snprintf(name, sizeof name, "%.*s", (int)bytes, argument);
    unsigned class_id = palette_class(ui);
    bool lacks_class = strcmp(name, "class_policy") == 0 && strchr(typed, ' ') == NULL;
    snprintf(value, sizeof value, lacks_class && class_id > 0 ? "%.100s %u" : "%.150s", typed,
             class_id);
    struct action action = action_set(name, value);
    bool is_for_marked =
        view_current(ui) == &fleet_view && marked_count(ui) > 0; /* the review checks each server */
    if (!is_for_marked && !action_check(&action, frame->model, why, sizeof why)) {
        return view_say("%s", why);
    }
    return review_of(action);
}

static struct intent palette_open_class(const struct frame *frame, struct ui *ui,
                                        const char *number) {
    const struct snapshot *now = model_now(frame->model);
    char *end;
    unsigned long id = strtoul(number, &end, 10);
    if (end == number || *end != '\0' || id == 0 || id >= CLASS_LIMIT || now == NULL ||
        !snapshot_class(now, (unsigned)id)->present) {
        return view_say("there is no class '%.20s'", number);
    }
    view_open_class(ui, (unsigned)id);
    return (struct intent){0};
}

static struct intent palette_open_server(const struct frame *frame, const char *name) {
    for (unsigned i = 0; i < frame->server_count; i++) {
        if (strcmp(model_server(frame->servers[i].model), name) == 0) {
            return (struct intent){.kind = INTENT_OPEN_SERVER, .server = frame->servers[i].server};
        }
    }
    return view_say("no server '%.80s' is watched", name);
}

/* The intent of a complete line. */
static struct intent palette_run_line(const struct frame *frame, struct ui *ui, const char *line,
                                      const struct palette_choice *list, unsigned count) {
    const char *argument;
    enum palette_word word = palette_word_of(line, &argument);
    if (word != PALETTE_WORDS && argument == NULL && word != WORD_FILTER) {
        return view_say("%s takes one word more", line);
    }
    switch (word) {
    case WORD_SORT:
        return palette_sort_by(ui, argument);
    case WORD_FILTER:
        return palette_filter_by(ui, argument != NULL ? argument : "");
    case WORD_WINDOW:
        return palette_set_window(ui, argument);
    case WORD_THEME:
        return cells_theme_named(argument) < THEME_COUNT
                   ? (struct intent){.kind = INTENT_THEME, .theme = cells_theme_named(argument)}
                   : view_say("there is no theme '%.40s'", argument);
    case WORD_SET:
        return palette_set_setting(frame, ui, argument);
    case WORD_CLASS:
        return palette_open_class(frame, ui, argument);
    case WORD_SERVER:
        return palette_open_server(frame, argument);
    case PALETTE_WORDS:
        break;
    }
    for (unsigned i = 0; i < count; i++) {
        if (list[i].command != COMMAND_NONE && strcasecmp(list[i].line, line) == 0) {
            return (struct intent){.kind = INTENT_COMMAND, .command = list[i].command};
        }
    }
    return view_say("there is no command '%.40s' here: Tab completes", line);
}

/* Handles Enter: takes the typed line if it is complete, else the marked choice. */
static struct intent palette_take_line(const struct frame *frame, struct ui *ui) {
    static struct palette_choice list[PALETTE_CHOICES];
    struct palette_ui *palette = &ui->palette;
    char line[PALETTE_LINE_BYTES];
    const char *typed = palette->typed + strspn(palette->typed, " ");
    size_t bytes = strlen(typed);
    while (bytes > 0 && typed[bytes - 1] == ' ') {
        bytes--;
    }
    snprintf(line, sizeof line, "%.*s", (int)bytes, typed);
    unsigned count = palette_choices(frame, ui, list);
    struct intent intent = palette_run_line(frame, ui, line, list, count);
    if (intent.kind == INTENT_SAY && palette->choice < count &&
        strcmp(list[palette->choice].line, palette->typed) != 0) {
        const char *chosen = list[palette->choice].line;
        snprintf(palette->typed, sizeof palette->typed, "%s", chosen);
        palette->choice = 0;
        if (strchr(" >", chosen[strlen(chosen) - 1]) != NULL) { /* the line goes on */
            return (struct intent){0};
        }
        intent = palette_run_line(frame, ui, chosen, list, count);
    }
    if (intent.kind == INTENT_SAY) { /* typing goes on, with the reason above */
        snprintf(palette->why, sizeof palette->why, "%s", intent.text);
        return (struct intent){0};
    }
    palette->is_open = false;
    return intent;
}

static void palette_complete_line(const struct frame *frame, struct ui *ui) {
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
    palette->why[0] = '\0';
    switch (command) {
    case COMMAND_ACCEPT:
        return palette_take_line(frame, ui);
    case COMMAND_CANCEL:
        palette->is_open = false;
        break;
    case COMMAND_COMPLETE:
        palette_complete_line(frame, ui);
        break;
    case COMMAND_UP:
    case COMMAND_DOWN:
        palette->choice = key_step(palette->choice, key_move_rows(command, 1), PALETTE_CHOICES);
        break;
    default:
        palette->is_open = command != COMMAND_BACK || palette->typed[0] != '\0';
        if (key_type(palette->typed, sizeof palette->typed, command, key)) {
            palette->choice = 0;
        }
        break;
    }
    return (struct intent){0};
}
