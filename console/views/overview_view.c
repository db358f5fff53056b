/* Overview: health in words first, then rates with their past, then memory; larger screens add
 * graphs, the busiest classes and the last events. */
#include "views/view.h"

#include "brain/brain.h"
#include "brain/format.h"
#include "brain/health.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>

/* The rates of a small screen. The others are flat on most servers, and the classes take their
 * room. */
static const enum metric few_lines[] = {METRIC_OPS, METRIC_HIT_RATIO, METRIC_EVICTIONS, METRIC_GETS,
                                        METRIC_SETS};
static const enum metric rate_lines[] = {
    METRIC_OPS,
    METRIC_GETS,
    METRIC_SETS,
    METRIC_HIT_RATIO,
    METRIC_EVICTIONS,
    METRIC_BYTES_OUT,
    METRIC_BYTES_IN,
    METRIC_CPU,
    METRIC_CONNECTIONS,
    METRIC_REPLY_MS,
    METRIC_NO_MEMORY,
    METRIC_REFUSED,
    METRIC_EXPIRED_UNREAD,
    METRIC_LOST_BY_MOVES,
};
enum {
    RATE_LINES = sizeof rate_lines / sizeof *rate_lines,
    FEW_LINES = 3,    /* lines of few_lines, on a screen of 24 rows */
    MIDDLE_LINES = 5, /* on a screen that is not tall */
    SCALE_X = 43,     /* column of the graphs' scales, after the means */
    SCALE_WIDTH = 8,
    MEMORY_ROWS = 4,
    MARK_WIDTH = 8, /* width of "! BAD   " */
    HEALTH_ROWS_MOST = 2 * HEALTH_LIMIT
};

/* The value at a graph's bottom: zero; for the hit ratio a little below its lowest value, so that
 * changes are visible. */
static float overview_floor_of(enum metric metric, const float *values, int count) {
    float low = 1.0f;
    for (int i = 0; i < count && metric == METRIC_HIT_RATIO; i++) {
        low = values[i] < low ? values[i] : low;
    }
    return metric == METRIC_HIT_RATIO ? fmaxf(low - 0.02f, 0) : 0;
}

/* Draws lines of health below each other, each wrapped, not cut; without cells it only counts the
 * rows. */
static int overview_draw_lines(const struct health_line *lines, int count, struct cells *cells,
                               struct rect area) {
    static const char *const marks[] = {"○", "○", "·", "●", "!"}; /* marks by tone */
    int rows = 0;
    for (int i = 0; i < count && rows < area.height; i++) {
        char words[NOTE_BYTES + 16];
        uint8_t style = view_tone_style(lines[i].tone, STYLE_PLAIN);
        struct rect room = {area.y + rows, area.x + MARK_WIDTH, area.height - rows,
                            area.width - MARK_WIDTH};
        if (cells != NULL) {
            cells_printf(cells, room.y, area.x, style, "%s %-5s", marks[lines[i].tone],
                         health_word(lines[i].tone));
        }
        words_printf(words, sizeof words, lines[i].key != '\0' ? "%s: press %c" : "%s",
                     lines[i].text, lines[i].key);
        rows += cells_paragraph(cells, room, 0,
                                lines[i].tone == TONE_BAD ? style : (uint8_t)STYLE_PLAIN, words);
    }
    return rows;
}

/* How many lines of health are drawn. While there is a fault, a small screen has no good lines, to
 * give room to classes: the figures of these lines are among the rates and the memory. */
static int overview_count_urgent(const struct health_line *lines, int count, bool is_tall) {
    int urgent = 0;
    while (urgent < count && lines[urgent].tone != TONE_GOOD) {
        urgent++;
    }
    return is_tall || urgent == 0 || lines[0].tone < TONE_WARN ? count : urgent;
}

/* The number of graph columns with a value: rates need two refreshes, and the past may be short. */
static int overview_count_samples(const struct model *model, int columns) {
    float values[1000];
    int drawn = 0,
        count = model_history(model, rate_lines[0], values, columns < 1000 ? columns : 1000);
    for (int i = 0; i < count; i++) {
        drawn += !isnan(values[i]);
    }
    return drawn;
}

/* The range of a drawn graph. */
struct graph {
    float low, high;
    bool is_cut;   /* a spike is higher than the top */
    bool is_known; /* the graph has a value */
};

static struct graph overview_draw_history(const struct frame *frame, struct cells *cells,
                                          struct rect area, enum metric metric) {
    float values[1000];
    struct graph graph = {.is_known = false};
    int count = model_history(frame->model, metric, values, area.width < 1000 ? area.width : 1000);
    graph.is_cut = metric != METRIC_HIT_RATIO && cells_cut_spikes(values, count);
    graph.low = overview_floor_of(metric, values, count);
    graph.high = cells_graph(cells, area, STYLE_GRAPH, values, count, graph.low);
    for (int i = 0; i < count; i++) {
        graph.is_known |= !isnan(values[i]);
    }
    return graph;
}

/* Draws a graph of one row, and before it the value of its top, with a "+" when a spike is
 * higher. */
static void overview_draw_spark(const struct frame *frame, struct cells *cells, struct rect area,
                                enum metric metric, bool has_scale) {
    char text[FORMAT_BYTES];
    struct graph graph = overview_draw_history(frame, cells, area, metric);
    if (has_scale && graph.is_known) {
        cells_printf(cells, area.y, area.x - SCALE_WIDTH + 1, STYLE_DIM, "%5s%s",
                     format_metric(text, metric, (double)graph.high), graph.is_cut ? "+" : "");
    }
}

static void overview_draw_rates(const struct frame *frame, struct cells *cells, struct rect area) {
    bool has_means = area.width >= 60;
    int spark_x = area.x + (has_means ? SCALE_X + SCALE_WIDTH : 26);
    int spark_width = area.x + area.width - spark_x;
    char title[40];
    int drawn = overview_count_samples(frame->model, spark_width);
    snprintf(title, sizeof title, "%d sample%s, newest right", drawn, drawn == 1 ? "" : "s");
    cells_rule(cells, area.y, area.x, area.width, "rates");
    cells_text_right(cells, area.y, area.x + 24, STYLE_HEADER, " now");
    if (has_means) {
        cells_text_right(cells, area.y, area.x + 33, STYLE_HEADER, " 10 s");
        cells_text_right(cells, area.y, area.x + 41, STYLE_HEADER, " 100 s");
        cells_text_right(cells, area.y, spark_x - 1, STYLE_HEADER, " top ");
        cells_text_fit(cells, area.y, spark_x + 1, spark_width - 1, STYLE_HEADER, title);
    }
    /* Before the second refresh no rate is known, for a fifth of a second: a column of dashes would
     * look like a fault. */
    bool is_measuring = model_before(frame->model) == NULL && model_link(frame->model) == LINK_UP;
    for (int i = 0; i < RATE_LINES && i < area.height - 1; i++) {
        enum metric metric = area.height - 1 <= MIDDLE_LINES ? few_lines[i] : rate_lines[i];
        char text[FORMAT_BYTES];
        int y = area.y + 1 + i;
        if (is_measuring && isnan(model_metric(frame->model, metric))) {
            cells_text(cells, y, area.x, STYLE_DIM, metric_rows[metric].name);
            cells_text_right(cells, y, area.x + 24, STYLE_DIM, i == 0 ? "measuring" : "");
            continue;
        }
        bool is_bad = (metric == METRIC_NO_MEMORY || metric == METRIC_REFUSED) &&
                      model_metric(frame->model, metric) > 0;
        cells_text(cells, y, area.x, is_bad ? STYLE_BAD : STYLE_PLAIN, metric_rows[metric].name);
        cells_text_right(cells, y, area.x + 24, STYLE_STRONG,
                         format_metric(text, metric, model_metric(frame->model, metric)));
        if (has_means) {
            cells_text_right(cells, y, area.x + 33, STYLE_PLAIN,
                             format_metric(text, metric, model_mean(frame->model, metric, 10000)));
            cells_text_right(cells, y, area.x + 41, STYLE_PLAIN,
                             format_metric(text, metric, model_mean(frame->model, metric, 100000)));
        }
        overview_draw_spark(frame, cells, (struct rect){y, spark_x, 1, spark_width}, metric,
                            has_means);
    }
}

struct memory {
    double limit, items, free_chunk_bytes;
    double pages, classes;
};

static struct memory overview_measure_memory(const struct snapshot *now) {
    struct memory memory = {.limit = stat_number(now->general[GENERAL_limit_maxbytes]),
                            .items = snapshot_item_bytes(now)};
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = snapshot_class(now, id);
        double pages = stat_number(stats->value[CLASS_total_pages]);
        double chunk = stat_number(stats->value[CLASS_chunk_size]);
        double free_chunks = stat_number(snapshot_free_chunks(stats));
        if (pages > 0) {
            memory.pages += pages;
            memory.free_chunk_bytes += isnan(free_chunks) ? 0 : free_chunks * chunk;
            memory.classes++;
        }
    }
    return memory;
}

static void overview_draw_memory(const struct frame *frame, struct cells *cells, struct rect area) {
    cells_rule(cells, area.y, area.x, area.width, "memory");
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL || area.height < 2) {
        return;
    }
    struct memory memory = overview_measure_memory(now);
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES], e[FORMAT_BYTES];
    if (!brain_said(brain_of(frame->model))->reports_classes) {
        memory.pages = memory.free_chunk_bytes = memory.classes = NAN;
    }
    double slack = brain_waste(brain_of(frame->model)).slack_bytes;
    int x = cells_printf(cells, area.y + 1, area.x, STYLE_PLAIN, "items %6s ",
                         format_bytes(a, memory.items));
    int bar = area.width - 36;
    if (bar >= 10 && memory.limit > 0) {
        cells_bar(cells, area.y + 1, x, bar, memory.items / memory.limit, slack / memory.limit);
        x += bar;
    }
    cells_printf(cells, area.y + 1, x, STYLE_PLAIN, " of %s, slack %s",
                 format_bytes(b, memory.limit), format_bytes(c, slack));
    if (area.height < 3) {
        return;
    }
    cells_printf(cells, area.y + 2, area.x, STYLE_PLAIN,
                 "pages %6s in %s classes, pool %s   free chunks %s   items %s",
                 format_count(a, memory.pages), format_count(e, memory.classes),
                 format_count(b, stat_number(now->general[GENERAL_slab_global_page_pool])),
                 format_bytes(c, memory.free_chunk_bytes),
                 format_count(d, stat_number(now->general[GENERAL_curr_items])));
    if (area.height < 4) {
        return;
    }
    cells_printf(cells, area.y + 3, area.x, STYLE_PLAIN,
                 "conns %6s of %s   threads %s   hash %s   up %s",
                 format_count(a, stat_number(now->general[GENERAL_curr_connections])),
                 format_count(b, stat_number(now->general[GENERAL_max_connections])),
                 format_count(c, stat_number(now->general[GENERAL_threads])),
                 format_bytes(d, stat_number(now->general[GENERAL_hash_bytes])),
                 format_age((char[FORMAT_BYTES]){0}, stat_number(now->general[GENERAL_uptime])));
}

/* Draws a graph of some rows, its scale at the left, and the figure in its heading. */
static void overview_draw_graph(const struct frame *frame, struct cells *cells, struct rect area,
                                enum metric metric) {
    char text[FORMAT_BYTES], top[FORMAT_BYTES];
    cells_rule(cells, area.y, area.x, area.width - 1, metric_rows[metric].name);
    cells_printf(cells, area.y, area.x + 4 + cells_width_of(metric_rows[metric].name), STYLE_STRONG,
                 " %s ", format_metric(text, metric, model_metric(frame->model, metric)));
    struct rect plot = {area.y + 1, area.x + 7, area.height - 1, area.width - 8};
    struct graph graph = overview_draw_history(frame, cells, plot, metric);
    cells_text_right(cells, plot.y, plot.x - 1, STYLE_DIM,
                     format_metric(top, metric, (double)graph.high));
    cells_text(cells, plot.y, plot.x - 1, STYLE_DIM, graph.is_cut ? "+" : "");
    cells_text_right(cells, plot.y + plot.height - 1, plot.x - 1, STYLE_DIM,
                     format_metric(top, metric, (double)graph.low));
}

static int overview_take_rows(struct rect *left, int rows) {
    int y = left->y;
    left->y += rows;
    left->height -= rows;
    return y;
}

static int overview_at_most(int value, int limit) {
    return value < limit ? value : limit;
}

/* Draws sections from the top; each takes the rows that it needs. */
static void overview_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                          struct rect area) {
    (void)ui;
    struct rect left = area;
    struct health_line lines[HEALTH_LIMIT];
    int health_count = health_assess(frame->model, frame->now_ms, frame->interval_ms, lines);
    for (int i = 0; i < health_count && (frame->is_past || frame->is_replay); i++) {
        lines[i].key = '\0'; /* the past offers no changes */
    }
    bool is_tall = area.height >= 30;
    health_count = overview_count_urgent(lines, health_count, is_tall);
    struct rect unbounded = {0, 0, HEALTH_ROWS_MOST, area.width};
    int health_most = is_tall ? 9 : area.height >= 20 ? 7 : 3;
    int health = overview_at_most(overview_draw_lines(lines, health_count, NULL, unbounded) + 1,
                                  health_most);
    int memory = area.height >= 16 ? MEMORY_ROWS : 0;
    int rate_lines_most = is_tall ? RATE_LINES : area.height >= 23 ? MIDDLE_LINES : FEW_LINES;
    int rates = overview_at_most(left.height - health - memory, 1 + rate_lines_most);
    int health_y = overview_take_rows(&left, health);
    cells_rule(cells, health_y, 0, area.width, "health");
    overview_draw_lines(lines, health_count, cells,
                        (struct rect){health_y + 1, 0, health - 1, area.width});
    overview_draw_rates(frame, cells,
                        (struct rect){overview_take_rows(&left, rates), 0, rates, area.width});
    if (memory > 0) {
        overview_draw_memory(
            frame, cells, (struct rect){overview_take_rows(&left, memory), 0, memory, area.width});
    }
    if (left.height >= 16 && area.width >= 100) {
        int half = area.width / 2;
        int y = overview_take_rows(&left, 7);
        overview_draw_graph(frame, cells, (struct rect){y, 0, 7, half}, METRIC_EVICTIONS);
        overview_draw_graph(frame, cells, (struct rect){y, half, 7, area.width - half},
                            METRIC_HIT_RATIO);
    }
    if (left.height >= 4) {
        int events = left.height >= 12 ? 5 : 0;
        int classes = left.height - events;
        imbalance_draw(frame, cells,
                       (struct rect){overview_take_rows(&left, classes), 0, classes, area.width});
    }
    if (left.height >= 2) {
        cells_rule(cells, left.y, 0, area.width, "events");
        events_draw_list(frame, cells, (struct rect){left.y + 1, 0, left.height - 1, area.width},
                         0);
    }
}

static struct intent overview_command(const struct frame *frame, struct ui *ui,
                                      enum command given) {
    (void)ui; /* this screen ignores a source that another view has marked */
    if (given == COMMAND_MOVE_PAGES) {
        return propose_move(frame, brain_in_need(brain_of(frame->model)), -1);
    }
    return (struct intent){0};
}

static const char *const shown[] = {
    "starving", "lost_by_moves", "slab_automove", "memory.items", "memory.limit", "memory.held",
    "memory.slack", "memory.pages", "memory.pool", "memory.free_chunks", "curr_items", "threads",
    "memory.hash", "uptime", NULL};

static void overview_terms(const struct ui *ui, struct terms *out) {
    (void)ui;
    for (int i = 0; i < RATE_LINES; i++) {
        explain_add(out, "", metric_rows[rate_lines[i]].key, rate_lines[i] == METRIC_HIT_RATIO);
    }
}

const struct view overview_view = {.name = "Overview",
                                   .scope = SCOPE_OVERVIEW,
                                   .open = COMMAND_VIEW_OVERVIEW,
                                   .draw = overview_draw,
                                   .command = overview_command,
                                   .terms = overview_terms,
                                   .shown = shown,
                                   .inquiries = INQUIRY_BIT(MOVES) | INQUIRY_BIT(MEMORY)};
