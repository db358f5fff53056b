#include "class_table.h"

#include "action.h"
#include "class_filter.h"
#include "format.h"
#include "health.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct class_column_row class_columns[COLUMN_COUNT] = {
    [COLUMN_ID] = {"CL", "class", 3, 0, "slab class id"},
    [COLUMN_SIZE] = {"SIZE", "size", 6, 4,
                     "chunk size in bytes: the largest item of the class with its header"},
    [COLUMN_PAGES] = {"PAGES", "pages", 5, 1, "pages (usually 1 MiB) that the class owns"},
    [COLUMN_CHANGE] = {"Δ1m", "change", 4, 5, "change of PAGES within the last minute"},
    [COLUMN_USED] = {"USED", "used", 5, 7, "chunks in use"},
    [COLUMN_FREE] = {"FREE", "free", 5, 6, "free chunks"},
    [COLUMN_ITEMS] = {"ITEMS", "items", 5, 9,
                      "items in the class; a large item may take chunks of several"},
    [COLUMN_AGE] = {"AGE", "age", 6, 3,
                    "age of the oldest item that eviction could take: small means starved"},
    [COLUMN_HITS] = {"HIT/s", "hits", 6, 2, "keys found in this class a second"},
    [COLUMN_SETS] = {"SET/s", "sets", 6, 8, "store commands for this class a second"},
    [COLUMN_EVICTIONS] = {"EV/s", "ev", 6, 1, "live items thrown out of this class a second"},
    [COLUMN_USED_PCT] = {"USED%", "usedpct", 5, 11, "share of the chunks in use"},
    [COLUMN_UNREAD_PCT] = {"UNRD%", "unread", 5, 12,
                           "share of the evicted items that were never read"},
    [COLUMN_AGE_RATIO] = {"xMED", "agex", 5, 10,
                          "AGE over the median AGE of all classes; under 0.5 starves"},
    [COLUMN_WASTE_PCT] = {"WST%", "waste", 5, 13,
                          "share of the used chunks' bytes that items do not fill"},
    [COLUMN_NO_MEMORY] = {"OOM/s", "oom", 5, 14, "sets refused for want of memory a second"},
};

enum { MARK_WIDTH = 2, TREND_LEAST = 8, STATE_WIDTH = 11, LAST_MAIN_RANK = 9, LAST_RANK = 14 };

void class_table_init(struct class_table_ui *ui) {
    *ui = (struct class_table_ui){.source = -1, .sort = COLUMN_EVICTIONS, .window_ms = 10000};
}

static double rate(const struct model *model, unsigned id, enum class_metric metric,
                   uint64_t window_ms) {
    return window_ms <= 1000 ? model_class_metric(model, id, metric)
                             : model_class_mean(model, id, metric, window_ms);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_age(const struct model *model) {
    const struct snapshot *now = model_now(model);
    double ages[CLASS_LIMIT];
    size_t count = 0;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        uint64_t age = class_tail_age(&now->classes[id]);
        if (age != STAT_ABSENT) {
            ages[count++] = (double)age;
        }
    }
    qsort(ages, count, sizeof *ages, compare_doubles);
    return count > 0 ? ages[count / 2] : NAN;
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

double class_table_value(const struct model *model, unsigned id, enum class_column column,
                         uint64_t window_ms) {
    const struct snapshot *now = model_now(model);
    const struct class_stats *stats = &now->classes[id];
    double used = stat_number(stats->value[CLASS_used_chunks]);
    switch (column) {
    case COLUMN_ID:
        return id;
    case COLUMN_SIZE:
        return stat_number(stats->value[CLASS_chunk_size]);
    case COLUMN_PAGES:
        return stat_number(stats->value[CLASS_total_pages]);
    case COLUMN_CHANGE:
        return model_page_change(model, id, PAGE_CHANGE_WINDOW_MS);
    case COLUMN_USED:
        return used;
    case COLUMN_FREE:
        return stat_number(class_free_chunks(stats));
    case COLUMN_ITEMS:
        return stat_number(stats->value[CLASS_number]);
    case COLUMN_AGE:
        return stat_number(class_tail_age(stats));
    case COLUMN_HITS:
        return rate(model, id, CLASS_METRIC_HITS, window_ms);
    case COLUMN_SETS:
        return rate(model, id, CLASS_METRIC_SETS, window_ms);
    case COLUMN_EVICTIONS:
        return rate(model, id, CLASS_METRIC_EVICTIONS, window_ms);
    case COLUMN_USED_PCT:
        return ratio(used, stat_number(stats->value[CLASS_total_chunks]));
    case COLUMN_UNREAD_PCT:
        return ratio(rate(model, id, CLASS_METRIC_UNREAD, window_ms),
                     rate(model, id, CLASS_METRIC_EVICTIONS, window_ms));
    case COLUMN_AGE_RATIO:
        return ratio(stat_number(class_tail_age(stats)), median_age(model));
    case COLUMN_WASTE_PCT: {
        double bytes = used * stat_number(stats->value[CLASS_chunk_size]);
        double waste = ratio(bytes - stat_number(stats->value[CLASS_mem_requested]), bytes);
        return waste < 0 ? NAN
                         : waste; /* chunked items are booked in one class and stored in several */
    }
    case COLUMN_NO_MEMORY:
        return rate(model, id, CLASS_METRIC_NO_MEMORY, window_ms);
    case COLUMN_COUNT:
        break;
    }
    return NAN;
}

double class_table_shown_value(const struct model *model, unsigned id, enum class_column column,
                               uint64_t window_ms) {
    bool is_share =
        column == COLUMN_USED_PCT || column == COLUMN_UNREAD_PCT || column == COLUMN_WASTE_PCT;
    double value = class_table_value(model, id, column, window_ms);
    return is_share && value > 0 ? value * 100 : value;
}

const char *class_table_text(const struct model *model, unsigned id, enum class_column column,
                             uint64_t window_ms, char out[16]) {
    double value = class_table_value(model, id, column, window_ms);
    switch (column) {
    case COLUMN_ID:
    case COLUMN_SIZE:
        return value < 1e6 ? format_exact(out, isnan(value) ? STAT_ABSENT : (uint64_t)value)
                           : format_bytes(out, value);
    case COLUMN_CHANGE:
        return format_delta(out, value);
    case COLUMN_AGE:
        return format_age(out, value);
    case COLUMN_USED_PCT:
    case COLUMN_UNREAD_PCT:
    case COLUMN_WASTE_PCT:
        return format_percent(out, value);
    case COLUMN_PAGES:
    case COLUMN_USED:
    case COLUMN_FREE:
    case COLUMN_ITEMS:
    case COLUMN_HITS:
    case COLUMN_SETS:
    case COLUMN_EVICTIONS:
    case COLUMN_AGE_RATIO:
    case COLUMN_NO_MEMORY:
    case COLUMN_COUNT:
        break;
    }
    return format_count(out, value);
}

static bool is_idle(const struct model *model, unsigned id, uint64_t window_ms) {
    return !(rate(model, id, CLASS_METRIC_HITS, window_ms) > 0) &&
           !(rate(model, id, CLASS_METRIC_SETS, window_ms) > 0) &&
           !(rate(model, id, CLASS_METRIC_EVICTIONS, window_ms) > 0);
}

struct sortable {
    double key;
    unsigned id;
};

/* Unknown values go last in either direction; equal ones by class id, so that rows do not dance. */
static int compare_rows(const struct sortable *a, const struct sortable *b, bool is_ascending) {
    if (isnan(a->key) || isnan(b->key)) {
        if (isnan(a->key) != isnan(b->key)) {
            return isnan(a->key) ? 1 : -1;
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
        if (!now->classes[id].present || (ui->hides_idle && is_idle(model, id, ui->window_ms)) ||
            !class_filter_passes(ui->filter, model, id, ui->window_ms)) {
            continue;
        }
        struct sortable row = {class_table_value(model, id, ui->sort, ui->window_ms), id};
        unsigned at = count++;
        for (; at > 0 && compare_rows(&rows[at - 1], &row, ui->is_ascending) > 0; at--) {
            rows[at] = rows[at - 1];
        }
        rows[at] = row;
    }
    for (unsigned i = 0; i < count; i++) {
        ids[i] = rows[i].id;
    }
    return count;
}

/* Which columns fit, where the rest goes. */
struct layout {
    bool shown[COLUMN_COUNT];
    bool has_state;
    int trends; /* 0, 1 (evictions) or 2 (pages too) */
    int trend_width;
};

/* Shows the columns whose rank is in first..last while they fit; returns the width that is left. */
static int take_columns(struct layout *layout, int left, int first, int last) {
    for (int rank = first; rank <= last; rank++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            if (class_columns[column].rank == rank && left >= class_columns[column].width + 1) {
                layout->shown[column] = true;
                left -= class_columns[column].width + 1;
            }
        }
    }
    return left;
}

/* The main columns come first, then a short trend, then the state in words, then the rest; what is
 * left makes the trends longer, and when there is much left there are two. */
static struct layout lay_out(int width) {
    struct layout layout = {0};
    int left = take_columns(&layout, width - MARK_WIDTH, 0, LAST_MAIN_RANK);
    int reserved = left >= TREND_LEAST + 1 ? TREND_LEAST + 1 : 0;
    left -= reserved;
    if (reserved > 0 && left >= STATE_WIDTH + 1) {
        layout.has_state = true;
        left -= STATE_WIDTH + 1;
    }
    left = take_columns(&layout, left, LAST_MAIN_RANK + 1, LAST_RANK) + reserved;
    layout.trends = left >= 2 * (2 * TREND_LEAST + 1) ? 2 : left >= TREND_LEAST + 1 ? 1 : 0;
    layout.trend_width = layout.trends > 0 ? left / layout.trends - 1 : 0;
    return layout;
}

static void draw_heads(const struct class_table_ui *ui, struct cells *cells, struct rect area,
                       const struct layout *layout) {
    cells_fill(cells, (struct rect){area.y, area.x, 1, area.width}, ' ', STYLE_HEADER);
    int x = area.x + MARK_WIDTH;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!layout->shown[column]) {
            continue;
        }
        int end = x + class_columns[column].width;
        bool is_sort = (int)ui->sort == column;
        cells_text_right(cells, area.y, end, is_sort ? STYLE_STRONG : STYLE_HEADER,
                         class_columns[column].head);
        if (is_sort) {
            cells_text(cells, area.y, end, STYLE_STRONG, ui->is_ascending ? "▲" : "▼");
        }
        x = end + 1;
    }
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

static enum style state_style(enum class_state state) {
    return state == CLASS_STARVING ? STYLE_BAD : state == CLASS_SPARE ? STYLE_GOOD : STYLE_PLAIN;
}

static const char *state_mark(enum class_state state) {
    return state == CLASS_STARVING ? "!" : state == CLASS_SPARE ? "+" : " ";
}

static void draw_trend(const struct model *model, struct cells *cells, int y, int x, int width,
                       unsigned id, enum class_metric metric) {
    float values[1000];
    int count = model_class_history(model, id, metric, values, width < 1000 ? width : 1000);
    cells_graph(cells, (struct rect){y, x, 1, width}, STYLE_GRAPH, values, count, 0);
}

static void draw_row(const struct model *model, const struct class_table_ui *ui,
                     struct cells *cells, struct rect row, const struct layout *layout,
                     unsigned id) {
    enum class_state state = health_class_state(model, id);
    cells_text(cells, row.y, row.x, STYLE_STRONG, (int)id == ui->source ? "◀" : " ");
    cells_text(cells, row.y, row.x + 1, (uint8_t)state_style(state), state_mark(state));
    int x = row.x + MARK_WIDTH;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!layout->shown[column]) {
            continue;
        }
        char text[16];
        int end = x + class_columns[column].width;
        bool is_alarm =
            state == CLASS_STARVING && (column == COLUMN_EVICTIONS || column == COLUMN_ID);
        cells_text_right(
            cells, row.y, end, is_alarm ? STYLE_BAD : STYLE_PLAIN,
            class_table_text(model, id, (enum class_column)column, ui->window_ms, text));
        x = end + 1;
    }
    if (layout->has_state) {
        cells_text(cells, row.y, x + 1, (uint8_t)state_style(state), class_state_word(state));
        x += STATE_WIDTH + 1;
    }
    if (layout->trends == 2) {
        draw_trend(model, cells, row.y, x + 1, layout->trend_width, id, CLASS_METRIC_PAGES);
        x += layout->trend_width + 1;
    }
    if (layout->trends >= 1) {
        draw_trend(model, cells, row.y, x + 1, layout->trend_width, id, CLASS_METRIC_EVICTIONS);
    }
}

static bool has_total(enum class_column column) {
    switch (column) {
    case COLUMN_PAGES:
    case COLUMN_CHANGE:
    case COLUMN_ITEMS:
    case COLUMN_HITS:
    case COLUMN_SETS:
    case COLUMN_EVICTIONS:
    case COLUMN_NO_MEMORY:
        return true;
    case COLUMN_ID:
    case COLUMN_SIZE:
    case COLUMN_USED:
    case COLUMN_FREE:
    case COLUMN_AGE:
    case COLUMN_USED_PCT:
    case COLUMN_UNREAD_PCT:
    case COLUMN_AGE_RATIO:
    case COLUMN_WASTE_PCT:
    case COLUMN_COUNT:
        return false;
    }
    return false;
}

/* Sums over the rows shown; chunks of different sizes are not added up. */
static void draw_totals(const struct model *model, const struct class_table_ui *ui,
                        struct cells *cells, struct rect row, const struct layout *layout,
                        const unsigned *ids, unsigned count) {
    cells_printf(cells, row.y, row.x, STYLE_STRONG, "Σ%u", count);
    int x = row.x + MARK_WIDTH;
    for (int column = 0; column < COLUMN_COUNT; column++) {
        if (!layout->shown[column]) {
            continue;
        }
        int end = x + class_columns[column].width;
        x = end + 1;
        if (!has_total((enum class_column)column)) {
            continue;
        }
        double sum = NAN;
        for (unsigned i = 0; i < count; i++) {
            double value =
                class_table_value(model, ids[i], (enum class_column)column, ui->window_ms);
            if (!isnan(value) && (value >= 0 || column == COLUMN_CHANGE)) {
                sum = isnan(sum) ? value : sum + value;
            }
        }
        char text[16];
        cells_text_right(cells, row.y, end, STYLE_STRONG,
                         column == COLUMN_CHANGE ? format_delta(text, sum)
                                                 : format_count(text, sum));
    }
}

static unsigned row_of(const unsigned *ids, unsigned count, unsigned id) {
    for (unsigned i = 0; i < count; i++) {
        if (ids[i] == id) {
            return i;
        }
    }
    return 0;
}

static void scroll_to(struct class_table_ui *ui, unsigned row, unsigned count, unsigned visible) {
    if (row < ui->top) {
        ui->top = row;
    } else if (row >= ui->top + visible) {
        ui->top = row - visible + 1;
    }
    if (ui->top + visible > count) {
        ui->top = count > visible ? count - visible : 0;
    }
}

void class_table_draw(const struct model *model, struct class_table_ui *ui, struct cells *cells,
                      struct rect area, bool with_cursor) {
    unsigned ids[CLASS_LIMIT];
    unsigned count = class_table_rows(model, ui, ids);
    struct layout layout = lay_out(area.width);
    draw_heads(ui, cells, area, &layout);
    if (model_now(model) == NULL || area.height < 2) {
        return;
    }
    unsigned room = (unsigned)area.height - 1;
    bool totals = with_cursor && room >= 4;
    unsigned visible = totals ? room - 1 : room;
    unsigned cursor = row_of(ids, count, ui->cursor);
    unsigned top = 0;
    if (with_cursor) {
        ui->cursor = count > 0 ? ids[cursor] : 0;
        scroll_to(ui, cursor, count, visible);
        top = ui->top;
    }
    for (unsigned i = 0; i < visible && top + i < count; i++) {
        struct rect row = {area.y + 1 + (int)i, area.x, 1, area.width};
        draw_row(model, ui, cells, row, &layout, ids[top + i]);
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
                                                               : "no class has pages yet");
    }
    if (totals) {
        draw_totals(model, ui, cells,
                    (struct rect){area.y + area.height - 1, area.x, 1, area.width}, &layout, ids,
                    count);
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
    int row = (int)row_of(ids, count, ui->cursor) + rows;
    row = row < 0 ? 0 : row >= (int)count ? (int)count - 1 : row;
    ui->cursor = ids[row];
}
