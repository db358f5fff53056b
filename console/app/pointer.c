#include "app/pointer.h"

#include "app/keys.h"

enum { WHEEL_ROWS = 3 };

void handle_pointer(struct app *app, uint64_t now_ms) {
    struct pointer pointer = term_pointer();
    if (pointer.act != POINTER_CLICK) {
        uint32_t key = pointer.act == POINTER_WHEEL_UP ? KEY_ARROW_UP : KEY_ARROW_DOWN;
        for (int i = 0; i < WHEEL_ROWS && !app->ui.review.is_open; i++) {
            handle_key(app, key, now_ms);
        }
        return;
    }
    const struct hotspot *hot =
        app->cells != NULL ? cells_hot_at(app->cells, pointer.y, pointer.x) : NULL;
    if (hot == NULL || app->ui.review.is_open) { /* nothing is sent by a slip of the hand */
        return;
    }
    const struct view *view = view_current(&app->ui);
    switch (hot->kind) {
    case HOT_KEY:
        handle_key(app, hot->value, now_ms);
        break;
    case HOT_VIEW:
        view_open(&app->ui, hot->value);
        break;
    case HOT_SORT:
    case HOT_ROW:
        view_click(view, &app->ui, hot->kind, hot->value);
        follow_row(app, true);
        break;
    case HOT_NOTHING:
        break;
    }
    app->is_dirty = true;
}
