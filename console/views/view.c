/* The frame around every view: title, tabs, message line and key bar. */
#include "view.h"

#include "format.h"
#include "health.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct view *const view_list[] = {&overview_view, &classes_view, &events_view, NULL};

struct intent say(const char *format, ...) {
    struct intent intent = {.kind = INTENT_SAY};
    va_list ap;
    va_start(ap, format);
    vsnprintf(intent.text, sizeof intent.text, format, ap);
    va_end(ap);
    return intent;
}

/* "live 1s", or how old the figures are and when the next try comes. */
static int link_words(const struct frame *frame, char *out, size_t out_bytes) {
    char age[FORMAT_BYTES];
    uint64_t age_ms = model_age_ms(frame->model, frame->now_ms);
    format_age(age, age_ms == UINT64_MAX ? NAN : (double)(age_ms / 1000));
    if (model_link(frame->model) == LINK_DOWN) {
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
    if (health_is_stale(frame->model, frame->now_ms, frame->interval_ms)) {
        snprintf(out, out_bytes, "STALE %s", age);
        return STYLE_BAD;
    }
    if (age_ms == UINT64_MAX) {
        snprintf(out, out_bytes, "connecting");
        return STYLE_WARN;
    }
    snprintf(out, out_bytes, "live %.3gs", (double)frame->interval_ms / 1000);
    return STYLE_TITLE;
}

static void draw_title(const struct frame *frame, struct cells *cells) {
    cells_fill(cells, (struct rect){0, 0, 1, cells->width}, ' ', STYLE_TITLE);
    char right[80], words[40], clock_text[16];
    struct tm local;
    localtime_r(&frame->wall, &local);
    strftime(clock_text, sizeof clock_text, "%H:%M:%S", &local);
    int words_style = link_words(frame, words, sizeof words);
    snprintf(right, sizeof right, "  %s  %s ", frame->read_only ? "READ-ONLY" : "rw", clock_text);
    int right_width = cells_width_of(right), words_width = cells_width_of(words);
    cells_text_right(cells, 0, cells->width, STYLE_TITLE, right);
    int words_x = cells->width - right_width - words_width;
    cells_text(cells, 0, words_x, (uint8_t)words_style, words);
    const struct snapshot *now = model_now(frame->model);
    char left[NOTE_BYTES + 80];
    snprintf(left, sizeof left, " slatetop  %s  %s %s", model_server(frame->model),
             now == NULL ? "" : snapshot_software(now), now == NULL ? "" : snapshot_version(now));
    cells_text_fit(cells, 0, 0, words_x - 2, STYLE_TITLE, left);
}

static void draw_tabs(const struct ui *ui, struct cells *cells) {
    int x = 0;
    for (unsigned i = 0; view_list[i] != NULL; i++) {
        bool is_open = ui->view == i;
        x = cells_printf(cells, 1, x, is_open ? STYLE_STRONG : STYLE_DIM,
                         is_open ? "[%u %s]" : " %u %s ", i + 1, view_list[i]->name);
        x++;
    }
}

static enum scope scope_of(const struct ui *ui) {
    if (ui->review.is_open) {
        return SCOPE_REVIEW;
    }
    if (ui->classes.edits_filter) {
        return SCOPE_FILTER;
    }
    return ui->help_is_open ? SCOPE_HELP : view_list[ui->view]->scope;
}

static void draw_key_bar(enum scope scope, struct cells *cells) {
    int y = cells->height - 1, x = 0;
    cells_fill(cells, (struct rect){y, 0, 1, cells->width}, ' ', STYLE_KEYBAR);
    bool is_wide = cells->width >= 110;
    for (unsigned i = 0; i < key_row_count; i++) {
        const struct key_row *row = &key_rows[i];
        char key[KEY_NAME_BYTES], names[40];
        if (!(row->scopes & (unsigned)scope) || row->bar == NULL) {
            continue;
        }
        const char *shown = is_wide ? key_row_names(row, names, sizeof names)
                                    : key_label(key_row_bar_key(row), key);
        int width = cells_width_of(shown) + cells_width_of(row->bar) + (is_wide ? 3 : 1);
        if (x + width > cells->width) {
            break;
        }
        x = cells_text(cells, y, x, STYLE_STRONG, shown);
        x = cells_printf(cells, y, x, STYLE_KEYBAR, is_wide ? " %s  " : "%s ", row->bar);
    }
}

/* The operator's line: what is being typed, what just happened, or what is under way. */
static void draw_message(const struct frame *frame, const struct ui *ui, struct cells *cells) {
    int y = cells->height - 2;
    if (ui->classes.edits_filter) {
        cells_printf(cells, y, 0, STYLE_STRONG, "filter: %s_", ui->classes.typed);
    } else if (frame->message[0] != '\0') {
        cells_text_fit(cells, y, 0, cells->width, STYLE_STRONG, frame->message);
    } else if (frame->job->state == JOB_RUNNING) {
        cells_text_fit(cells, y, 0, cells->width, STYLE_STRONG, frame->job->outcome);
    } else if (model_link(frame->model) == LINK_DOWN) {
        cells_text_fit(cells, y, 0, cells->width, STYLE_BAD, model_link_note(frame->model));
    }
}

/* Old figures are shown dim, so that nobody takes them for now; the words are in the title. */
static void dim(struct cells *cells, struct rect area) {
    for (int y = area.y; y < area.y + area.height; y++) {
        for (int x = area.x; x < area.x + area.width; x++) {
            struct cell *cell = &cells->grid[y * cells->width + x];
            cell->style = (uint8_t)(STYLE_DIM | (cell->style & CELL_SELECTED));
        }
    }
}

void screen_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    cells_clear(cells);
    if (cells->width < SCREEN_LEAST_WIDTH || cells->height < SCREEN_LEAST_HEIGHT) {
        cells_printf(cells, 0, 0, STYLE_STRONG, "need %dx%d", SCREEN_LEAST_WIDTH,
                     SCREEN_LEAST_HEIGHT);
        return;
    }
    draw_title(frame, cells);
    draw_tabs(ui, cells);
    struct rect area = {2, 0, cells->height - 4, cells->width};
    view_list[ui->view]->draw(frame, ui, cells, area);
    if (ui->view != 2 && health_is_stale(frame->model, frame->now_ms, frame->interval_ms)) {
        dim(cells, area);
    }
    if (ui->help_is_open) {
        help_draw(ui, view_list[ui->view]->scope, cells);
    }
    if (ui->review.is_open) {
        review_draw(frame, ui, cells);
    }
    draw_message(frame, ui, cells);
    draw_key_bar(scope_of(ui), cells);
}
