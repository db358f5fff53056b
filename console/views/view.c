#include "views/view.h"

#include "facts/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint8_t view_tone_style(enum tone tone, enum style plain) {
    return (uint8_t)(tone == TONE_BAD    ? STYLE_BAD
                     : tone == TONE_WARN ? STYLE_WARN
                     : tone == TONE_GOOD ? STYLE_GOOD
                                         : plain);
}

void view_open_class(struct ui *ui, unsigned class_id) {
    if (class_id > 0 && class_id < CLASS_LIMIT) {
        ui->class_is_open = true;
        ui->class_top = 0;
        ui->focus = class_id;
    }
}

void view_click(const struct view *view, struct ui *ui, enum hot_kind kind, unsigned value) {
    if (view->click != NULL) {
        view->click(ui, kind, value);
    } else if (view->cursor > 0 && kind == HOT_ROW) {
        memcpy((char *)ui + view->cursor, &value, sizeof value);
    }
}

void view_terms(const struct view *view, const struct ui *ui, struct terms *out) {
    if (view->terms != NULL) {
        view->terms(ui, out);
    }
    for (const char *const *term = view->shown; *term != NULL; term++) {
        explain_add(out, "", *term, false);
    }
}

bool view_detail_ready(const struct frame *frame, enum inquiry inquiry, struct cells *cells,
                       struct rect area) {
    const struct answer *answer = &model_answers(frame->model)->of[inquiry];
    const char *why_not;
    if (answer->state == ANSWER_KNOWN) {
        return true;
    }
    if (!inquiry_is_offered(inquiry, model_now(frame->model), &why_not)) {
        cells_text_fit(cells, area.y, area.x, area.width, STYLE_WARN, why_not);
    } else if (answer->state == ANSWER_REFUSED) {
        char text[160];
        words_printf(text, sizeof text, "the server refuses: %s", answer->refusal);
        cells_text_fit(cells, area.y, area.x, area.width, STYLE_WARN, text);
    } else if (frame->is_past || frame->is_replay) {
        cells_text_fit(cells, area.y, area.x, area.width, STYLE_WARN,
                       frame->is_replay
                           ? "not recorded: a recording does not hold this"
                           : "not recorded: the past does not hold this; . returns to live");
    } else {
        cells_text_fit(cells, area.y, area.x, area.width, STYLE_DIM, "waiting for the server");
    }
    return false;
}

/* ---- overlays ---- */

enum { OVERLAY_WIDTH = 76 };

static int view_overlay_width(const struct cells *cells) {
    return cells->width < OVERLAY_WIDTH ? cells->width : OVERLAY_WIDTH;
}

struct rect view_overlay_inside(const struct cells *cells) {
    return (struct rect){0, 0, OVERLAY_ROWS_MOST, view_overlay_width(cells) - 4};
}

struct rect view_overlay_box(struct cells *cells, int rows, unsigned *top, const char *title) {
    int most = cells->height - 6, shown = rows < most ? rows : most,
        width = view_overlay_width(cells);
    struct rect box = {cells->height - 4 - shown, (cells->width - width) / 2, shown + 2, width};
    *top = key_top(*top, *top, shown > 0 ? (unsigned)shown : 0, (unsigned)rows);
    cells_box(cells, box, title);
    return (struct rect){box.y + 1, box.x + 2, shown, width - 4};
}

int view_overlay_text(struct cells *cells, struct rect inside, int line, int indent,
                      uint8_t mark_style, const char *mark, uint8_t style, const char *text) {
    struct rect area = {inside.y, inside.x + indent, OVERLAY_ROWS_MOST, inside.width - indent};
    int rows = cells_paragraph(NULL, area, 0, style, text);
    int skip = line < 0 ? -line : 0;
    area.y += line + skip;
    area.height = inside.y + inside.height - area.y;
    if (cells != NULL && rows > skip && area.height > 0) {
        cells_text(cells, area.y, inside.x, mark_style, skip == 0 ? mark : " ");
        cells_paragraph(cells, area, skip, style, text);
    }
    return rows;
}

struct intent view_say(const char *format, ...) {
    struct intent intent = {.kind = INTENT_SAY};
    va_list ap;
    va_start(ap, format);
    words_vprintf(intent.text, sizeof intent.text, format, ap);
    va_end(ap);
    return intent;
}
