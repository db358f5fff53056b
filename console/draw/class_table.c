#include "draw/class_table.h"

#include "brain/brain.h"
#include "brain/brain_query.h"
#include "brain/format.h"
#include "brain/health.h"
#include "brain/own_rules.h"
#include "draw/class_filter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* the operator's own columns come before columns that show known figures in other units */
enum { OWN_AFTER_RANK = 4 };
enum {
    MARK_WIDTH = 2,
    TREND_LEAST = 8,
    STATE_WIDTH = 11,
    LAST_MAIN_RANK = 9,
    LAST_TREND_RANK = 14,
    LAST_RANK = 18
};
enum { TWO_TRENDS = 2 * (2 * TREND_LEAST + 1), LONG_TRENDS = 2 * (19 + 1) };

void class_table_init(struct class_table_ui *ui) {
    *ui = (struct class_table_ui){.source = -1, .sort = COLUMN_EVICTIONS, .window_ms = 10000};
    class_table_reset_columns(ui);
}

void class_table_reset_columns(struct class_table_ui *ui) {
    for (int i = 0; i < COLUMN_COUNT; i++) {
        ui->order[i] = (uint8_t)i;
        ui->choice[i] = COLUMN_AUTO;
    }
}

const char *class_table_head(unsigned column) {
    return column < COLUMN_COUNT                          ? class_columns[column].head
           : column - COLUMN_COUNT < own_rules_columns() ? own_rules_title(column - COLUMN_COUNT)
                                                          : "";
}

void class_table_edit(struct class_table_ui *ui, enum command command, uint32_t key) {
    ui->typed_why[0] = '\0';
    if (command == COMMAND_CANCEL) {
        ui->edits_filter = false;
    } else if (command != COMMAND_ACCEPT) {
        key_type(ui->typed, sizeof ui->typed, command, key);
    } else if (class_filter_check(ui->typed, ui->typed_why, sizeof ui->typed_why)) {
        memcpy(ui->filter, ui->typed, sizeof ui->filter);
        ui->edits_filter = false;
    }
}

static bool table_is_idle(const struct model *model, unsigned id, uint64_t window_ms) {
    return !(class_column_value(model, id, COLUMN_HITS, window_ms) > 0) &&
           !(class_column_value(model, id, COLUMN_SETS, window_ms) > 0) &&
           !(class_column_value(model, id, COLUMN_EVICTIONS, window_ms) > 0);
}

struct sortable {
    double key;
    const char *text; /* text of an own column; else "" */
    unsigned id;
};

static struct sortable table_sortable_of(const struct model *model, const struct class_table_ui *ui,
                                         unsigned id) {
    if (ui->sort < COLUMN_COUNT) {
        return (struct sortable){
            class_column_value(model, id, (enum class_column)ui->sort, ui->window_ms), "", id};
    }
    unsigned column = ui->sort - COLUMN_COUNT;
    if (column >= own_rules_columns()) {
        return (struct sortable){NAN, "", id};
    }
    return (struct sortable){brain_own_number(model, column, id),
                             brain_own_value(model, column, id), id};
}

/* Orders two rows. Unknown values go last in either direction; texts go by letters; equal rows go
 * by class id, so that they do not change places. */
static int table_compare(const struct sortable *a, const struct sortable *b, bool is_ascending) {
    if (isnan(a->key) || isnan(b->key)) {
        int order = strcmp(a->text, b->text);
        if (isnan(a->key) != isnan(b->key)) {
            return isnan(a->key) ? 1 : -1;
        } else if (order != 0) {
            return (order > 0) == is_ascending ? 1 : -1;
        }
    } else if (a->key != b->key) {
        return (a->key > b->key) == is_ascending ? 1 : -1;
    }
    return a->id > b->id ? 1 : -1;
}

unsigned class_table_rows(const struct model *model, const struct class_table_ui *ui,
                          unsigned ids[CLASS_LIMIT]) {
    struct sortable rows[CLASS_LIMIT];
    unsigned count = 0;
    const struct snapshot *now = model_now(model);
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        if (!snapshot_class(now, id)->present ||
            (ui->hides_idle && table_is_idle(model, id, ui->window_ms)) ||
            !class_filter_passes(ui->filter, model, id, ui->window_ms)) {
            continue;
        }
        struct sortable row = table_sortable_of(model, ui, id);
        unsigned at = count++;
        for (; at > 0 && table_compare(&rows[at - 1], &row, ui->is_ascending) > 0; at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
    for (unsigned i = 0; i < count; i++) {
        ids[i] = rows[i].id;
    }
    return count;
}

/* The position of a column, from the left edge of the table. */
struct placed {
    unsigned column; /* numbered as in class_table_ui.sort */
    int end, width;
};

/* The columns that fit, and the use of the space left. */
struct layout {
    bool shown[COLUMN_COUNT];
    unsigned own;   /* how many of the operator's own columns are shown */
    unsigned count; /* count of all columns */
    struct placed placed[COLUMN_COUNT + OWN_COLUMNS_MOST];
    int end; /* end of the last column, and a blank */
    bool has_state;
    int trends; /* 0, 1 (evictions) or 2 (pages too) */
    int trend_width;
};

static int table_take_column(struct layout *layout, int left, enum class_column column) {
    if (layout->shown[column] || left < class_columns[column].width + 1) {
        return left;
    }
    layout->shown[column] = true;
    return left - class_columns[column].width - 1;
}

/* Shows the columns whose rank is in first..last while they fit; returns the width that is left. */
static int table_take_columns(struct layout *layout, const struct class_table_ui *ui, int left,
                              int first, int last) {
    for (int rank = first; rank <= last; rank++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            if (class_columns[column].rank == rank && ui->choice[column] != COLUMN_NEVER) {
                left = table_take_column(layout, left, (enum class_column)column);
            }
        }
    }
    return left;
}

static void table_place_column(struct layout *layout, unsigned column, int width) {
    layout->placed[layout->count++] = (struct placed){column, layout->end + width, width};
    layout->end += width + 1;
}

/* Chooses columns in this order: the class id, the operator's choices, the main columns, a short
 * trend, the state in words, other columns. Space left makes the trend longer; much space makes two
 * trends. */
static struct layout table_lay_out(const struct class_table_ui *ui, int width) {
    struct layout layout = {0};
    int left = table_take_column(&layout, width - MARK_WIDTH, COLUMN_ID);
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (ui->choice[ui->order[i]] == COLUMN_ALWAYS) {
            left = table_take_column(&layout, left, (enum class_column)ui->order[i]);
        }
    }
    left = table_take_columns(&layout, ui, left, 0, OWN_AFTER_RANK);
    while (layout.own < own_rules_columns() && left >= own_rules_width(layout.own) + 1) {
        left -= own_rules_width(layout.own++) + 1;
    }
    left = table_take_columns(&layout, ui, left, OWN_AFTER_RANK + 1, LAST_MAIN_RANK);
    int reserved = left >= TREND_LEAST + 1 ? TREND_LEAST + 1 : 0;
    left -= reserved;
    if (reserved > 0 && left >= STATE_WIDTH + 1) {
        layout.has_state = true;
        left -= STATE_WIDTH + 1;
    }
    left = table_take_columns(&layout, ui, left, LAST_MAIN_RANK + 1, LAST_TREND_RANK) + reserved;
    if (left >= LONG_TRENDS) { /* columns of the last ranks come after both trends */
        left = table_take_columns(&layout, ui, left - LONG_TRENDS, LAST_TREND_RANK + 1, LAST_RANK) +
               LONG_TRENDS;
    }
    layout.trends = left >= TWO_TRENDS ? 2 : left >= TREND_LEAST + 1 ? 1 : 0;
    layout.trend_width = layout.trends > 0 ? left / layout.trends - 1 : 0;
    layout.end = MARK_WIDTH;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        if (layout.shown[ui->order[i]]) {
            table_place_column(&layout, ui->order[i], class_columns[ui->order[i]].width);
        }
    }
    for (unsigned i = 0; i < layout.own; i++) {
        table_place_column(&layout, COLUMN_COUNT + i, own_rules_width(i));
    }
    return layout;
}

/* True if the table, as last drawn, has the column. */
static bool table_shows(const struct class_table_ui *ui, const struct layout *layout, int place) {
    if (ui->width == 0) {
        return place >= COLUMN_COUNT || ui->choice[ui->order[place]] != COLUMN_NEVER;
    }
    return place >= COLUMN_COUNT ? place - COLUMN_COUNT < (int)layout->own
                                 : layout->shown[ui->order[place]];
}

void class_table_step_sort(struct class_table_ui *ui, int step) {
    struct layout layout = table_lay_out(ui, ui->width);
    int at = (int)ui->sort, count = COLUMN_COUNT + (int)own_rules_columns();
    for (int i = 0; i < COLUMN_COUNT; i++) {
        at = ui->order[i] == ui->sort ? i : at;
    }
    for (int tries = 0; tries < count; tries++) {
        at = (at + step + count) % count;
        if (table_shows(ui, &layout, at)) {
            break;
        }
    }
    ui->sort = at < COLUMN_COUNT ? ui->order[at] : (unsigned)at;
    ui->is_ascending = ui->sort == COLUMN_ID || ui->sort == COLUMN_SIZE;
}

static void table_draw_heads(const struct class_table_ui *ui, struct cells *cells, struct rect area,
                             const struct layout *layout) {
    cells_head(cells, area.y, area.x, area.width, "");
    for (unsigned i = 0; i < layout->count; i++) {
        const struct placed *at = &layout->placed[i];
        int end = area.x + at->end;
        bool is_sort = ui->sort == at->column;
        cells_text_right(cells, area.y, end, is_sort ? STYLE_STRONG : STYLE_HEADER,
                         class_table_head(at->column));
        cells_hot(cells, (struct rect){area.y, end - at->width, 1, at->width + 1}, HOT_SORT,
                  at->column);
        if (is_sort) {
            cells_text(cells, area.y, end, STYLE_STRONG, ui->is_ascending ? "▲" : "▼");
        }
    }
    int x = area.x + layout->end;
    if (layout->has_state) {
        cells_text(cells, area.y, x + 1, STYLE_HEADER, "STATE");
        x += STATE_WIDTH + 1;
    }
    if (layout->trends == 2) {
        cells_text_fit(cells, area.y, x + 1, layout->trend_width, STYLE_HEADER, "PAGES, history");
        x += layout->trend_width + 1;
    }
    if (layout->trends >= 1) {
        cells_text_fit(cells, area.y, x + 1, layout->trend_width, STYLE_HEADER,
                       layout->trend_width >= 19 ? "EVICTIONS/s, history" : "EV trend");
    }
}

static enum style table_state_style(enum class_state state) {
    return state == CLASS_STARVING  ? STYLE_BAD
           : state == CLASS_NO_GAIN ? STYLE_WARN
           : state == CLASS_SPARE   ? STYLE_GOOD
                                    : STYLE_PLAIN;
}

static void table_draw_trend(const struct model *model, struct cells *cells, int y, int x,
                             int width, unsigned id, enum class_metric metric) {
    float values[1000];
    int count = model_class_history(model, id, metric, values, width < 1000 ? width : 1000);
    if (metric == CLASS_METRIC_EVICTIONS) { /* only for rates: every step of pages matters */
        cells_cut_spikes(values, count);
    }
    cells_graph(cells, (struct rect){y, x, 1, width}, STYLE_GRAPH, values, count, 0);
}

static void table_draw_row(const struct model *model, const struct class_table_ui *ui,
                           struct cells *cells, struct rect row, const struct layout *layout,
                           unsigned id) {
    enum class_state state = brain_class(brain_of(model), id)->state;
    cells_text(cells, row.y, row.x, STYLE_STRONG, (int)id == ui->source ? "◀" : " ");
    cells_text(cells, row.y, row.x + 1, (uint8_t)table_state_style(state),
               state == CLASS_STARVING ? "!" : state == CLASS_SPARE ? "+" : " ");
    for (unsigned i = 0; i < layout->count; i++) {
        char text[CELL_BYTES];
        unsigned column = layout->placed[i].column;
        bool is_alarm =
            state == CLASS_STARVING && (column == COLUMN_EVICTIONS || column == COLUMN_ID);
        cells_text_right(
            cells, row.y, row.x + layout->placed[i].end, is_alarm ? STYLE_BAD : STYLE_PLAIN,
            column < COLUMN_COUNT
                ? class_column_text(model, id, (enum class_column)column, ui->window_ms, text)
                : brain_own_value(model, column - COLUMN_COUNT, id));
    }
    int x = row.x + layout->end;
    if (layout->has_state) {
        cells_text(cells, row.y, x + 1, (uint8_t)table_state_style(state), brain_class_word(state));
        x += STATE_WIDTH + 1;
    }
    if (layout->trends == 2) {
        table_draw_trend(model, cells, row.y, x + 1, layout->trend_width, id, CLASS_METRIC_PAGES);
        x += layout->trend_width + 1;
    }
    if (layout->trends >= 1) {
        table_draw_trend(model, cells, row.y, x + 1, layout->trend_width, id,
                         CLASS_METRIC_EVICTIONS);
    }
}

/* Sums over the rows shown; chunks of different sizes are not added up. */
static void table_draw_totals(const struct model *model, const struct class_table_ui *ui,
                              struct cells *cells, struct rect row, const struct layout *layout,
                              const unsigned *ids, unsigned count) {
    cells_printf(cells, row.y, row.x, STYLE_STRONG, "Σ%u", count);
    for (unsigned i = 0; i < layout->count; i++) {
        enum class_column column = (enum class_column)layout->placed[i].column;
        if (column >= COLUMN_COUNT || !class_columns[column].has_total) {
            continue;
        }
        double sum = NAN;
        for (unsigned row_at = 0; row_at < count; row_at++) {
            double value = class_column_value(model, ids[row_at], column, ui->window_ms);
            if (!isnan(value) && (value >= 0 || column == COLUMN_CHANGE)) {
                sum = isnan(sum) ? value : sum + value;
            }
        }
        char text[CELL_BYTES];
        cells_text_right(cells, row.y, row.x + layout->placed[i].end, STYLE_STRONG,
                         column == COLUMN_CHANGE ? format_delta(text, sum)
                                                 : format_count(text, sum));
    }
}

static unsigned table_row_of(const unsigned *ids, unsigned count, unsigned id) {
    for (unsigned i = 0; i < count; i++) {
        if (ids[i] == id) {
            return i;
        }
    }
    return 0;
}

void class_table_draw(const struct model *model, struct class_table_ui *ui, struct cells *cells,
                      struct rect area, bool with_cursor) {
    unsigned ids[CLASS_LIMIT];
    unsigned count = class_table_rows(model, ui, ids);
    struct layout layout = table_lay_out(ui, area.width);
    ui->width = area.width;
    table_draw_heads(ui, cells, area, &layout);
    if (model_now(model) == NULL || area.height < 2) {
        return;
    }
    unsigned room = (unsigned)area.height - 1;
    bool totals = with_cursor && room >= 4;
    unsigned visible = totals ? room - 1 : room;
    unsigned cursor = table_row_of(ids, count, ui->cursor);
    unsigned top = 0;
    if (with_cursor) {
        ui->cursor = count > 0 ? ids[cursor] : 0;
        top = ui->top = key_top(ui->top, cursor, visible, count);
    }
    for (unsigned i = 0; i < visible && top + i < count; i++) {
        struct rect row = {area.y + 1 + (int)i, area.x, 1, area.width};
        table_draw_row(model, ui, cells, row, &layout, ids[top + i]);
        cells_hot(cells, row, HOT_ROW, ids[top + i]);
        if (with_cursor && top + i == cursor) {
            if ((int)ids[cursor] != ui->source) {
                cells_text(cells, row.y, row.x, STYLE_STRONG, ">");
            }
            cells_select(cells, row.y, row.x, row.width);
        }
    }
    if (count == 0) {
        cells_text_fit(cells, area.y + 1, area.x + MARK_WIDTH, area.width - MARK_WIDTH, STYLE_DIM,
                       ui->filter[0] != '\0' || ui->hides_idle ? "no class passes the filter"
                                                               : brain_no_classes(brain_of(model)));
    }
    if (totals) {
        table_draw_totals(model, ui, cells,
                          (struct rect){area.y + area.height - 1, area.x, 1, area.width}, &layout,
                          ids, count);
        if (top + visible < count) {
            cells_text_right(cells, area.y + area.height - 1, area.x + area.width, STYLE_DIM,
                             "more ↓");
        }
    }
}

void class_table_move_cursor(const struct model *model, struct class_table_ui *ui, int rows) {
    unsigned ids[CLASS_LIMIT];
    unsigned count = class_table_rows(model, ui, ids);
    if (count == 0) {
        return;
    }
    ui->cursor = ids[key_step(table_row_of(ids, count, ui->cursor), rows, count - 1)];
}
