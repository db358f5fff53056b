#include "views/screen.h"

#include "act/forecast.h"
#include "brain/format.h"
#include "brain/health.h"
#include "views/overlay/palette.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* "PAUSED 13:58:40, 3m12s ago": the time that the screen shows. */
static int screen_past_words(const struct frame *frame, char *out, size_t out_bytes) {
    char clock_text[24], age[FORMAT_BYTES];
    struct tm local;
    localtime_r(&frame->moment, &local);
    strftime(clock_text, sizeof clock_text, frame->is_replay ? "%m-%d %H:%M:%S" : "%H:%M:%S",
             &local);
    if (frame->is_replay) {
        snprintf(out, out_bytes, "%s %s", frame->plays ? "PLAYING" : "PAUSED AT", clock_text);
        return frame->plays ? STYLE_TITLE : STYLE_WARN;
    }
    format_age(age, fmax(difftime(frame->wall, frame->moment), 0));
    snprintf(out, out_bytes, "PAUSED %s, %s ago%s", clock_text, age,
             model_link(frame->live) == LINK_DOWN ? ", now DOWN" : "");
    return STYLE_WARN;
}

/* "live 1s", or the age of the figures of a single server and the time of the next try. */
static int screen_link_words(const struct frame *frame, bool shows_fleet, char *out,
                             size_t out_bytes) {
    char age[FORMAT_BYTES];
    if (frame->is_past) {
        return screen_past_words(frame, out, out_bytes);
    }
    uint64_t age_ms = model_age_ms(frame->model, frame->now_ms);
    format_age(age, age_ms == UINT64_MAX ? NAN : (double)(age_ms / 1000));
    if (!shows_fleet && model_link(frame->model) == LINK_DOWN) {
        unsigned wait_s = frame->retry_ms > frame->now_ms
                              ? (unsigned)((frame->retry_ms - frame->now_ms + 999) / 1000)
                              : 0;
        if (wait_s > 0) {
            snprintf(out, out_bytes, "DOWN, next try in %us", wait_s);
        } else {
            snprintf(out, out_bytes, "DOWN, trying");
        }
        return STYLE_BAD;
    }
    if (!shows_fleet && health_is_stale(frame->model, frame->now_ms, frame->interval_ms)) {
        snprintf(out, out_bytes, "STALE %s", age);
        return STYLE_BAD;
    }
    if (!shows_fleet && age_ms == UINT64_MAX) {
        snprintf(out, out_bytes, "connecting");
        return STYLE_WARN;
    }
    snprintf(out, out_bytes, "live %.3gs", (double)frame->interval_ms / 1000);
    return STYLE_TITLE;
}

/* "  TRIAL 4:30": the time left of the trial; "" without a trial. */
static void screen_trial_words(const struct frame *frame, char *out, size_t out_bytes) {
    out[0] = '\0';
    if (frame->has_trial && frame->trial_left_s == 0) {
        snprintf(out, out_bytes, "  TRIAL over");
    } else if (frame->has_trial) {
        snprintf(out, out_bytes, "  TRIAL %u:%02u", frame->trial_left_s / 60,
                 frame->trial_left_s % 60);
    }
}

static void screen_draw_title(const struct frame *frame, bool shows_fleet, struct cells *cells) {
    cells_fill(cells, (struct rect){0, 0, 1, cells->width}, ' ', STYLE_TITLE);
    char right[80], words[80], clock_text[FORMAT_BYTES];
    int words_style = screen_link_words(frame, shows_fleet, words, sizeof words);
    if (frame->is_replay && frame->loaded_share < 1) {
        snprintf(right, sizeof right, "  loading %.0f%% ", 100 * frame->loaded_share);
    } else if (frame->is_replay) {
        snprintf(right, sizeof right, "  REPLAY ");
    } else {
        char trial[24];
        screen_trial_words(frame, trial, sizeof trial);
        snprintf(right, sizeof right, "%s%s  %s  %s ", trial, frame->is_recorded ? "  rec" : "",
                 frame->locked != NULL ? frame->locked : "rw",
                 format_clock(clock_text, frame->wall));
    }
    int right_width = cells_width_of(right), words_width = cells_width_of(words);
    cells_text_right(cells, 0, cells->width, STYLE_TITLE, right);
    int words_x = cells->width - right_width - words_width;
    cells_text(cells, 0, words_x, (uint8_t)words_style, words);
    const struct snapshot *now = model_now(frame->model);
    char left[NOTE_BYTES + 120];
    if (shows_fleet) {
        snprintf(left, sizeof left, " slatetop  %u server%s", frame->server_count,
                 frame->server_count == 1 ? "" : "s");
    } else {
        snprintf(left, sizeof left, " slatetop  %s  %s %s", model_server(frame->model),
                 now == NULL ? "" : snapshot_software(now),
                 now == NULL ? "" : snapshot_version(now));
    }
    cells_text_fit(cells, 0, 0, words_x - 2, STYLE_TITLE, left);
}

/* True if a view has a tab: views whose key is a number do; those with a letter only while open. */
static bool screen_has_tab(const struct ui *ui, unsigned view) {
    uint32_t key = key_of_command(view_list[view]->open);
    return ui->view == view || (key >= '0' && key <= '9');
}

/* Draws names if all fit; else the name of the open view and the keys of the others. */
static void screen_draw_tabs(const struct ui *ui, struct cells *cells) {
    int x = 0, width = 1; /* minus the last blank, plus two brackets */
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        width += screen_has_tab(ui, i) ? cells_width_of(view_list[i]->name) + 3 : 0;
    }
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        char key[KEY_NAME_BYTES];
        if (!screen_has_tab(ui, i)) {
            continue;
        }
        key_label(key_of_command(view_list[i]->open), key);
        int from = x;
        if (ui->view == i) {
            x = cells_printf(cells, 1, x, STYLE_STRONG, "[%s %s] ", key, view_list[i]->name);
        } else {
            x = cells_printf(cells, 1, x, STYLE_DIM, width > cells->width ? "%s " : "%s %s ", key,
                             view_list[i]->name);
        }
        cells_hot(cells, (struct rect){1, from, 1, x - from}, HOT_VIEW, i);
    }
}

enum scope screen_scope(const struct ui *ui) {
    return ui->help_is_open             ? (ui->help_is_searched ? SCOPE_FILTER : SCOPE_HELP)
           : ui->palette.is_open        ? SCOPE_PALETTE
           : ui->review.is_open         ? SCOPE_REVIEW
           : ui->classes.edits_filter   ? SCOPE_FILTER
           : ui->tune.edits             ? SCOPE_VALUE
           : ui->why.is_open            ? SCOPE_WHY
           : ui->columns.is_open        ? SCOPE_COLUMNS
           : ui->explain.is_open        ? SCOPE_EXPLAIN
                                        : view_current(ui)->scope;
}

static int screen_bar_width(const struct key_row *row, bool is_wide) {
    char key[KEY_NAME_BYTES], names[40];
    const char *shown = is_wide ? key_row_names(row, names, sizeof names)
                                : key_label(key_row_bar_key(row), key);
    return cells_width_of(shown) + cells_width_of(row->bar) + (is_wide ? 3 : 1);
}

static bool screen_is_in_bar(const struct key_row *row, enum scope scope) {
    return (row->scopes & (unsigned)scope) && row->bar != NULL;
}

/* Draws keys from the left while there is room; the last one, which leaves, always has room. */
static void screen_draw_keys(enum scope scope, struct cells *cells) {
    int y = cells->height - 1, x = 0;
    cells_fill(cells, (struct rect){y, 0, 1, cells->width}, ' ', STYLE_KEYBAR);
    bool is_wide = cells->width >= 110;
    const struct key_row *last = NULL;
    for (unsigned i = 0; i < key_row_count; i++) {
        last = screen_is_in_bar(&key_rows[i], scope) ? &key_rows[i] : last;
    }
    int reserved = last != NULL ? screen_bar_width(last, is_wide) - 1 : 0;
    for (unsigned i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        char key[KEY_NAME_BYTES], names[40];
        if (!screen_is_in_bar(row, scope) ||
            (row != last && x + screen_bar_width(row, is_wide) + reserved > cells->width)) {
            continue;
        }
        const char *shown = is_wide ? key_row_names(row, names, sizeof names)
                                    : key_label(key_row_bar_key(row), key);
        int from = x;
        x = cells_text(cells, y, x, STYLE_STRONG, shown);
        x = cells_printf(cells, y, x, STYLE_KEYBAR, is_wide ? " %s" : "%s", row->bar) +
            (is_wide ? 2 : 1);
        cells_hot(cells, (struct rect){y, from, 1, x - from - 1}, HOT_KEY, key_row_bar_key(row));
    }
}

/* Draws a message, never cut: an outcome of a change may need lines above the first. */
static void screen_draw_wrapped(struct cells *cells, uint8_t style, const char *text) {
    struct rect area = {0, 0, 3, cells->width};
    int rows = cells_paragraph(NULL, area, 0, style, text);
    area.y = cells->height - 1 - rows;
    area.height = rows;
    cells_fill(cells, area, ' ', STYLE_PLAIN);
    cells_paragraph(cells, area, 0, style, text);
}

/* Draws the typed line, and above it the reason why it was refused. */
static void screen_draw_typed(struct cells *cells, const char *what, const char *typed,
                              const char *why) {
    int y = cells->height - 2;
    cells_printf(cells, y, 0, STYLE_STRONG, what[0] != '\0' ? "%s: %s_" : "%s:%s_", what, typed);
    if (why[0] != '\0') {
        cells_fill(cells, (struct rect){y - 1, 0, 1, cells->width}, ' ', STYLE_PLAIN);
        cells_text_fit(cells, y - 1, 0, cells->width, STYLE_BAD, why);
    }
}

/* Draws the operator's line: typed text, a message, or the change under way. */
static void screen_draw_line(const struct frame *frame, const struct ui *ui, struct cells *cells) {
    int y = cells->height - 2;
    if (ui->help_is_open && ui->help_is_searched) {
        screen_draw_typed(cells, "search", ui->help_searched, "");
    } else if (ui->palette.is_open) {
        screen_draw_typed(cells, "", ui->palette.typed, ui->palette.why);
    } else if (ui->classes.edits_filter) {
        screen_draw_typed(cells, "filter", ui->classes.typed, ui->classes.typed_why);
    } else if (ui->tune.edits) {
        screen_draw_typed(cells, "new value", ui->tune.typed, ui->tune.typed_why);
    } else if (frame->message[0] != '\0') {
        screen_draw_wrapped(cells, STYLE_STRONG, frame->message);
    } else if (frame->under_way[0] != '\0') {
        screen_draw_wrapped(cells, STYLE_STRONG, frame->under_way);
    } else if (model_link(frame->model) == LINK_DOWN) {
        cells_text_fit(cells, y, 0, cells->width, STYLE_BAD, model_link_note(frame->model));
    }
}

/* Dims old figures, so that nobody takes them for current ones; the title says so, too. */
static void screen_dim_cells(struct cells *cells, struct rect area) {
    for (int y = area.y; y < area.y + area.height; y++) {
        for (int x = area.x; x < area.x + area.width; x++) {
            struct cell *cell = &cells->grid[y * cells->width + x];
            cell->style = (uint8_t)(STYLE_DIM | (cell->style & CELL_SELECTED));
        }
    }
}

void screen_wants(const struct ui *ui, struct wants *wants) {
    const struct view *view = view_current(ui);
    *wants = (struct wants){.class_id = ui->focus};
    if (ui->review.is_open || ui->palette.is_open) { /* the palette offers settings and values */
        wants->inquiries |= INQUIRY_BIT(SETTINGS) | INQUIRY_BIT(CONFIG) | INQUIRY_BIT(POLICIES);
    }
    for (unsigned i = 0; ui->review.is_open && i < ui->review.plan.count; i++) {
        forecast_wants(&ui->review.plan.steps[i], wants);
    }
    wants->inquiries |= view->inquiries;
    if (view->wants != NULL) {
        view->wants(ui, wants);
    }
    wants->inquiries |= ui->why.is_open ? WHY_WANTS : 0;
}

void screen_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    cells_clear(cells);
    ui->review.is_seen = false;
    if (cells->width < SCREEN_LEAST_WIDTH || cells->height < SCREEN_LEAST_HEIGHT) {
        cells_printf(cells, 0, 0, STYLE_STRONG, "need %dx%d", SCREEN_LEAST_WIDTH,
                     SCREEN_LEAST_HEIGHT);
        return;
    }
    screen_draw_title(frame, view_current(ui) == &fleet_view, cells);
    screen_draw_tabs(ui, cells);
    struct rect area = {2, 0, cells->height - 4, cells->width};
    const struct view *view = view_current(ui);
    view->draw(frame, ui, cells, area);
    bool shows_age = view != &events_view && view != &fleet_view;
    if (shows_age && health_is_stale(frame->model, frame->now_ms, frame->interval_ms)) {
        screen_dim_cells(cells, area);
    }
    if (ui->explain.is_open) {
        overlay_draw_explain(ui, cells);
    }
    if (ui->why.is_open) {
        overlay_draw_why(frame, ui, cells);
    }
    if (ui->columns.is_open) {
        overlay_draw_columns(ui, cells);
    }
    if (ui->review.is_open) {
        review_draw(frame, ui, cells);
    }
    if (ui->palette.is_open) {
        palette_draw(frame, ui, cells);
    }
    if (ui->help_is_open) {
        help_draw(ui, ui->review.is_open ? SCOPE_REVIEW : view_current(ui)->scope, cells);
    }
    screen_draw_line(frame, ui, cells);
    screen_draw_keys(screen_scope(ui), cells);
}
