#include "views/view.h"

#include "facts/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void class_open(struct ui *ui, unsigned class_id) {
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
        terms_add(out, "", *term, false);
    }
}

bool detail_ready(const struct frame *frame, enum inquiry inquiry, struct cells *cells,
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
        cells_text_fit(cells, area.y, area.x, area.width, STYLE_DIM, "asking the server");
    }
    return false;
}

struct intent say(const char *format, ...) {
    struct intent intent = {.kind = INTENT_SAY};
    va_list ap;
    va_start(ap, format);
    words_vprintf(intent.text, sizeof intent.text, format, ap);
    va_end(ap);
    return intent;
}
