/* Tune: every setting that this server can change while it runs, its value and the wanted value.
 * Values are chosen here and sent from the review. */
#include "views/view.h"

#include "act/forecast.h"
#include "facts/words.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LABEL_X = 1,
    NOW_X = 21,
    NEW_X = 35,
    SOURCE_X = 50,
    NOTE_X = 59,
    PANEL_ROWS = 8,
    SCREEN_STEP = 10
};
enum { TEXT_BYTES = 1400, NARROW_WIDTH = 60, LINES_MOST = 100 };

void tune_forget(struct ui *ui) {
    memset(ui->tune.wanted, 0, sizeof ui->tune.wanted);
    ui->tune.edits = false;
}

/* Lists the rows. The last settings, of memcached's storage on flash, are left out if there is
 * none. Puts the cursor on one of the rows. */
static unsigned tune_list_rows(const struct frame *frame, struct ui *ui,
                               struct tunable rows[SETTINGS_MOST]) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL || !detail_is_known(model_details(frame->model), INQUIRY_SETTINGS)) {
        return 0;
    }
    unsigned count = settings_list(now, model_answers(frame->model), ui->classes.cursor, rows);
    while (count > 0 && !snapshot_has_extstore(now) &&
           strncmp(rows[count - 1].name, "ext_", 4) == 0) {
        count--;
    }
    ui->tune.cursor = key_step(ui->tune.cursor, 0, count > 0 ? count - 1 : 0);
    ui->tune.count = count;
    return count;
}

static bool tune_is_changed(const struct tune_ui *tune, const struct tunable *rows, unsigned row) {
    return tune->wanted[row][0] != '\0' && strcmp(tune->wanted[row], rows[row].now) != 0;
}

/* ---- the plan ---- */

static bool tune_is_lru(const char *name) {
    return strcmp(name, "hot_lru_pct") == 0 || strcmp(name, "warm_lru_pct") == 0 ||
           strcmp(name, "hot_max_factor") == 0 || strcmp(name, "warm_max_factor") == 0;
}

/* The one action that sets the four values of lru tune. Together they cannot be in each other's
 * way. */
static struct action tune_lru_action(const struct tune_ui *tune, const struct tunable *rows,
                                     unsigned count) {
    char value[SETTING_VALUE_BYTES] = "";
    for (unsigned i = 0; i < count; i++) {
        if (tune_is_lru(rows[i].name)) {
            size_t used = strlen(value);
            snprintf(value + used, sizeof value - used, "%s%.30s", used > 0 ? " " : "",
                     tune_is_changed(tune, rows, i) ? tune->wanted[i] : rows[i].now);
        }
    }
    return action_set("lru_tune", value);
}

/* The action for a setting. class_policy is for the class under the cursor in Classes. */
static struct action tune_value_action(const struct ui *ui, const char *name, const char *wanted) {
    char value[SETTING_VALUE_BYTES];
    snprintf(value, sizeof value, strcmp(name, "class_policy") == 0 ? "%.100s %u" : "%.150s",
             wanted, ui->classes.cursor);
    return action_set(name, value);
}

static struct plan tune_make_plan(const struct ui *ui, const struct tunable *rows, unsigned count) {
    struct plan plan = {.count = 0};
    unsigned of_lru = 0;
    for (unsigned i = 0; i < count; i++) {
        of_lru += tune_is_lru(rows[i].name) && tune_is_changed(&ui->tune, rows, i);
    }
    if (of_lru > 1) {
        plan.steps[plan.count++] = tune_lru_action(&ui->tune, rows, count);
    }
    for (unsigned i = 0; i < count; i++) {
        if (tune_is_changed(&ui->tune, rows, i) && (of_lru <= 1 || !tune_is_lru(rows[i].name))) {
            plan.steps[plan.count++] = tune_value_action(ui, rows[i].name, ui->tune.wanted[i]);
        }
    }
    return plan;
}

/* ---- drawing ---- */

static void tune_write_note(const struct tunable *row, bool changed, char *out, size_t out_bytes) {
    if (row->refusal[0] != '\0') {
        snprintf(out, out_bytes, "%s", row->refusal);
    } else if (changed) {
        snprintf(out, out_bytes, "undo: %.60s",
                 strcmp(row->name, "geometry") == 0 ? "revert" : row->now);
    } else if (row->form == FORM_NUMBER) {
        snprintf(out, out_bytes, "%.7g to %.10g", row->least, row->most);
    } else {
        snprintf(out, out_bytes, "%s",
                 row->form == FORM_TEXT ? "auto, factor N, sizes N,N" : row->choices);
    }
}

/* Cuts a text after the last part that fits; a part ends in one of the characters of `ends`. */
static void tune_cut_to_parts(char *text, int width, const char *ends) {
    size_t cut = 0;
    for (size_t at = 0; text[at] != '\0'; at++) {
        cut = (int)at + 2 <= width && strchr(ends, text[at]) != NULL ? at + 1 : cut;
    }
    snprintf(text + cut, sizeof "…", "…");
}

static bool tune_text_fits(const char *text, int width) {
    return cells_width_of(text) <= width;
}

/* The column of a row's note. A row that cannot be set has no new value: a long reason takes the
 * room of the new value and the source. */
static int tune_note_column(const struct tunable *row, int width) {
    bool is_behind = row->refusal[0] == '\0' ||
                     (row->source[0] != '\0' && tune_text_fits(row->refusal, width - NOTE_X));
    return is_behind ? NOTE_X : NEW_X;
}

static void tune_draw_row(const struct ui *ui, struct cells *cells, struct rect area, int y,
                          const struct tunable *rows, unsigned index) {
    const struct tunable *row = &rows[index];
    bool changed = tune_is_changed(&ui->tune, rows, index), is_narrow = area.width < NARROW_WIDTH;
    uint8_t style = row->refusal[0] != '\0' ? STYLE_DIM : STYLE_PLAIN;
    char note[SETTING_VALUE_BYTES];
    cells_text_fit(cells, y, area.x + LABEL_X, NOW_X - LABEL_X - 1, style, row->label);
    cells_text_fit(cells, y, area.x + NOW_X, is_narrow ? 8 : NEW_X - NOW_X - 1, style,
                   row->now[0] != '\0' ? row->now : "-");
    int new_x = is_narrow ? NOW_X + 9 : NEW_X;
    const char *wanted = changed ? ui->tune.wanted[index] : row->refusal[0] != '\0' ? "" : "·";
    cells_text_fit(cells, y, area.x + new_x,
                   is_narrow ? area.width - new_x - 1 : SOURCE_X - NEW_X - 1,
                   changed ? STYLE_STRONG : STYLE_DIM, wanted);
    if (changed) {
        cells_text(cells, y, area.x, STYLE_STRONG, "*");
    }
    if (is_narrow) {
        return;
    }
    tune_write_note(row, changed, note, sizeof note - sizeof "…");
    int note_x = tune_note_column(row, area.width), room = area.width - note_x;
    if (note_x == NOTE_X) {
        cells_text_fit(cells, y, area.x + SOURCE_X, NOTE_X - SOURCE_X - 1, style, row->source);
    }
    if (!tune_text_fits(note, room)) { /* the panel has the complete note */
        tune_cut_to_parts(note, room, " |");
    }
    cells_text_fit(cells, y, area.x + note_x, room, changed ? STYLE_STRONG : STYLE_DIM, note);
}

/* ---- the panel: a text that does not fit ends at a comma or a full stop ---- */

/* Draws the text and takes its rows from `left`. */
static void tune_put_text(struct cells *cells, struct rect *left, uint8_t style, const char *text) {
    struct rect endless = {0, 0, LINES_MOST, left->width};
    char shown[TEXT_BYTES];
    size_t end = strlen(text);
    snprintf(shown, sizeof shown, "%s", text);
    while (end > 0 && cells_paragraph(NULL, endless, 0, style, shown) > left->height) {
        do {
            end--;
        } while (end > 0 && (strchr(".,;:", text[end - 1]) == NULL || text[end] != ' '));
        snprintf(shown, sizeof shown, "%.*s …", (int)end, text);
    }
    int rows = end > 0 ? cells_paragraph(cells, *left, 0, style, shown) : 0;
    left->y += rows;
    left->height -= rows;
}

/* Draws the parts of the row that the table had no room for. */
static void tune_put_whole_row(struct cells *cells, struct rect *left, const struct tunable *row,
                               bool changed) {
    char note[SETTING_VALUE_BYTES], text[TEXT_BYTES];
    size_t used = 0;
    bool is_narrow = left->width < NARROW_WIDTH;
    text[0] = '\0';
    if (!tune_text_fits(row->now, is_narrow ? 8 : NEW_X - NOW_X - 1)) {
        used = (size_t)snprintf(text, sizeof text, "now %s; ", row->now);
    }
    tune_write_note(row, changed, note, sizeof note);
    if (is_narrow || !tune_text_fits(note, left->width - tune_note_column(row, left->width))) {
        used += (size_t)snprintf(text + used, sizeof text - used, "%s",
                                 strchr(note, '|') != NULL ? "one of " : "");
        for (const char *at = note; *at != '\0' && used + 3 < sizeof text; at++) {
            used +=
                (size_t)snprintf(text + used, sizeof text - used, *at == '|' ? ", " : "%c", *at);
        }
    }
    tune_put_text(cells, left, row->refusal[0] != '\0' ? STYLE_WARN : STYLE_STRONG, text);
}

/* Draws all policies with the hit ratios of their miniature caches: "lru 91.0 -1.2 ± 0.3". */
static void tune_put_policies(const struct frame *frame, struct cells *cells, struct rect *left) {
    const struct details *details = model_details(frame->model);
    if (left->height <= 0 || !view_detail_ready(frame, INQUIRY_WHATIF, cells, *left)) {
        return;
    }
    const struct whatif *whatif = &details->whatif;
    char text[TEXT_BYTES];
    int used =
        snprintf(text, sizeof text, whatif->count == 0 ? "what-if: %s" : "%.0s", whatif->why);
    struct sentence policies[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.relief", .function = "compared"};
    unsigned count = brain_query(frame->model, &question, policies);
    for (unsigned i = 0; i < count && used < (int)sizeof text; i++) {
        used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", i > 0 ? ",  " : "",
                         policies[i].text);
    }
    tune_put_text(cells, left, STYLE_PLAIN, text);
}

/* The setting under the cursor with its new value. */
static struct action tune_chosen_action(const struct ui *ui, const char *name) {
    return tune_value_action(ui, name, ui->tune.wanted[ui->tune.cursor]);
}

/* Draws the meaning of the row under the cursor, the new value's effect, and the server's words. */
static void tune_draw_panel(const struct frame *frame, const struct ui *ui, struct cells *cells,
                            struct rect area, const struct tunable *rows) {
    const struct tunable *row = &rows[ui->tune.cursor];
    const struct explanation *entry = explain_term(setting_term(row->name));
    bool changed = tune_is_changed(&ui->tune, rows, ui->tune.cursor);
    bool is_policy = strcmp(row->name, "policy") == 0 || strcmp(row->name, "class_policy") == 0;
    char text[2 * NOTE_BYTES];
    cells_rule(cells, area.y, area.x, area.width, row->label);
    struct rect left = {area.y + 1, area.x, area.height - 2, area.width};
    if (changed) {
        struct action action = tune_chosen_action(ui, row->name);
        struct sentence sentences[SENTENCES_MOST];
        unsigned count = forecast_query(&action, frame->model, sentences);
        tune_put_text(cells, &left, STYLE_STRONG, forecast_of(sentences, count, "expects"));
    }
    tune_put_whole_row(cells, &left, row, changed);
    const struct details *details = model_details(frame->model);
    if (strcmp(row->name, "slab_automove") == 0 && detail_is_known(details, INQUIRY_MOVES) &&
        move_list_has_failed(&details->moves)) {
        words_printf(text, sizeof text, "automove failed: %s; now it is %s",
                     details->moves.failed, details->moves.mode);
        tune_put_text(cells, &left, STYLE_BAD, text);
    }
    if (is_policy && model_now(frame->model)->is_slated) {
        tune_put_policies(frame, cells, &left);
    } else if (entry != NULL) {
        tune_put_text(cells, &left, STYLE_PLAIN, entry->meaning);
        tune_put_text(cells, &left, STYLE_DIM, entry->what_to_do);
    }
    if (frame->locked != NULL) {
        snprintf(text, sizeof text, "%s: nothing can be sent", frame->locked);
    }
    cells_text_fit(cells, area.y + area.height - 1, area.x, area.width, STYLE_HEADER,
                   frame->locked != NULL ? text
                                         : "- + or Enter choose a new value; t reviews all of "
                                           "them, and sends nothing");
}

static void tune_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                      struct rect area) {
    struct tunable rows[SETTINGS_MOST];
    unsigned count = tune_list_rows(frame, ui, rows);
    cells_head(cells, area.y, area.x, area.width, " SETTING");
    cells_text(cells, area.y, area.x + NOW_X, STYLE_HEADER, "NOW");
    cells_text(cells, area.y, area.x + (area.width < NARROW_WIDTH ? NOW_X + 9 : NEW_X),
               STYLE_HEADER, "NEW");
    if (area.width >= NARROW_WIDTH) {
        cells_text(cells, area.y, area.x + SOURCE_X, STYLE_HEADER, "SOURCE");
        cells_text(cells, area.y, area.x + NOTE_X, STYLE_HEADER, "RANGE, UNDO, NEEDS");
    }
    if (count == 0) {
        view_detail_ready(frame, INQUIRY_SETTINGS, cells,
                          (struct rect){area.y + 1, area.x, area.height - 1, area.width});
        return;
    }
    struct tune_ui *tune = &ui->tune;
    int panel = area.height >= 14 ? PANEL_ROWS + (area.height > (int)count + 12 ? 4 : 0) : 0;
    unsigned shown = area.height > 1 + panel ? (unsigned)(area.height - 1 - panel) : 1;
    tune->top = key_top(tune->top, tune->cursor, shown, count);
    for (unsigned i = tune->top; i < count && i < tune->top + shown; i++) {
        int y = area.y + 1 + (int)(i - tune->top);
        tune_draw_row(ui, cells, area, y, rows, i);
        cells_hot(cells, (struct rect){y, area.x, 1, area.width}, HOT_ROW, i);
        if (i == tune->cursor) {
            cells_select(cells, y, area.x, area.width);
        }
    }
    if (panel > 0) {
        unsigned used = count < shown ? count : shown;
        int y = area.y + 1 + (int)used;
        tune_draw_panel(frame, ui, cells, (struct rect){y, area.x, panel, area.width}, rows);
    }
}

/* ---- keys ---- */

static struct intent tune_change_value(const struct frame *frame, struct ui *ui,
                                       const struct tunable *rows, enum command given) {
    const struct tunable *row = &rows[ui->tune.cursor];
    if (frame->is_past) {
        return view_say("this is the past: . returns to live, where it can be changed");
    }
    if (row->refusal[0] != '\0') {
        return view_say("%s: %s", row->label, row->refusal);
    }
    if (given == COMMAND_EDIT) {
        ui->tune.edits = true;
        ui->tune.typed[0] = ui->tune.typed_why[0] = '\0';
    } else {
        char *wanted = ui->tune.wanted[ui->tune.cursor];
        setting_step(row, wanted[0] != '\0' ? wanted : row->now, given == COMMAND_MORE ? 1 : -1,
                     wanted);
    }
    return (struct intent){0};
}

static struct intent tune_command(const struct frame *frame, struct ui *ui, enum command given) {
    struct tunable rows[SETTINGS_MOST];
    unsigned count = tune_list_rows(frame, ui, rows);
    struct intent none = {0}, review = {.kind = INTENT_REVIEW};
    if (count == 0) {
        return none;
    }
    ui->tune.cursor = key_step(ui->tune.cursor, key_move_rows(given, SCREEN_STEP), count - 1);
    switch (given) {
    case COMMAND_LESS:
    case COMMAND_MORE:
    case COMMAND_EDIT:
        return tune_change_value(frame, ui, rows, given);
    case COMMAND_RESET:
        ui->tune.wanted[ui->tune.cursor][0] = '\0';
        return none;
    case COMMAND_REVIEW:
        review.plan = tune_make_plan(ui, rows, count);
        return review.plan.count > 0
                   ? review
                   : view_say("no new value is chosen: - and + choose one, Enter types one");
    default: /* other views and the app handle the other commands */
        return none;
    }
}

/* True if the typed value may be reviewed. The shares and factors of the LRU are checked here only
 * for their ranges; the review checks them together, when all of them are chosen. */
static bool tune_is_sound(const struct frame *frame, struct ui *ui, const struct tunable *row) {
    struct tune_ui *tune = &ui->tune;
    if (strcmp(tune->typed, row->now) == 0) {
        return true;
    }
    if (tune_is_lru(row->name)) {
        char *end;
        double number = strtod(tune->typed, &end);
        bool is_in =
            end != tune->typed && *end == '\0' && number >= row->least && number <= row->most;
        if (!is_in) {
            snprintf(tune->typed_why, sizeof tune->typed_why,
                     "%s takes a number from %.7g to %.10g", row->label, row->least, row->most);
        }
        return is_in;
    }
    struct action action = tune_value_action(ui, row->name, tune->typed);
    return action_check(&action, frame->model, tune->typed_why, sizeof tune->typed_why);
}

static void tune_take_typed(const struct frame *frame, struct ui *ui) {
    struct tune_ui *tune = &ui->tune;
    struct tunable rows[SETTINGS_MOST];
    bool is_typed = tune->typed[0] != '\0' && tune_list_rows(frame, ui, rows) > tune->cursor;
    if (is_typed && !tune_is_sound(frame, ui, &rows[tune->cursor])) {
        return; /* typing goes on, with the reason above */
    }
    if (is_typed) {
        snprintf(tune->wanted[tune->cursor], sizeof tune->wanted[0], "%s", tune->typed);
    }
    tune->edits = false;
}

void tune_edit(struct ui *ui, const struct frame *frame, enum command given, uint32_t key) {
    struct tune_ui *tune = &ui->tune;
    tune->typed_why[0] = '\0';
    if (given == COMMAND_ACCEPT) {
        tune_take_typed(frame, ui);
    } else if (given == COMMAND_CANCEL) {
        tune->edits = false;
    } else {
        key_type(tune->typed, sizeof tune->typed, given, key);
    }
}

static const char *const shown[] = {"whatif.hit_ratio", "whatif.difference", "moves.failed", NULL};

static void tune_terms(const struct ui *ui, struct terms *out) {
    for (unsigned i = 0; i < ui->tune.count; i++) {
        explain_add(out, "", setting_term(setting_name_at(i)), i == ui->tune.cursor);
    }
}

static void tune_wants(const struct ui *ui, struct wants *out) {
    out->inquiries |= INQUIRY_BIT(SETTINGS) | INQUIRY_BIT(CONFIG) | INQUIRY_BIT(POLICIES) |
                      INQUIRY_BIT(MOVES) | INQUIRY_BIT(WHATIF) | INQUIRY_BIT(GEOMETRY);
    if (ui->tune.wanted[ui->tune.cursor][0] != '\0') {
        struct action action = tune_chosen_action(ui, setting_name_at(ui->tune.cursor));
        forecast_wants(&action, out);
    }
}

const struct view tune_view = {.name = "Tune",
                               .scope = SCOPE_TUNE,
                               .open = COMMAND_VIEW_TUNE,
                               .draw = tune_draw,
                               .command = tune_command,
                               .terms = tune_terms,
                               .shown = shown,
                               .cursor = offsetof(struct ui, tune.cursor),
                               .wants = tune_wants};
