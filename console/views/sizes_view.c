/* Sizes: the number of items of each size, over the chunk sizes, today's and those that would hold
 * more items. */
#include "views/view.h"

#include "act/forecast.h"
#include "brain/brain.h"
#include "brain/format.h"
#include "brain/sizes.h"
#include "facts/words.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { AXIS_WIDTH = 7, GRAPH_LEAST = 3, MARGIN = 3, COLUMNS_A_BIN = 8, SIZE_CHOICES_ROWS = 9 };
#define SIZES_NEED_SLABS "chunk sizes need --store=slab; this server has %s"

/* The source of the sizes. */
enum origin { ORIGIN_NONE, ORIGIN_CLASSES, ORIGIN_TRACKED, ORIGIN_LIVE };
static const char *const origin_words[] = {"", "ESTIMATED, a bar a class",
                                           "as the server tracks them", "EXACT, of live items"};

static enum origin find_sizes(const struct frame *frame, struct size_bins *sizes) {
    const struct details *details = model_details(frame->model);
    const struct snapshot *now = model_now(frame->model);
    if (detail_is_known(details, INQUIRY_SIZEHIST) ||
        (detail_is_known(details, INQUIRY_STOCK_SIZES) && details->sizes.is_tracked)) {
        *sizes = details->sizes;
        return now != NULL && now->is_slated ? ORIGIN_LIVE : ORIGIN_TRACKED;
    }
    if (now == NULL || (now->is_slated && !frame->is_past)) {
        return ORIGIN_NONE;
    }
    size_bins_by_class(sizes, now);
    return ORIGIN_CLASSES;
}

/* Bins on columns: a column shows one bin, or the sum of several. */
struct axis {
    unsigned first, bins; /* bins shown */
    int x, width;         /* columns of the screen */
};

static struct axis sizes_make_axis(const struct size_bins *sizes, int x, int room) {
    unsigned first = SIZE_BINS, last = 0;
    for (unsigned bin = 0; bin < SIZE_BINS; bin++) {
        if (sizes->bins[bin] > 0) {
            first = bin < first ? bin : first;
            last = bin;
        }
    }
    first = first == SIZE_BINS ? 0 : first > MARGIN ? first - MARGIN : 0;
    last = last + MARGIN < SIZE_BINS ? last + MARGIN : SIZE_BINS - 1;
    struct axis axis = {.first = first, .bins = last - first + 1, .x = x};
    axis.width = room < (int)axis.bins * COLUMNS_A_BIN ? room : (int)axis.bins * COLUMNS_A_BIN;
    return axis;
}

/* The column of a size; -1: not shown. */
static int sizes_column_of(const struct axis *axis, double bytes) {
    unsigned bin = size_bin_of(bytes);
    if (bin < axis->first || bin >= axis->first + axis->bins) {
        return -1;
    }
    double begin = bin > 0 ? size_bin_end(bin - 1) : 0;
    double share = fmin((bytes - begin) / (size_bin_end(bin) - begin), 0.999);
    return (int)((bin - axis->first + share) * axis->width / axis->bins);
}

static void sizes_draw_bars(const struct size_bins *sizes, const struct axis *axis,
                            struct cells *cells, struct rect area) {
    float values[SIZE_BINS * COLUMNS_A_BIN] = {0};
    int count = axis->width < (int)(sizeof values / sizeof *values)
                    ? axis->width
                    : (int)(sizeof values / sizeof *values);
    for (int i = 0; i < count; i++) {
        unsigned bin = axis->first + (unsigned)i * axis->bins / (unsigned)axis->width;
        unsigned end = axis->first + (unsigned)(i + 1) * axis->bins / (unsigned)axis->width;
        do {
            values[i] += (float)sizes->bins[bin++];
        } while (bin < end);
    }
    struct rect plot = {area.y, axis->x, area.height, count};
    char text[FORMAT_BYTES];
    float high = cells_graph(cells, plot, STYLE_GRAPH, values, count, 0);
    cells_text_right(cells, area.y, axis->x - 1, STYLE_DIM, format_count(text, (double)high));
    cells_text_right(cells, area.y + area.height - 1, axis->x - 1, STYLE_DIM, "0");
}

/* Draws a mark at each size; a digit for several sizes in one column. */
static void sizes_draw_limits(const struct size_list *list, const struct axis *axis,
                              struct cells *cells, int y, const char *label, uint32_t glyph,
                              uint8_t style) {
    unsigned at[1000] = {0};
    for (unsigned i = 0; i < list->count; i++) {
        int column = sizes_column_of(axis, list->bytes[i]);
        if (column >= 0 && column < 1000) {
            at[column]++;
        }
    }
    cells_text_right(cells, y, axis->x - 1, style, label);
    for (int i = 0; i < axis->width && i < 1000; i++) {
        if (at[i] > 0) {
            cells_fill(cells, (struct rect){y, axis->x + i, 1, 1},
                       at[i] == 1  ? glyph
                       : at[i] < 10 ? '0' + at[i]
                                    : '+',
                       style);
        }
    }
}

static void sizes_draw_scale(const struct axis *axis, struct cells *cells, int y) {
    int free_from = 0;
    for (double bytes = 16; bytes < 1e9; bytes *= 2) {
        char text[FORMAT_BYTES];
        int column = sizes_column_of(axis, bytes);
        format_bytes(text, bytes);
        if (bytes >= 1024) {
            snprintf(text, sizeof text, "%.0f%c",
                     bytes < 1 << 20 ? bytes / 1024 : bytes / (1 << 20),
                     bytes < 1 << 20 ? 'K' : 'M');
        }
        int width = cells_width_of(text);
        if (column - width + 1 >= free_from && column >= 0) {
            cells_text(cells, y, axis->x + column - width + 1, STYLE_DIM, text);
            free_from = column + 2;
        }
    }
}

/* Draws today's waste. Other sizes cannot be judged: only the mean of each class is known. */
static void sizes_draw_waste(const struct frame *frame, struct cells *cells, int y, int width) {
    char text[120], waste[FORMAT_BYTES];
    snprintf(text, sizeof text, "waste in chunks and pages: %s %%",
             format_percent(waste, brain_waste(brain_of(frame->model)).waste_ratio));
    cells_text_fit(cells, y, 0, width, STYLE_PLAIN, text);
    cells_text_fit(cells, y + 1, 0, width, STYLE_WARN,
                   "the waste of other sizes needs slated, or memcached -o track_sizes");
}

static void sizes_draw_geometry(const struct frame *frame, struct cells *cells, int y, int width) {
    const struct details *details = model_details(frame->model);
    char text[300], before[FORMAT_BYTES], predicted[FORMAT_BYTES];
    if (!detail_is_known(details, INQUIRY_GEOMETRY)) {
        cells_text_fit(cells, y, 0, width, STYLE_DIM,
                       "memcached takes other sizes only at its start: -f -n -o slab_sizes");
        return;
    }
    const struct geometry_state *geometry = &details->geometry;
    int n = snprintf(text, sizeof text, "geometry %s", geometry->state);
    if (geometry->waste_before_pct > 0) { /* the table has today's waste */
        n += snprintf(text + n, sizeof text - (size_t)n, ", waste %s %% before, %s %% predicted",
                      format_percent(before, geometry->waste_before_pct / 100),
                      format_percent(predicted, geometry->waste_predicted_pct / 100));
    }
    snprintf(text + n, sizeof text - (size_t)n, ": %s", geometry->why);
    cells_text_fit(cells, y, 0, width, STYLE_PLAIN, text);
}

/* ---- other chunk sizes, and the gain of each: slated's own prediction, else computed from the
 * sizes that the server tracks, and called an estimate ---- */

/* The age of the server's prediction for an order, in seconds, if it is old enough to show; else
 * NAN. */
static double sizes_age_of(const struct details *details, const char *order, uint64_t now_ms) {
    const struct prediction *prediction =
        details != NULL ? prediction_of(&details->predictions, order) : NULL;
    bool is_old = prediction != NULL && now_ms >= prediction->known_ms + PREDICTION_OLD_MS;
    return is_old ? (double)((now_ms - prediction->known_ms) / 1000) : NAN;
}

static void sizes_draw_row(const struct size_choice *choice, const char *no_gain, double age_s,
                           struct cells *cells, int y, int width) {
    char waste[FORMAT_BYTES], classes[FORMAT_BYTES], age[FORMAT_BYTES], text[300];
    uint8_t style = choice->is_best ? STYLE_GOOD : choice->is_worth_it ? STYLE_PLAIN : STYLE_DIM;
    if (choice->words[0] != '\0' || !choice->is_known) {
        words_printf(text, sizeof text, "%-12.12s %s", choice->order,
                     choice->is_known ? choice->words : "waiting for the server");
    } else {
        int used = snprintf(text, sizeof text, "%-12.12s %7s %6s %%", choice->order,
                            format_count(classes, choice->classes),
                            format_percent(waste, choice->waste_ratio));
        if (!isnan(choice->items_change)) {
            used += snprintf(text + used, sizeof text - (size_t)used, "  %+6.1f %%  %s",
                             choice->items_change * 100,
                             choice->is_best       ? "◀ most items"
                             : choice->is_worth_it ? ""
                                                   : no_gain);
        }
        if (!isnan(age_s)) {
            snprintf(text + used, sizeof text - (size_t)used, "  %s ago", format_age(age, age_s));
        }
    }
    cells_text_fit(cells, y, 0, width, style, text);
}

static void sizes_draw_choices(const struct frame *frame, const struct ui *ui,
                               const struct size_bins *sizes, const struct size_plan *plan,
                               struct cells *cells, struct rect area) {
    bool is_slated = model_now(frame->model)->is_slated;
    int y = area.y, rows = area.height - 2;
    cells_head(
        cells, y++, 0, area.width,
        is_slated ? "CHUNK SIZES  CLASSES    WASTE     ITEMS  as the server predicts"
                  : "CHUNK SIZES  CLASSES    WASTE     ITEMS  ESTIMATED, after a restart with -f");
    struct size_choice now = {.order = "now",
                              .is_known = true,
                              .is_worth_it = true,
                              .classes = plan->now.count,
                              .waste_ratio = is_slated ? size_bins_waste(sizes) : plan->waste_ratio,
                              .items_change = NAN};
    /* memcached refuses no sizes: they are options of its start. */
    const char *no_gain = is_slated ? "no gain: refused" : "no gain";
    sizes_draw_row(&now, no_gain, NAN, cells, y++, area.width);
    unsigned cursor = plan->count == 0                 ? 0
                      : ui->sizes.cursor < plan->count ? ui->sizes.cursor
                                                       : plan->count - 1;
    unsigned top = rows > 0 && (int)cursor >= rows ? cursor - (unsigned)rows + 1 : 0;
    for (unsigned i = top; i < plan->count && (int)(i - top) < rows; i++, y++) {
        sizes_draw_row(&plan->of[i], no_gain,
                       sizes_age_of(model_details(frame->model), plan->of[i].order, frame->now_ms),
                       cells, y, area.width);
        cells_hot(cells, (struct rect){y, 0, 1, area.width}, HOT_ROW, i);
        if (i == cursor) {
            cells_select(cells, y, 0, area.width);
        }
    }
}

static void sizes_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                       struct rect area) {
    struct size_bins sizes;
    const struct snapshot *now = model_now(frame->model);
    if (now != NULL && !snapshot_has_slabs(now)) {
        char text[80];
        snprintf(text, sizeof text, SIZES_NEED_SLABS, now->store);
        cells_text_fit(cells, area.y, 0, area.width, STYLE_DIM, text);
        return;
    }
    enum origin origin = find_sizes(frame, &sizes);
    if (origin == ORIGIN_NONE) {
        view_detail_ready(frame, INQUIRY_SIZEHIST, cells, area);
        return;
    }
    bool has_items = !brain_said(brain_of(frame->model))->reports_classes ||
                     now->general[GENERAL_curr_items] != 0;
    if (origin == ORIGIN_CLASSES && sizes.items == 0 && has_items) {
        cells_text_fit(cells, area.y, 0, area.width, STYLE_DIM,
                       "sizes are not known: this server does not report the items of its classes");
        return;
    }
    const struct size_plan *plan = brain_sizes(frame->model);
    if (plan == NULL) {
        return; /* the health lines say why judging has ended */
    }
    char title[120], text[FORMAT_BYTES];
    snprintf(title, sizeof title, "%s items by size, header included: %s",
             format_count(text, sizes.items), origin_words[origin]);
    cells_head(cells, area.y, 0, area.width, title);
    int table = area.height < 10 ? 0 : area.height < 16 ? 3 : SIZE_CHOICES_ROWS;
    table = origin == ORIGIN_CLASSES && table > 0 ? 2 : table;
    int graph = area.height - 1 - 3 - table - (table > 0);
    if (graph < GRAPH_LEAST) {
        table = 0;
        graph = area.height - 4;
    }
    struct axis axis = sizes_make_axis(&sizes, AXIS_WIDTH, area.width - AXIS_WIDTH);
    sizes_draw_bars(&sizes, &axis, cells, (struct rect){area.y + 1, 0, graph, area.width});
    int y = area.y + 1 + graph;
    sizes_draw_limits(&plan->now, &axis, cells, y++, "now", 0x2502, STYLE_STRONG);
    if (plan->best.count > 0) {
        sizes_draw_limits(&plan->best, &axis, cells, y, "best", 0xa6, STYLE_DIM);
    }
    sizes_draw_scale(&axis, cells, y + 1);
    y += 2;
    if (table == 0) {
        return;
    }
    if (origin == ORIGIN_CLASSES) {
        sizes_draw_waste(frame, cells, y, area.width);
    } else {
        sizes_draw_choices(frame, ui, &sizes, plan, cells, (struct rect){y, 0, table, area.width});
    }
    sizes_draw_geometry(frame, cells, y + table, area.width);
}

static struct intent sizes_command(const struct frame *frame, struct ui *ui, enum command given) {
    const struct snapshot *now = model_now(frame->model);
    if (now != NULL && !snapshot_has_slabs(now)) {
        return given == COMMAND_REVIEW ? view_say(SIZES_NEED_SLABS, now->store)
                                       : (struct intent){0};
    }
    const struct size_plan *plan = brain_sizes(frame->model);
    unsigned *cursor = &ui->sizes.cursor, count = plan != NULL ? plan->count : 0;
    *cursor = key_step(*cursor, key_move_rows(given, SIZE_CHOICES_MOST), count > 0 ? count - 1 : 0);
    if (given != COMMAND_REVIEW) {
        return (struct intent){0};
    }
    return now != NULL && now->is_slated && count > 0
               ? review_of(action_set("geometry", plan->of[*cursor].order))
               : view_say(
                     "memcached takes other chunk sizes only at its start: -f, -n, -o slab_sizes");
}

static const char *const shown[] = {
    "class.waste", "class.size", "growth_factor", "mem_requested", "geometry.state",
    "geometry.waste", NULL};

static void sizes_wants(const struct ui *ui, struct wants *out) {
    char orders[SIZE_CHOICES_MOST][PREDICTION_ORDER_BYTES];
    unsigned count = brain_size_orders(orders);
    (void)ui;
    for (unsigned i = 0; i < count; i++) {
        forecast_wants_order(orders[i], out);
    }
    out->inquiries |= INQUIRY_BIT(SIZEHIST) | INQUIRY_BIT(STOCK_SIZES) | INQUIRY_BIT(GEOMETRY);
}

const struct view sizes_view = {.name = "Sizes",
                                .scope = SCOPE_SIZES,
                                .open = COMMAND_VIEW_SIZES,
                                .draw = sizes_draw,
                                .command = sizes_command,
                                .shown = shown,
                                .cursor = offsetof(struct ui, sizes.cursor),
                                .wants = sizes_wants};
