/* The review of a plan: its exact commands, the server, the expected gain, the possible cost, and
 * the limits of undo. Only a capital S in this dialog sends. */
#include "views/review/review_notes.h"

#include "act/forecast.h"
#include "facts/words.h"
#include "views/review/marked.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { BOX_WIDTH = 76, EVICTIONS_PCT = 20, HIT_POINTS = 1 };

/* ---- fields ---- */

enum { FIELDS_MOST = 7 };

/* The fields of this review, in their order. An undo has none: its values are fixed. */
static unsigned review_fields_of(const struct review *review, enum field out[FIELDS_MOST]) {
    unsigned count = 0;
    if (review->is_undo) {
        return 0;
    }
    if (review->plan.count == 1 && review->plan.steps[0].kind == ACTION_MOVE_PAGES) {
        out[count++] = FIELD_FROM;
        out[count++] = FIELD_TO;
        out[count++] = FIELD_PAGES;
    } else if (review->plan.count == 1) {
        out[count++] = FIELD_VALUE;
    }
    out[count++] = FIELD_MINUTES;
    if (review->terms.minutes > 0) {
        out[count++] = FIELD_EVICTIONS;
        out[count++] = FIELD_HITS;
    }
    return count;
}

void review_open(struct review *review, const struct plan *plan, const char *undo_of) {
    memset(review, 0, sizeof *review);
    review->is_open = true;
    review->is_undo = undo_of != NULL;
    review->plan = *plan;
    review->terms = (struct trial_terms){0, EVICTIONS_PCT, HIT_POINTS};
    snprintf(review->title, sizeof review->title, "%s", undo_of != NULL ? undo_of : "");
    review->field = plan->count == 1 && plan->steps[0].kind == ACTION_MOVE_PAGES ? 2 : 0;
}

static const struct {
    const char *label;
    unsigned most;
    size_t at; /* offset of its number in struct review; 0: a text */
} field_rows[] = {
    [FIELD_FROM] = {"from", 999, offsetof(struct review, plan.steps[0].from)},
    [FIELD_TO] = {"to", 999, offsetof(struct review, plan.steps[0].to)},
    [FIELD_PAGES] = {"pages", MOVE_PAGES_LIMIT, offsetof(struct review, plan.steps[0].pages)},
    [FIELD_VALUE] = {"value", 0, 0},
    [FIELD_MINUTES] = {"trial", TRIAL_MINUTES_MOST, offsetof(struct review, terms.minutes)},
    [FIELD_EVICTIONS] = {"evict +%", 9999, offsetof(struct review, terms.evictions_pct)},
    [FIELD_HITS] = {"hits -pt", 100, offsetof(struct review, terms.hit_points)},
};

static unsigned *review_number_of(struct review *review, enum field field) {
    size_t at = field_rows[field].at;
    return at > 0 ? (unsigned *)(void *)((char *)review + at) : NULL;
}

/* The next class with pages in the direction of step; the pool counts as a destination. */
static unsigned review_step_class(const struct snapshot *now, unsigned id, int step,
                                  bool may_be_pool) {
    id = id < CLASS_LIMIT ? id : CLASS_LIMIT;
    for (int next = (int)id + step;
         now != NULL && next >= (may_be_pool ? 0 : 1) && next < CLASS_LIMIT; next += step) {
        bool is_pool = next == POOL_CLASS;
        if (is_pool || stat_number(snapshot_class(now, next)->value[CLASS_total_pages]) > 0) {
            return (unsigned)next;
        }
    }
    return id;
}

static void review_step_value(struct action *action, const struct model *model, int step) {
    struct tunable row;
    char value[SETTING_VALUE_BYTES], behind[24] = "";
    const struct snapshot *now = model_now(model);
    if (now == NULL || !settings_find(now, model_answers(model), action->name, 0, &row)) {
        return;
    }
    if (strcmp(action->name, "class_policy") == 0) { /* keeps the class */
        const char *blank = strchr(action->value, ' ');
        snprintf(behind, sizeof behind, "%.20s", blank != NULL ? blank : "");
    }
    snprintf(value, sizeof value, "%.*s", (int)(strlen(action->value) - strlen(behind)),
             action->value);
    char next[SETTING_VALUE_BYTES];
    setting_step(&row, value, step, next);
    snprintf(action->value, sizeof action->value, "%.120s%s", next, behind);
}

static void review_step_field(struct review *review, const struct model *model, enum field field,
                              int step) {
    unsigned *number = review_number_of(review, field);
    if (field == FIELD_VALUE) {
        review_step_value(&review->plan.steps[0], model, step);
    } else if (field == FIELD_FROM || field == FIELD_TO) {
        *number = review_step_class(model_now(model), *number, step, field == FIELD_TO);
    } else if (step > 0 ? *number < field_rows[field].most
                        : *number > (field == FIELD_PAGES ? 1U : 0U)) {
        *number = (unsigned)((int)*number + step);
    }
}

void review_command(struct review *review, const struct model *model, enum command command) {
    enum field fields[FIELDS_MOST];
    unsigned count = review_fields_of(review, fields);
    review->is_typing = false;
    if (count == 0) {
        return;
    }
    if (command == COMMAND_NEXT_FIELD) {
        review->field = (review->field + 1) % count;
    } else if (command == COMMAND_PREVIOUS_FIELD) {
        review->field = (review->field + count - 1) % count;
    } else if (command == COMMAND_LESS) {
        review_step_field(review, model, fields[review->field], -1);
    } else if (command == COMMAND_MORE) {
        review_step_field(review, model, fields[review->field], 1);
    }
    count = review_fields_of(review, fields); /* the fields of a trial come and go */
    review->field = review->field < count ? review->field : count - 1;
}

void review_type(struct review *review, char typed) {
    enum field fields[FIELDS_MOST];
    unsigned count = review_fields_of(review, fields);
    if (count == 0) {
        return;
    }
    enum field field = fields[review->field];
    unsigned *number = review_number_of(review, field);
    if (field == FIELD_VALUE) {
        char *value = review->plan.steps[0].value;
        size_t used = review->is_typing ? strlen(value) : 0;
        if (used + 1 < 16 && strchr(value, ' ') == NULL) {
            value[used] = typed;
            value[used + 1] = '\0';
        }
    } else if (typed != '.') {
        unsigned digit = (unsigned)(typed - '0');
        unsigned wanted = (review->is_typing ? *number * 10 : 0) + digit;
        *number = wanted <= field_rows[field].most ? wanted : digit;
    }
    review->is_typing = true;
}

/* ---- drawing ---- */

/* The inside of the dialog, filled from the top. Texts that do not fit are left out, so the most
 * important come first. cells NULL: only counts the rows. */
struct sheet {
    struct cells *cells;
    struct rect inside;
    int y;
    bool is_compact; /* no blank lines, to fit the commands on a small terminal */
    bool lacks_room; /* a part of the commands or servers did not fit */
};

static int review_rows(const struct sheet *sheet) {
    /* the last row is the verdict's */
    return sheet->inside.y + sheet->inside.height - 1 - sheet->y;
}

static void review_skip_line(struct sheet *sheet) {
    sheet->y += sheet->is_compact ? 0 : 1;
}

static void review_draw_field(struct sheet *sheet, bool is_current, const char *label,
                              const char *value, const char *note) {
    int y = sheet->y, x = sheet->inside.x;
    if (review_rows(sheet) <= 0) {
        return;
    }
    sheet->y++;
    if (sheet->cells == NULL) {
        return;
    }
    uint8_t style = (uint8_t)(STYLE_STRONG | (is_current ? CELL_SELECTED : 0));
    cells_printf(sheet->cells, y, x, STYLE_DIALOG, "%s %-8s", is_current ? "▶" : " ", label);
    int end = cells_printf(sheet->cells, y, x + 11, style, "[%4s]", value) + 2;
    cells_text_fit(sheet->cells, y, end, sheet->inside.x + sheet->inside.width - end, STYLE_DIALOG,
                   note);
}

static void review_draw_line(struct sheet *sheet, const char *label, uint8_t style,
                             const char *text) {
    struct rect area = {sheet->y, sheet->inside.x + 12, review_rows(sheet),
                        sheet->inside.width - 12};
    if (text[0] == '\0' || area.height <= 0) {
        return;
    }
    if (sheet->cells != NULL) {
        cells_printf(sheet->cells, sheet->y, sheet->inside.x, STYLE_DIALOG, "  %-9s", label);
    }
    sheet->y += cells_paragraph(sheet->cells, area, 0, style, text);
}

/* Notes if the next text does not fit: a review that does not show all must not send. */
static void review_need_room(struct sheet *sheet, const char *text) {
    struct rect endless = {0, 0, 1000, sheet->inside.width - 12};
    sheet->lacks_room |= cells_paragraph(NULL, endless, 0, STYLE_PLAIN, text) > review_rows(sheet);
}

static void review_draw_one_field(struct sheet *sheet, const struct frame *frame,
                                  const struct ui *ui, enum field field, bool is_current) {
    struct review copy = ui->review; /* review_number_of returns a pointer that is not const */
    const unsigned *number = review_number_of(&copy, field);
    char note[NOTE_BYTES] = "", value[SETTING_VALUE_BYTES];
    snprintf(value, sizeof value, "%.60s", copy.plan.steps[0].value);
    if (number != NULL) {
        snprintf(value, sizeof value, "%u", *number);
    }
    if (sheet->cells != NULL) { /* measuring skips notes: for many servers they are slow */
        review_note(frame, ui, field, number != NULL ? *number : 0, note, sizeof note);
    }
    review_draw_field(sheet, is_current, field_rows[field].label, value, note);
}

/* Draws the fields of the change (above the commands) or of the trial (below them). */
static void review_draw_fields(struct sheet *sheet, const struct frame *frame, const struct ui *ui,
                               bool of_trial) {
    enum field fields[FIELDS_MOST];
    unsigned count = review_fields_of(&ui->review, fields);
    for (unsigned i = 0; i < count; i++) {
        if ((fields[i] >= FIELD_MINUTES) == of_trial) {
            review_draw_one_field(sheet, frame, ui, fields[i], ui->review.field == i);
        }
    }
}

/* ---- the commands to send ---- */

/* Draws the lines of one step. A long line is wrapped, not cut. */
static void review_draw_step(struct sheet *sheet, const struct action *action,
                             const struct model *model, bool is_first) {
    char line[ACTION_LINE_BYTES], text[ACTION_LINE_BYTES + 40];
    unsigned times;
    for (unsigned i = 0; action_line(action, model, i, line, &times); i++) {
        int used = snprintf(text, sizeof text, times == 1 ? "%s" : "%s × %u,", line, times);
        review_need_room(sheet, text);
        snprintf(text + used, sizeof text - (size_t)used, "%s",
                 times == 1 ? "" : " one after the other");
        review_draw_line(sheet, is_first && i == 0 ? "will send" : "", STYLE_STRONG, text);
    }
}

/* Draws how many marked servers get the change, or which one refuses. True: it may be sent. */
static bool review_draw_fleet(struct sheet *sheet, const struct frame *frame, const struct ui *ui) {
    char text[2 * NOTE_BYTES];
    unsigned changed, unchanged;
    bool is_allowed =
        marked_check(frame, ui, &ui->review.plan, &changed, &unchanged, text, sizeof text);
    if (is_allowed) {
        int n =
            snprintf(text, sizeof text, "to %u marked server%s", changed, changed == 1 ? "" : "s");
        if (unchanged > 0) {
            snprintf(text + n, sizeof text - (size_t)n, "; %u of them ha%s the value already",
                     unchanged, unchanged == 1 ? "s" : "ve");
        }
    }
    review_need_room(sheet, text);
    review_draw_line(sheet, is_allowed ? "" : "refused", is_allowed ? STYLE_DIALOG : STYLE_BAD,
                     text);
    return is_allowed;
}

/* Draws the commands and the server, or why they can't be sent; true when they may be sent. */
static bool review_draw_plan(struct sheet *sheet, const struct frame *frame, const struct ui *ui) {
    const struct review *review = &ui->review;
    const struct model *model = frame->live;
    char text[2 * NOTE_BYTES];
    for (unsigned i = 0; i < review->plan.count && !review->is_for_marked; i++) {
        bool may_repeat = review->is_undo && review->plan.steps[i].kind == ACTION_SET;
        if (!may_repeat && !action_check(&review->plan.steps[i], model, text, sizeof text)) {
            review_draw_line(sheet, "refused", STYLE_BAD, text);
            return false;
        }
    }
    for (unsigned i = 0; i < review->plan.count; i++) {
        review_draw_step(sheet, &review->plan.steps[i], model, i == 0);
    }
    if (review->plan.count > 1) {
        snprintf(text, sizeof text, "%u changes; it stops at the first that fails",
                 review->plan.count);
        review_draw_line(sheet, "", STYLE_DIALOG, text);
    }
    if (review->is_for_marked) {
        return review_draw_fleet(sheet, frame, ui);
    }
    if (!sheet->is_compact) {
        snprintf(text, sizeof text, "to %.150s", model_server(model));
        review_draw_line(sheet, "", STYLE_DIALOG, text);
    }
    return true;
}

/* ---- the forecast ---- */

/* Draws a forecast. With several servers it is for one of them, which is named. */
static void review_draw_forecast(struct sheet *sheet, const struct review *review,
                                 const struct sentence *sentence, const struct model *model) {
    char text[SENTENCE_BYTES + NOTE_BYTES];
    bool is_of_one = review->is_for_marked && strcmp(sentence->label, "expects") == 0;
    snprintf(text, sizeof text, "%.150s%s%s", is_of_one ? model_server(model) : "",
             is_of_one ? ": " : "", sentence->text);
    review_draw_line(sheet, sentence->label, view_tone_style(sentence->tone, STYLE_DIALOG), text);
}

static void review_draw_effects(struct sheet *sheet, const struct review *review,
                                const struct model *model) {
    struct sentence sentences[SENTENCES_MOST];
    for (unsigned i = 0; i < review->plan.count; i++) {
        unsigned count = forecast_query(&review->plan.steps[i], model, sentences);
        for (unsigned n = 0; n < count; n++) {
            if (strcmp(sentences[n].label, "undo") != 0) { /* review_draw_undo draws it */
                review_draw_forecast(sheet, review, &sentences[n], model);
            }
        }
    }
    bool is_one = review->plan.count == 1 && review->plan.steps[0].kind == ACTION_SET;
    const struct explanation *entry = is_one && !sheet->is_compact && !review->is_undo
                                          ? explain_term(setting_term(review->plan.steps[0].name))
                                          : NULL;
    if (entry != NULL) {
        review_draw_line(sheet, "what", STYLE_DIALOG, entry->meaning);
    }
}

static void review_draw_undo(struct sheet *sheet, const struct frame *frame,
                             const struct review *review) {
    char text[2 * NOTE_BYTES];
    if (!review->is_undo) {
        struct sentence sentences[SENTENCES_MOST];
        unsigned count = forecast_query(&review->plan.steps[0], frame->model, sentences);
        review_draw_line(sheet, "undo", STYLE_DIALOG,
                         review->is_for_marked
                             ? "open a server and press u: that takes it back there"
                         : review->plan.count == 1
                             ? forecast_of(sentences, count, "undo")
                             : "u sets all the old values again; items that are gone stay gone");
    }
    if (review->terms.minutes > 0) {
        snprintf(text, sizeof text,
                 "goes back after %u min, or at the bounds, or when slatetop is left; K keeps it",
                 review->terms.minutes);
        review_draw_line(sheet, "trial", STYLE_DIALOG, text);
    }
    if (!sheet->is_compact) {
        review_draw_line(sheet, "log", STYLE_DIALOG,
                         frame->audit_path[0] != '\0' ? frame->audit_path
                                                      : "none: --audit-log names one");
    }
}

static void review_draw_verdict(const struct sheet *sheet, const char *locked, bool is_allowed) {
    char why[NOTE_BYTES];
    words_printf(why, sizeof why, "Esc closes.   %s: nothing can be sent",
                 locked != NULL ? locked : "");
    const char *verdict = "capital S sends it.   Esc cancels.   Enter never sends";
    bool is_ready = locked == NULL && is_allowed && !sheet->lacks_room;
    if (!is_ready) {
        verdict = locked != NULL ? why
                  : !is_allowed  ? "Esc cancels.   Change the fields until it can be sent"
                                 : "S needs a higher window to send.   Esc cancels";
    }
    cells_text_fit(sheet->cells, sheet->inside.y + sheet->inside.height - 1, sheet->inside.x + 2,
                   sheet->inside.width - 2, is_ready ? STYLE_STRONG : STYLE_WARN, verdict);
}

static bool review_draw_sheet(struct sheet *sheet, const struct frame *frame, const struct ui *ui) {
    const struct review *review = &ui->review;
    review_skip_line(sheet);
    review_draw_fields(sheet, frame, ui, false);
    if (review->is_undo) {
        review_draw_line(sheet, review->is_redo ? "redoes" : "undoes", STYLE_DIALOG, review->title);
    }
    if (review->plan.count == 1 || review->is_undo) {
        review_skip_line(sheet);
    }
    bool is_allowed = review_draw_plan(sheet, frame, ui);
    review_skip_line(sheet);
    review_draw_effects(sheet, review, frame->live);
    review_draw_fields(sheet, frame, ui, true);
    review_draw_undo(sheet, frame, review);
    review_skip_line(sheet);
    return is_allowed;
}

static const char *review_heading_of(const struct review *review) {
    const struct action *first = &review->plan.steps[0];
    return review->is_redo                       ? "Redo: review"
           : review->is_undo                     ? "Undo: review"
           : review->plan.count > 1              ? "Changes: review"
           : first->kind == ACTION_MOVE_PAGES    ? "Move pages: review"
           : strcmp(first->name, "slab_automove") == 0 ? "Automove: review"
                                                 : setting_label(first->name);
}

void review_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    const struct review *review = &ui->review;
    int width = cells->width < BOX_WIDTH ? cells->width : BOX_WIDTH;
    int most = cells->height - 3;
    struct sheet sheet = {.inside = {0, 0, 1000, width - 4}};
    struct rect box = {0, (cells->width - width) / 2, most, width};
    if (model_now(frame->live) != NULL) {
        review_draw_sheet(&sheet, frame, ui);
        sheet.is_compact = sheet.y + 3 > most;
        box.height = sheet.is_compact ? most : sheet.y + 3;
    }
    box.y = (cells->height - box.height) / 2;
    cells_box(cells, box, review_heading_of(review));
    if (model_now(frame->live) == NULL) {
        return;
    }
    sheet.cells = cells;
    sheet.inside = (struct rect){box.y + 1, box.x + 2, box.height - 2, box.width - 4};
    sheet.y = box.y + 1;
    sheet.lacks_room = false;
    bool is_allowed = review_draw_sheet(&sheet, frame, ui);
    ui->review.is_seen = !sheet.lacks_room;
    review_draw_verdict(&sheet, frame->locked, is_allowed);
}

struct intent review_of(struct action action) {
    return (struct intent){.kind = INTENT_REVIEW, .plan = action_plan(action)};
}
