/* Fleet: one row a server, worst first, including dead ones; below them the pool as a whole, and
 * the oddities of the server under the cursor. */
#include "views/view.h"

#include "brain/format.h"
#include "views/review/marked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { POOL_ROWS = 4, SAID_ROWS_MOST = 3, SCREEN_STEP = 15 };

static struct fleet_row sorted[SERVER_LIMIT]; /* 40 kB: too large for a stack frame */

/* Sorts a copy: a view must not change the frame's rows. */
static void fleet_sort_rows(const struct fleet_row *rows, unsigned count, const struct ui *ui) {
    for (unsigned i = 0; i < count; i++) {
        sorted[i] = rows[i];
    }
    fleet_sort(sorted, count, &ui->fleet);
}

static double fleet_sum(const struct fleet_row *rows, unsigned count, enum fleet_column column) {
    double total = NAN;
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].is_up && rows[i].value[column] >= 0) {
            total = isnan(total) ? rows[i].value[column] : total + rows[i].value[column];
        }
    }
    return total;
}

/* "12 servers, 11 up: 551k gets/s, hits 92.3%, 7.1k evictions/s, 88.0G of memory" */
static void fleet_draw_pool(const struct frame *frame, const struct fleet_row *rows, unsigned count,
                            bool is_alone, struct cells *cells, int y, int width) {
    char gets[FORMAT_BYTES], hit[FORMAT_BYTES], evictions[FORMAT_BYTES], memory[FORMAT_BYTES];
    char text[NOTE_BYTES + 200];
    unsigned up = 0;
    bool has_note = is_alone && frame->fleet_note[0] != '\0'; /* else it has a line below */
    double found = 0, requested = 0;
    for (unsigned i = 0; i < count; i++) {
        up += rows[i].is_up;
        if (rows[i].is_up && rows[i].value[FLEET_GETS] > 0 && rows[i].value[FLEET_HIT] >= 0) {
            requested += rows[i].value[FLEET_GETS];
            found += rows[i].value[FLEET_GETS] * rows[i].value[FLEET_HIT];
        }
    }
    snprintf(text, sizeof text,
             "%u server%s, %u up: %s gets/s, hits %s%%, %s evictions/s, %s memory%s%s", count,
             count == 1 ? "" : "s", up, format_count(gets, fleet_sum(rows, count, FLEET_GETS)),
             format_percent(hit, requested > 0 ? found / requested : NAN),
             format_count(evictions, fleet_sum(rows, count, FLEET_EVICTIONS)),
             format_bytes(memory, fleet_sum(rows, count, FLEET_MEMORY)), has_note ? "; " : "",
             has_note ? frame->fleet_note : "");
    cells_text_fit(cells, y, 0, width, up < count ? STYLE_WARN : STYLE_PLAIN, text);
}

/* Draws the words of the server under the cursor, and how it differs from the others. Returns the
 * rows. NULL cells: only counts them. */
static int fleet_draw_selected(const struct fleet_row *row, struct cells *cells, int y, int width) {
    char text[2 * NOTE_BYTES], figure[40];
    bool is_odd = row->is_up && row->is_odd;
    uint8_t style = is_odd || !row->is_up ? STYLE_BAD : STYLE_PLAIN;
    if (is_odd) {
        snprintf(text, sizeof text,
                 "%s is far from the pool: %s %s, %.1f deviations from the median; %s",
                 model_server(row->model), fleet_columns[row->odd].head,
                 fleet_text(row, row->odd, figure), row->value[FLEET_Z], row->words);
    } else {
        snprintf(text, sizeof text, "%s: %s", model_server(row->model), row->words);
    }
    return cells_paragraph(cells, (struct rect){y, 0, SAID_ROWS_MOST, width}, 0, style, text);
}

static void fleet_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                       struct rect area) {
    const struct fleet_row *rows = sorted;
    unsigned count = frame->server_count;
    bool has_room = area.height >= 12;
    fleet_sort_rows(frame->servers, count, ui);
    if (count == 0) {
        cells_text_fit(cells, area.y, 0, area.width, STYLE_WARN,
                       frame->fleet_note[0] != '\0' ? frame->fleet_note
                                                    : "looking up the list of servers");
        return;
    }
    const struct fleet_row *selected = &rows[fleet_row_at(rows, count, &ui->fleet)];
    int foot = has_room ? POOL_ROWS - 1 + fleet_draw_selected(selected, NULL, 0, area.width) : 1;
    struct rect table = {area.y, area.x, area.height - foot, area.width};
    fleet_table_draw(rows, count, &ui->fleet, frame->now_ms, cells, table);
    int y = area.y + area.height - foot;
    if (has_room) {
        cells_rule(cells, y++, area.x, area.width,
                   ui->fleet.has_order ? "pool" : "pool: worst first");
    }
    fleet_draw_pool(frame, rows, count, !has_room, cells, y++, area.width);
    if (has_room) {
        y += fleet_draw_selected(selected, cells, y, area.width);
        char text[NOTE_BYTES] =
            "keys act on the server under the cursor: Enter opens it, m marks it";
        if (marked_count(ui) > 0) {
            snprintf(text, sizeof text,
                     "◆ %u marked: t, or :set NAME VALUE, opens one review for all of them",
                     marked_count(ui));
        }
        bool has_note =
            frame->fleet_note[0] != '\0'; /* a wrong list is worth more than a hint on keys */
        cells_text_fit(cells, y, 0, area.width, has_note ? STYLE_WARN : STYLE_DIM,
                       has_note ? frame->fleet_note : text);
    }
}

unsigned fleet_selected(const struct fleet_row *rows, unsigned count, const struct ui *ui) {
    fleet_sort_rows(rows, count, ui);
    return count > 0 ? sorted[fleet_row_at(sorted, count, &ui->fleet)].server + 1 : 0;
}

static void fleet_move_cursor(const struct frame *frame, struct ui *ui, int step) {
    unsigned count = frame->server_count;
    fleet_sort_rows(frame->servers, count, ui);
    if (count > 0) {
        unsigned at = key_step(fleet_row_at(sorted, count, &ui->fleet), step, count - 1);
        ui->fleet.cursor = sorted[at].server + 1;
    }
}

/* Steps through the orders: worst first, then by each column, then worst first again. */
static void fleet_step_sort(struct fleet_ui *fleet, int step) {
    int at = (fleet->has_order ? (int)fleet->sort + 1 : 0) + step;
    at = (at + FLEET_COLUMNS + 1) % (FLEET_COLUMNS + 1);
    fleet->has_order = at > 0;
    fleet->sort = (enum fleet_column)(at > 0 ? at - 1 : 0);
    fleet->is_ascending = fleet->sort == FLEET_HOST || fleet->sort == FLEET_HIT ||
                          fleet->sort == FLEET_AGE || fleet->sort == FLEET_UP;
}

static struct intent fleet_command(const struct frame *frame, struct ui *ui, enum command given) {
    struct intent none = {0};
    fleet_move_cursor(frame, ui, key_move_rows(given, SCREEN_STEP));
    switch (given) {
    case COMMAND_SORT_NEXT:
        fleet_step_sort(&ui->fleet, 1);
        return none;
    case COMMAND_SORT_PREVIOUS:
        fleet_step_sort(&ui->fleet, -1);
        return none;
    case COMMAND_SORT_REVERSE:
        ui->fleet.is_ascending = !ui->fleet.is_ascending;
        return none;
    case COMMAND_MARK_SERVER:
        fleet_move_cursor(frame, ui, 0);
        if (ui->fleet.cursor > 0) {
            ui->fleet.marked[ui->fleet.cursor - 1] ^= true;
            fleet_move_cursor(frame, ui, 1);
        }
        return none;
    case COMMAND_OPEN_SERVER:
        fleet_move_cursor(frame, ui, 0); /* the first row, unless another was chosen */
        return (struct intent){.kind = INTENT_OPEN_SERVER, .server = ui->fleet.cursor - 1};
    default: /* other views and the app handle the other commands */
        return none;
    }
}

static void fleet_click(struct ui *ui, enum hot_kind kind, unsigned value) {
    struct fleet_ui *fleet = &ui->fleet;
    if (kind == HOT_ROW) {
        fleet->cursor = value + 1;
    } else if (fleet->has_order && fleet->sort == (enum fleet_column)value) {
        fleet->is_ascending = !fleet->is_ascending;
    } else {
        fleet->has_order = false;
        fleet_step_sort(fleet, (int)value + 1);
    }
}

static const char *const shown[] = {
    "fleet.odd", "uptime", "memory.limit", "fleet.fill", "gets", "hit_ratio", "evictions",
    "fleet.age", "connections", "reply_ms", "fleet.proxy", NULL};

const struct view fleet_view = {.name = "Fleet",
                                .scope = SCOPE_FLEET,
                                .open = COMMAND_VIEW_FLEET,
                                .draw = fleet_draw,
                                .command = fleet_command,
                                .shown = shown,
                                .click = fleet_click};
