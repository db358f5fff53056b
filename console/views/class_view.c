/* One class: its state in words, rates over three windows with their past, automove's opinion and
 * moves, the ages of its evicted items, and every stat of it that the server has. */
#include "views/view.h"

#include "brain/brain.h"
#include "brain/format.h"
#include "brain/health.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STAT_WIDTH = 39, RATE_ROWS = 6, MOVES_SHOWN_MOST = 8 };

static const struct {
    enum class_metric metric;
    const char *name;
} rate_rows[RATE_ROWS] = {
    {CLASS_METRIC_HITS, "hits/s"},          {CLASS_METRIC_SETS, "sets/s"},
    {CLASS_METRIC_EVICTIONS, "evictions/s"}, {CLASS_METRIC_UNREAD, "unread ev/s"},
    {CLASS_METRIC_NO_MEMORY, "no memory/s"}, {CLASS_METRIC_PAGES, "pages"},
};

/* The free part of the area, from the top. */
struct column {
    struct cells *cells;
    int y, end, width;
};

static int class_next_line(struct column *column) {
    return column->y < column->end ? column->y++ : -1;
}

static void class_put_line(struct column *column, uint8_t style, const char *text) {
    int y = class_next_line(column);
    if (y >= 0) {
        cells_text_fit(column->cells, y, 0, column->width, style, text);
    }
}

static const char *class_policy_of(const struct details *details, unsigned id) {
    if (!detail_is_known(details, INQUIRY_POLICIES)) {
        return "";
    }
    const struct policy_list *policies = &details->policies;
    return policies->of_class[id][0] != '\0' ? policies->of_class[id] : policies->active;
}

static void class_draw_facts(const struct frame *frame, struct column *column, unsigned id) {
    const struct class_stats *stats = snapshot_class(model_now(frame->model), id);
    const struct details *details = model_details(frame->model);
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], e[FORMAT_BYTES];
    char f[FORMAT_BYTES], text[200];
    const char *policy = class_policy_of(details, id);
    snprintf(text, sizeof text, "%s page%s of %s chunks of %s B, %s free; %s items, the oldest %s",
             format_count(a, stat_number(stats->value[CLASS_total_pages])),
             stats->value[CLASS_total_pages] == 1 ? "" : "s",
             format_count(b, stat_number(stats->value[CLASS_chunks_per_page])),
             format_exact(c, stats->value[CLASS_chunk_size]),
             format_count(d, floor(snapshot_free_pages(stats))),
             format_count(e, stat_number(stats->value[CLASS_number])),
             format_age(f, stat_number(snapshot_tail_age(stats))));
    class_put_line(column, STYLE_PLAIN, text);
    if (column->end - column->y < 12) {
        return;
    }
    snprintf(text, sizeof text, "items by segment: hot %s   warm %s   cold %s   temp %s%s%s",
             format_count(a, stat_number(stats->value[CLASS_number_hot])),
             format_count(b, stat_number(stats->value[CLASS_number_warm])),
             format_count(c, stat_number(stats->value[CLASS_number_cold])),
             format_count(d, stat_number(stats->value[CLASS_number_temp])),
             policy[0] != '\0' ? "   policy " : "", policy);
    class_put_line(column, STYLE_PLAIN, text);
}

static void class_draw_rates(const struct frame *frame, struct column *column, unsigned id) {
    struct cells *cells = column->cells;
    bool has_means = column->width >= 60;
    int spark_x = has_means ? 38 : 21, y = class_next_line(column);
    cells_rule(cells, y, 0, column->width, "rates");
    cells_text_right(cells, y, 20, STYLE_HEADER, " now");
    if (has_means) {
        cells_text_right(cells, y, 28, STYLE_HEADER, " 10 s");
        cells_text_right(cells, y, 36, STYLE_HEADER, " 100 s");
    }
    for (int i = 0; i < RATE_ROWS; i++) {
        enum class_metric metric = rate_rows[i].metric;
        char text[FORMAT_BYTES];
        float values[1000];
        int width = column->width - spark_x < 1000 ? column->width - spark_x : 1000;
        y = class_next_line(column);
        cells_text(cells, y, 0, STYLE_PLAIN, rate_rows[i].name);
        cells_text_right(cells, y, 20, STYLE_STRONG,
                         format_count(text, model_class_metric(frame->model, id, metric)));
        if (has_means) {
            double short_mean = model_class_mean(frame->model, id, metric, 10000);
            double long_mean = model_class_mean(frame->model, id, metric, 100000);
            cells_text_right(cells, y, 28, STYLE_PLAIN, format_count(text, short_mean));
            cells_text_right(cells, y, 36, STYLE_PLAIN, format_count(text, long_mean));
        }
        int count = model_class_history(frame->model, id, metric, values, width);
        cells_graph(cells, (struct rect){y, spark_x, 1, width}, STYLE_GRAPH, values, count, 0);
    }
}

/* Draws the value of a page more and a page less, from an automove that weighs pages. */
static void class_draw_worth(const struct frame *frame, struct column *column, unsigned id) {
    const struct details *details = model_details(frame->model);
    char text[200];
    if (!detail_is_known(details, INQUIRY_AUTOMOVE)) {
        return;
    }
    const struct page_worth *worth = &details->worth.classes[id];
    if (!details->worth.is_weighed || isnan(worth->gain)) {
        snprintf(text, sizeof text,
                 "worth of a page: not weighed by automove %s; see the curves (6)",
                 details->worth.mode);
    } else {
        snprintf(text, sizeof text,
                 "automove weighs, in 1000 requests: a page more +%.1f ±%.1f, less -%.1f ±%.1f, "
                 "mean %.1f",
                 worth->gain, worth->gain_doubt, worth->loss, worth->loss_doubt, worth->average);
    }
    class_put_line(column, STYLE_PLAIN, text);
}

static void class_draw_moves(const struct frame *frame, struct column *column, unsigned id,
                             int limit) {
    const struct details *details = model_details(frame->model);
    if (!detail_is_known(details, INQUIRY_MOVES)) {
        return;
    }
    const struct move_list *moves = &details->moves;
    char text[NOTE_BYTES + 40];
    snprintf(text, sizeof text, "automove %s", moves->mode);
    cells_rule(column->cells, class_next_line(column), 0, column->width, text);
    snprintf(text, sizeof text, "now: %s", moves->why);
    class_put_line(column, STYLE_PLAIN, text);
    int shown = 0;
    for (unsigned i = moves->count; i > 0 && shown < limit; i--) {
        const struct page_move *move = &moves->moves[i - 1];
        int y = move->from == id || move->to == id ? class_next_line(column) : -1;
        if (y >= 0) {
            move_draw_line(move, column->cells, y, column->width);
            shown++;
        }
    }
    if (shown == 0) {
        class_put_line(column, STYLE_DIM, "none of the last moves was from or to this class");
    }
}

/* Draws the idle times of evicted items as one line of bars. */
static void class_draw_ages(const struct frame *frame, struct column *column, unsigned id) {
    const struct details *details = model_details(frame->model);
    if (!detail_is_known(details, INQUIRY_EVICTIONS) || !details->ages.known[id]) {
        return;
    }
    const uint32_t *counts = details->ages.of_class[id];
    float values[AGE_STEPS];
    double sum = 0;
    for (int i = 0; i < AGE_STEPS; i++) {
        values[i] = (float)counts[i];
        sum += counts[i];
    }
    int y = class_next_line(column);
    int x = cells_text(column->cells, y, 0, STYLE_PLAIN, "idle time at eviction  1s ");
    cells_graph(column->cells, (struct rect){y, x, 1, AGE_STEPS}, STYLE_GRAPH, values, AGE_STEPS,
                0);
    x = cells_text(column->cells, y, x + AGE_STEPS, STYLE_PLAIN, " 12d");
    char text[80], median[24] = "-";
    double seen = 0;
    for (int i = 0; i < AGE_STEPS && seen * 2 < sum; i++) {
        seen += counts[i];
        snprintf(median, sizeof median, "%s", details->ages.names[i]);
    }
    char *gap = strchr(median, '_'); /* "under_16s" */
    if (gap != NULL) {
        *gap = ' ';
    }
    snprintf(text, sizeof text, "   median %s", median);
    cells_text_fit(column->cells, y, x, column->width - x, STYLE_PLAIN, text);
}

/* "evicted   12345   402/s" */
static void class_draw_stat(struct cells *cells, int y, int x, int width,
                            const struct named_stat *stat, double dt_s) {
    char rate[FORMAT_BYTES + 4] = "", text[FORMAT_BYTES];
    double change = stat->now - stat->before;
    if (dt_s > 0 && !isnan(change) && change != 0) {
        snprintf(rate, sizeof rate, "%s%s", change < 0 ? "-" : "+",
                 format_count(text, fabs(change) / dt_s));
    }
    cells_text_fit(cells, y, x, width - 18, STYLE_PLAIN, stat->name);
    cells_text_right(cells, y, x + width - 8, STYLE_STRONG,
                     isnan(stat->now)     ? stat->value
                     : stat->now >= 1e8 || stat->now < 0 ? format_count(text, fabs(stat->now))
                                                         : stat->value);
    cells_text_right(cells, y, x + width - 1, STYLE_DIM, rate);
}

/* Takes the stats from a snapshot of the past: the tape has fewer stats than the server had. */
static void class_take_recorded(const struct snapshot *now, unsigned id, struct class_detail *out) {
    memset(out, 0, sizeof *out);
    for (unsigned i = 0; i < CLASS_COUNT; i++) {
        uint64_t value = snapshot_class(now, id)->value[i];
        if (value != STAT_ABSENT) {
            struct named_stat *stat = &out->stats[out->count++];
            snprintf(stat->name, sizeof stat->name, "%s", class_stat_names[i]);
            snprintf(stat->value, sizeof stat->value, "%llu", (unsigned long long)value);
            stat->now = (double)value;
            stat->before = NAN;
        }
    }
}

static void class_draw_stats(const struct frame *frame, struct ui *ui, struct column *column) {
    const struct details *details = model_details(frame->model);
    int rows = column->end - column->y - 1;
    if (rows < 1) {
        return;
    }
    bool is_known = detail_is_known(details, INQUIRY_CLASS) && details->focus.class_id == ui->focus;
    bool is_recorded = !is_known && (frame->is_past || frame->is_replay);
    cells_rule(column->cells, column->y, 0, column->width,
               is_recorded ? "stats of the class that are recorded"
                           : "every stat of the class: value, change a second");
    struct rect area = {column->y + 1, 0, rows, column->width};
    static struct class_detail recorded; /* 7 kB: too large for a stack frame */
    if (is_recorded) {
        class_take_recorded(model_now(frame->model), ui->focus, &recorded);
    } else if (!view_detail_ready(frame, INQUIRY_CLASS, column->cells, area)) {
        return;
    }
    const struct class_detail *focus = is_recorded ? &recorded : &details->focus;
    int columns = column->width / STAT_WIDTH > 0 ? column->width / STAT_WIDTH : 1;
    int width = column->width / columns;
    int lines = ((int)focus->count + columns - 1) / columns;
    int last_top = lines > rows ? lines - rows : 0;
    ui->class_top = ui->class_top < (unsigned)last_top ? ui->class_top : (unsigned)last_top;
    double dt_s = focus->before_ms > 0 ? (double)(focus->at_ms - focus->before_ms) / 1000 : 0;
    for (int i = 0; i < rows * columns; i++) {
        int at = (int)ui->class_top + i / columns + i % columns * lines;
        if (i / columns + (int)ui->class_top < lines && at < (int)focus->count) {
            class_draw_stat(column->cells, area.y + i / columns, i % columns * width, width,
                            &focus->stats[at], dt_s);
        }
    }
    if (last_top > 0) {
        cells_text_right(column->cells, column->y, column->width, STYLE_HEADER,
                         (int)ui->class_top < last_top ? " more: Down " : " more: Up ");
    }
}

static void class_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                       struct rect area) {
    const struct snapshot *now = model_now(frame->model);
    unsigned id = ui->focus;
    struct column column = {cells, area.y, area.y + area.height, area.width};
    char text[NOTE_BYTES];
    if (now == NULL || !snapshot_class(now, id)->present) {
        snprintf(text, sizeof text, "class %u: the server does not list it (Esc goes back)", id);
        class_put_line(&column, STYLE_DIM, text);
        return;
    }
    int n = snprintf(text, sizeof text, "class %u: %s", id,
                     brain_class_word(brain_class(brain_of(frame->model), id)->state));
    if (ui->classes.source >= 0) {
        snprintf(text + n, sizeof text - (size_t)n, "   from: class %d ◀", ui->classes.source);
    }
    cells_rule(cells, class_next_line(&column), 0, area.width, text);
    int style = class_hint(frame, id, text, sizeof text);
    class_put_line(&column, (uint8_t)style, text);
    class_draw_facts(frame, &column, id);
    if (area.height >= 16) {
        class_draw_rates(frame, &column, id);
        class_draw_worth(frame, &column, id);
    }
    if (area.height >= 20) {
        class_draw_moves(frame, &column, id, area.height >= 30 ? MOVES_SHOWN_MOST : 1);
    }
    if (area.height >= 24) {
        class_draw_ages(frame, &column, id);
    }
    class_draw_stats(frame, ui, &column);
}

/* Shows the next class of the table, in the table's order. */
static void step_class(const struct frame *frame, struct ui *ui, int step) {
    ui->classes.cursor = ui->focus;
    class_table_move_cursor(frame->model, &ui->classes, step);
    view_open_class(ui, ui->classes.cursor);
}

static struct intent class_command(const struct frame *frame, struct ui *ui, enum command given) {
    struct intent none = {0};
    ui->class_top = key_step(ui->class_top, key_move_rows(given, 5), NAMED_STATS);
    switch (given) {
    case COMMAND_NEXT_CLASS:
        step_class(frame, ui, 1);
        return none;
    case COMMAND_PREVIOUS_CLASS:
        step_class(frame, ui, -1);
        return none;
    case COMMAND_MOVE_PAGES:
        return propose_move(frame, (int)ui->focus,
                            ui->classes.source == (int)ui->focus ? -1 : ui->classes.source);
    case COMMAND_CLOSE_CLASS:
        ui->class_is_open = false;
        return none;
    default: /* other views and the app handle the other commands */
        return none;
    }
}

static const char *const shown[] = {
    "class.state", "class.age", "class.pages", "class.hot", "class.warm", "class.cold",
    "class.hits", "class.sets", "class.ev", "class.unread", "class.oom", "policy",
    "automove.gain", "automove.loss", "moves.why", "class.evicted_time", "reclaimed",
    "crawler_reclaimed", "direct_reclaims", "tailrepairs", NULL};

const struct view class_view = {.name = "Class",
                                .scope = SCOPE_CLASS,
                                .open = COMMAND_OPEN_CLASS,
                                .draw = class_draw,
                                .command = class_command,
                                .shown = shown,
                                .inquiries = INQUIRY_BIT(CLASS) | INQUIRY_BIT(MOVES) |
                                             INQUIRY_BIT(AUTOMOVE) | INQUIRY_BIT(POLICIES) |
                                             INQUIRY_BIT(EVICTIONS)};
