#include "draw/fleet_table.h"

#include "brain/brain.h"
#include "brain/format.h"
#include "brain/lua_values.h"
#include "draw/keys.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_LEAST = 12, WORDS_LEAST = 30, TRENDS_WIDTH = 2 * (FLEET_TREND + 1) };

const struct fleet_column_row fleet_columns[FLEET_COLUMNS] = {
    [FLEET_HOST] = {"SERVER", "server", 0, 0, "the address of the server"},
    [FLEET_VERSION] = {"VERSION", "version", 9, 9,
                       "version of memcached, behind a p as a proxy, or slated's own behind an s"},
    [FLEET_UP] = {"UP", "up", 6, 10, "time since the server started"},
    [FLEET_MEMORY] = {"MEM", "mem", 6, 8, "memory that items may take"},
    [FLEET_FILL] = {"FILL%", "fill", 5, 5, "share of that memory that items take"},
    [FLEET_GETS] = {"GET/s", "gets", 6, 3, "keys requested a second, over 10 s"},
    [FLEET_HIT] = {"HIT%", "hit", 5, 1, "share of them that were found"},
    [FLEET_EVICTIONS] = {"EV/s", "ev", 6, 2,
                         "live items thrown out for memory a second, over 10 s"},
    [FLEET_AGE] = {"AGE", "age", 6, 4, "youngest LRU tail of the classes that evict, else of all"},
    [FLEET_Z] = {"ODD", "odd", 9, 6,
                 "distance from the pool's median in robust deviations, and the column that it is "
                 "about"},
    [FLEET_CONNS] = {"CONN", "conn", 6, 11, "open connections"},
    [FLEET_RTT] = {"MS", "ms", 5, 7, "time of one refresh in ms"},
};

struct fleet_row fleet_row_of(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                              uint64_t retry_ms) {
    struct fleet_row row = {.model = model, .retry_ms = retry_ms, .odd = FLEET_HOST};
    const struct snapshot *now = model_now(model);
    struct health_line lines[HEALTH_LIMIT];
    health_assess(model, now_ms, interval_ms, lines);
    row.tone = lines[0].tone;
    snprintf(row.words, sizeof row.words, "%.*s", (int)sizeof row.words - 1, lines[0].text);
    for (int i = 0; i < FLEET_COLUMNS; i++) {
        row.value[i] = NAN;
    }
    row.is_up = now != NULL && !health_is_stale(model, now_ms, interval_ms);
    if (now == NULL) {
        return row;
    }
    row.value[FLEET_UP] = stat_number(now->general[GENERAL_uptime]);
    if (snapshot_has_cache(now)) {
        row.value[FLEET_GETS] = model_mean(model, METRIC_GETS, HEALTH_WINDOW_MS);
        double limit = stat_number(now->general[GENERAL_limit_maxbytes]);
        row.value[FLEET_MEMORY] = limit;
        row.value[FLEET_FILL] = snapshot_item_bytes(now) / limit;
        row.value[FLEET_HIT] = model_mean(model, METRIC_HIT_RATIO, HEALTH_WINDOW_MS);
        row.value[FLEET_EVICTIONS] = model_mean(model, METRIC_EVICTIONS, HEALTH_WINDOW_MS);
        row.value[FLEET_AGE] = brain_said(brain_of(model))->youngest_s;
        row.hits_count = model_history(model, METRIC_HIT_RATIO, row.hits, FLEET_TREND);
        row.evictions_count = model_history(model, METRIC_EVICTIONS, row.evictions, FLEET_TREND);
        cells_cut_spikes(row.evictions, row.evictions_count);
    }
    row.value[FLEET_CONNS] = model_metric(model, METRIC_CONNECTIONS);
    row.value[FLEET_RTT] = model_metric(model, METRIC_REPLY_MS);
    return row;
}

/* ---- outliers ---- */

struct fleet {
    struct fleet_row *rows;
    unsigned count;
};

/* The figures that slate.judge.attention compares, by its names for them. */
static const struct {
    const char *name;
    enum fleet_column column;
} compared[] = {
    {"hit_ratio", FLEET_HIT}, {"age_s", FLEET_AGE}, {"evictions_per_s", FLEET_EVICTIONS}};
enum { COMPARED = sizeof compared / sizeof *compared };

/* Reads the finding about a row from the top of the stack. */
static void fleet_take_found(lua_State *L, struct fleet_row *row) {
    char by[20];
    lua_values_text(L, "by", by, sizeof by);
    row->value[FLEET_Z] = lua_values_number(L, "far");
    row->is_odd = lua_values_flag(L, "is_outlier");
    for (int i = 0; i < COMPARED; i++) {
        row->odd = strcmp(by, compared[i].name) == 0 ? compared[i].column : row->odd;
    }
}

/* (fleet) -> nothing; as light userdata */
static int fleet_find_outliers(lua_State *L) {
    struct fleet *fleet = lua_touserdata(L, 1);
    lua_values_push_function(L, "slate.judge.attention", "compare_servers");
    lua_createtable(L, (int)fleet->count, 0);
    for (unsigned i = 0; i < fleet->count; i++) {
        const struct fleet_row *row = &fleet->rows[i];
        lua_createtable(L, 0, COMPARED);
        for (int n = 0; row->is_up && n < COMPARED; n++) {
            double value = row->value[compared[n].column]; /* without RATE_RESET */
            lua_values_set_number(L, compared[n].name, value >= 0 ? value : NAN);
        }
        lua_seti(L, -2, i + 1);
    }
    lua_call(L, 1, 1);
    for (unsigned i = 0; i < fleet->count; i++) {
        lua_geti(L, -1, i + 1);
        fleet_take_found(L, &fleet->rows[i]);
        lua_pop(L, 1);
    }
    return 0;
}

void fleet_compare(struct fleet_row *rows, unsigned count) {
    char why[NOTE_BYTES];
    struct fleet fleet = {rows, count};
    for (unsigned i = 0; i < count; i++) {
        rows[i].value[FLEET_Z] = NAN;
        rows[i].is_odd = false;
    }
    lua_values_call(fleet_find_outliers, &fleet, why, sizeof why); /* without memory: none */
}

/* ---- order ---- */

static const struct fleet_ui *order; /* qsort passes no argument */

static int fleet_by_worst(const struct fleet_row *a, const struct fleet_row *b) {
    bool a_is_odd = a->is_odd, b_is_odd = b->is_odd;
    if (a->is_up != b->is_up) {
        return a->is_up ? 1 : -1;
    }
    if ((a->tone == TONE_BAD) != (b->tone == TONE_BAD)) {
        return a->tone == TONE_BAD ? -1 : 1;
    }
    if (a_is_odd != b_is_odd) {
        return a_is_odd ? -1 : 1;
    }
    if (a_is_odd) {
        return a->value[FLEET_Z] > b->value[FLEET_Z] ? -1 : a->value[FLEET_Z] < b->value[FLEET_Z];
    }
    double left = a->value[FLEET_EVICTIONS] > 0 ? a->value[FLEET_EVICTIONS] : 0;
    double right = b->value[FLEET_EVICTIONS] > 0 ? b->value[FLEET_EVICTIONS] : 0;
    return left > right ? -1 : left < right;
}

static int fleet_by_column(const struct fleet_row *a, const struct fleet_row *b) {
    if (order->sort == FLEET_HOST || order->sort == FLEET_VERSION) {
        char left[40], right[40];
        const char *x = order->sort == FLEET_HOST ? model_server(a->model)
                                                  : fleet_text(a, FLEET_VERSION, left);
        const char *y = order->sort == FLEET_HOST ? model_server(b->model)
                                                  : fleet_text(b, FLEET_VERSION, right);
        return order->is_ascending ? strcmp(x, y) : strcmp(y, x);
    }
    double left = a->value[order->sort], right = b->value[order->sort];
    if (isnan(left) || isnan(right)) { /* unknown is last in either order */
        return isnan(left) - isnan(right);
    }
    int sign = (left > right) - (left < right);
    return order->is_ascending ? sign : -sign;
}

static int fleet_compare_rows(const void *a, const void *b) {
    const struct fleet_row *left = a, *right = b;
    int sign = order->has_order ? fleet_by_column(left, right) : fleet_by_worst(left, right);
    return sign != 0 ? sign : left->server < right->server ? -1 : left->server > right->server;
}

void fleet_sort(struct fleet_row *rows, unsigned count, const struct fleet_ui *ui) {
    order = ui;
    qsort(rows, count, sizeof *rows, fleet_compare_rows);
}

/* ---- drawing ---- */

const char *fleet_text(const struct fleet_row *row, enum fleet_column column, char out[40]) {
    const struct snapshot *now = model_now(row->model);
    double value = row->value[column];
    switch (column) {
    case FLEET_HOST:
        snprintf(out, 40, "%.39s", model_server(row->model));
        return out;
    case FLEET_VERSION:
        snprintf(out, 40, "%s%.8s",
                 now == NULL              ? ""
                 : now->is_slated         ? "s"
                 : snapshot_is_proxy(now) ? "p"
                                          : "",
                 now != NULL ? snapshot_version(now) : "");
        out[fleet_columns[column].width] = '\0';
        return out;
    case FLEET_UP:
    case FLEET_AGE:
        return format_age(out, value);
    case FLEET_MEMORY:
        return format_bytes(out, value);
    case FLEET_FILL:
    case FLEET_HIT:
        return format_percent(out, value);
    case FLEET_Z:
        if (isnan(value) || value < 1) {
            snprintf(out, 40, "%s", isnan(value) ? "-" : "·");
        } else {
            snprintf(out, 40, "%s%.0f %s", row->is_odd ? "!" : "", fmin(value, 999),
                     row->odd == FLEET_EVICTIONS ? "evict"
                     : row->odd == FLEET_HIT     ? "hit"
                                                 : "age");
        }
        return out;
    case FLEET_GETS:
    case FLEET_EVICTIONS:
    case FLEET_CONNS:
    case FLEET_RTT:
    case FLEET_COLUMNS:
        break;
    }
    return format_count(out, value);
}

/* Chooses the columns that fit. The host gets the width that is left. */
static int fleet_choose_columns(int width, bool shown[FLEET_COLUMNS]) {
    int used = 2;
    for (int i = 0; i < FLEET_COLUMNS; i++) {
        shown[i] = true;
        used += fleet_columns[i].width + 1;
    }
    while (width - used < HOST_LEAST) {
        int last = -1;
        for (int i = 1; i < FLEET_COLUMNS; i++) {
            if (shown[i] && (last < 0 || fleet_columns[i].rank > fleet_columns[last].rank)) {
                last = i;
            }
        }
        if (last < 0) {
            break;
        }
        shown[last] = false;
        used -= fleet_columns[last].width + 1;
    }
    return width - used < 34 ? width - used : 34;
}

/* Draws a host, or the end of a long path: the end says more than the beginning. */
static void fleet_draw_host(const char *name, struct cells *cells, int y, int x, int width) {
    int excess = cells_width_of(name) - width;
    if (name[0] == '/' && excess > 0 && excess + 1 < (int)strlen(name)) {
        x = cells_text(cells, y, x, STYLE_STRONG, "…");
        cells_text_fit(cells, y, x, width - 1, STYLE_STRONG, name + excess + 1);
    } else {
        cells_text_fit(cells, y, x, width, STYLE_STRONG, name);
    }
}

/* True if the trends fit after the columns, which end at x. */
static bool fleet_has_trends(struct rect area, int x) {
    return area.x + area.width - x > TRENDS_WIDTH;
}

static void fleet_draw_row(const struct fleet_row *row, bool is_marked,
                           const bool shown[FLEET_COLUMNS], int host_width, uint64_t now_ms,
                           struct cells *cells, int y, struct rect area) {
    bool is_bad = !row->is_up || row->tone == TONE_BAD, is_warned = row->tone == TONE_WARN;
    cells_text(cells, y, area.x,
               (uint8_t)(is_bad ? STYLE_BAD : is_warned ? STYLE_WARN : STYLE_PLAIN),
               is_bad ? "!" : is_warned ? "●" : " ");
    cells_text(cells, y, area.x + 1, STYLE_STRONG, is_marked ? "◆" : " ");
    int x = area.x + 2;
    fleet_draw_host(model_server(row->model), cells, y, x, host_width);
    x += host_width;
    if (!row->is_up) {
        char words[NOTE_BYTES + 40];
        unsigned wait_s =
            row->retry_ms > now_ms ? (unsigned)((row->retry_ms - now_ms + 999) / 1000) : 0;
        bool is_down = model_link(row->model) == LINK_DOWN;
        int n = snprintf(words, sizeof words, "%s%s", is_down ? "DOWN " : "", row->words);
        if (is_down && wait_s > 0) {
            snprintf(words + n, sizeof words - (size_t)n, ", next try in %u s", wait_s);
        }
        cells_text_fit(cells, y, x + 1, area.x + area.width - x - 1, STYLE_BAD, words);
        return;
    }
    for (int i = 1; i < FLEET_COLUMNS; i++) {
        char text[40];
        if (shown[i]) {
            x += fleet_columns[i].width + 1;
            bool is_odd = row->is_odd && (i == (int)row->odd || i == FLEET_Z);
            cells_text_right(cells, y, x, (uint8_t)(is_odd ? STYLE_BAD : STYLE_PLAIN),
                             fleet_text(row, (enum fleet_column)i, text));
        }
    }
    if (fleet_has_trends(area, x)) {
        cells_graph(cells, (struct rect){y, x + 1, 1, FLEET_TREND}, STYLE_GRAPH, row->hits,
                    row->hits_count, 0);
        x += FLEET_TREND + 1;
        cells_graph(cells, (struct rect){y, x + 1, 1, FLEET_TREND}, STYLE_GRAPH, row->evictions,
                    row->evictions_count, 0);
        x += FLEET_TREND + 1;
    }
    if (area.x + area.width - x > WORDS_LEAST) {
        cells_text_fit(cells, y, x + 2, area.x + area.width - x - 2,
                       row->tone == TONE_BAD ? STYLE_BAD : STYLE_DIM, row->words);
    }
}

static void fleet_draw_heads(const struct fleet_ui *ui, const bool shown[FLEET_COLUMNS],
                             int host_width, struct cells *cells, struct rect area) {
    cells_head(cells, area.y, area.x, area.width, "");
    int x = area.x + 2 + host_width;
    for (int i = 0; i < FLEET_COLUMNS; i++) {
        bool is_sorted = ui->has_order && (int)ui->sort == i;
        uint8_t style = is_sorted ? STYLE_STRONG : STYLE_HEADER;
        if (i == 0) {
            cells_text(cells, area.y, area.x + 2, style, fleet_columns[i].head);
            cells_hot(cells, (struct rect){area.y, area.x, 1, host_width + 2}, HOT_SORT, 0);
        } else if (shown[i]) {
            x += fleet_columns[i].width + 1;
            cells_text_right(cells, area.y, x, style, fleet_columns[i].head);
            int width = fleet_columns[i].width;
            cells_hot(cells, (struct rect){area.y, x - width, 1, width}, HOT_SORT, (unsigned)i);
        }
    }
    if (fleet_has_trends(area, x)) {
        cells_text_fit(cells, area.y, x + 1, FLEET_TREND, STYLE_HEADER, "HIT%, trend");
        cells_text_fit(cells, area.y, x + FLEET_TREND + 2, FLEET_TREND, STYLE_HEADER,
                       "EV/s, trend");
    }
}

unsigned fleet_row_at(const struct fleet_row *rows, unsigned count, const struct fleet_ui *ui) {
    for (unsigned i = 0; i < count; i++) {
        if (rows[i].server + 1 == ui->cursor) {
            return i;
        }
    }
    return 0;
}

void fleet_table_draw(const struct fleet_row *rows, unsigned count, struct fleet_ui *ui,
                      uint64_t now_ms, struct cells *cells, struct rect area) {
    bool shown[FLEET_COLUMNS];
    int host_width = fleet_choose_columns(area.width, shown);
    fleet_draw_heads(ui, shown, host_width, cells, area);
    unsigned height = (unsigned)(area.height > 1 ? area.height - 1 : 0);
    unsigned at = fleet_row_at(rows, count, ui);
    ui->top = key_top(ui->top, at, height, count);
    for (unsigned i = 0; i < height && ui->top + i < count; i++) {
        int y = area.y + 1 + (int)i;
        fleet_draw_row(&rows[ui->top + i], ui->marked[rows[ui->top + i].server], shown, host_width,
                       now_ms, cells, y, area);
        cells_hot(cells, (struct rect){y, area.x, 1, area.width}, HOT_ROW,
                  rows[ui->top + i].server);
        if (ui->top + i == at) {
            cells_text(cells, y, area.x + 1, STYLE_STRONG, ui->marked[rows[at].server] ? "◆" : ">");
            cells_select(cells, y, area.x, area.width);
        }
    }
}
