/* Classes: one row a slab class, sorted and filtered, with the pages to move under the cursor; tall
 * screens show the class under the cursor in detail below. */
#include "views/view.h"

#include "brain/brain_query.h"
#include "brain/format.h"
#include "brain/health.h"

#include <math.h>
#include <stdio.h>

enum { DETAIL_ROWS = 13, DETAIL_MOST = 24, SCREEN_STEP = 15 };

/* "by EV/s, rates over 10 s, filter ev>0, 3 of 12 classes" */
static void classes_draw_status(const struct frame *frame, const struct ui *ui, struct cells *cells,
                                int y, int width) {
    const struct class_table_ui *table = &ui->classes;
    char text[240];
    unsigned ids[CLASS_LIMIT];
    unsigned shown = class_table_rows(frame->model, table, ids);
    int n = snprintf(text, sizeof text, "%u classes by %s %s   rates over %lu s (a)%s", shown,
                     class_table_head(table->sort), table->is_ascending ? "▲" : "▼",
                     (unsigned long)(table->window_ms / 1000),
                     table->hides_idle ? "   idle hidden (z)" : "");
    if (table->filter[0] != '\0') {
        n += snprintf(text + n, sizeof text - (size_t)n, "   filter: %s", table->filter);
    }
    if (table->source >= 0) {
        snprintf(text + n, sizeof text - (size_t)n, "   from: class %d ◀", table->source);
    }
    cells_text_fit(cells, y, 0, width, STYLE_DIM, text);
}

int class_hint(const struct frame *frame, unsigned id, char *out, size_t out_bytes) {
    /* old figures show no fault that one could mend now */
    if (model_link(frame->model) == LINK_DOWN) {
        snprintf(out, out_bytes, "the server is down: these are its last figures");
        return STYLE_PLAIN;
    }
    struct question question = {.module = "slate.judge.attention",
                                .function = "hint",
                                .class_id = id,
                                .is_past = frame->is_past || frame->is_replay};
    struct sentence said[SENTENCES_MOST];
    unsigned count = brain_query(frame->model, &question, said);
    snprintf(out, out_bytes, "%s", count > 0 ? said[0].text : "");
    return count > 0 && said[0].tone == TONE_BAD ? STYLE_BAD : STYLE_PLAIN;
}

/* Draws the meaning of the row under the cursor, in a sentence. */
static void classes_draw_hint(const struct frame *frame, const struct ui *ui, struct cells *cells,
                              int y, int width) {
    unsigned id = ui->classes.cursor;
    char text[NOTE_BYTES];
    if (model_now(frame->model) != NULL && id != 0) {
        int style = class_hint(frame, id, text, sizeof text);
        cells_text_fit(cells, y, 0, width, (uint8_t)style, text);
    }
}

static void classes_draw_graph(const struct frame *frame, struct cells *cells, struct rect area,
                               unsigned id, enum class_metric metric, const char *title) {
    char text[FORMAT_BYTES];
    cells_rule(cells, area.y, area.x, area.width - 1, title);
    struct rect plot = {area.y + 1, area.x + 7, area.height - 1, area.width - 8};
    float values[1000];
    int count = model_class_history(frame->model, id, metric, values,
                                    plot.width < 1000 ? plot.width : 1000);
    float high = cells_graph(cells, plot, STYLE_GRAPH, values, count, 0);
    cells_text_right(cells, plot.y, plot.x - 1, STYLE_DIM, format_count(text, (double)high));
    cells_text_right(cells, plot.y + plot.height - 1, plot.x - 1, STYLE_DIM, "0");
}

static void classes_draw_items(const struct class_stats *stats, struct cells *cells, int y, int x) {
    char hot[FORMAT_BYTES], warm[FORMAT_BYTES], cold[FORMAT_BYTES], temp[FORMAT_BYTES];
    cells_printf(cells, y, x, STYLE_PLAIN, "items by segment: hot %s   warm %s   cold %s   temp %s",
                 format_count(hot, stat_number(stats->value[CLASS_number_hot])),
                 format_count(warm, stat_number(stats->value[CLASS_number_warm])),
                 format_count(cold, stat_number(stats->value[CLASS_number_cold])),
                 format_count(temp, stat_number(stats->value[CLASS_number_temp])));
}

/* Draws the class under the cursor: figures, then its evictions, hits and pages over time. */
static void classes_draw_detail(const struct frame *frame, const struct ui *ui, struct cells *cells,
                                struct rect area) {
    unsigned id = ui->classes.cursor;
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL || id == 0) {
        return;
    }
    const struct class_stats *stats = snapshot_class(now, id);
    char title[60], a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES];
    snprintf(title, sizeof title, "class %u: %s", id,
             brain_class_word(brain_class(brain_of(frame->model), id)->state));
    cells_rule(cells, area.y, area.x, area.width, title);
    cells_printf(cells, area.y + 1, area.x, STYLE_PLAIN,
                 "%s page%s of %s chunks of %s bytes; whole pages free: %s",
                 format_count(a, stat_number(stats->value[CLASS_total_pages])),
                 stats->value[CLASS_total_pages] == 1 ? "" : "s",
                 format_count(b, stat_number(stats->value[CLASS_chunks_per_page])),
                 format_exact(c, stats->value[CLASS_chunk_size]),
                 format_count(d, floor(snapshot_free_pages(stats))));
    classes_draw_items(stats, cells, area.y + 2, area.x);
    cells_printf(cells, area.y + 3, area.x, STYLE_PLAIN,
                 "since the counters began: %s evicted, %s of them unread; %s expired unread; %s "
                 "refused for want of memory",
                 format_count(a, stat_number(stats->value[CLASS_evicted])),
                 format_count(b, stat_number(stats->value[CLASS_evicted_unfetched])),
                 format_count(c, stat_number(stats->value[CLASS_expired_unfetched])),
                 format_count(d, stat_number(stats->value[CLASS_outofmemory])));
    int third = area.width / 3, top = area.y + 4, height = area.height - 4;
    classes_draw_graph(frame, cells, (struct rect){top, area.x, height, third}, id,
                       CLASS_METRIC_EVICTIONS, "evictions/s");
    classes_draw_graph(frame, cells, (struct rect){top, area.x + third, height, third}, id,
                       CLASS_METRIC_HITS, "hits/s");
    classes_draw_graph(frame, cells,
                       (struct rect){top, area.x + 2 * third, height, area.width - 2 * third}, id,
                       CLASS_METRIC_PAGES, "pages");
}

static void classes_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                         struct rect area) {
    int foot = area.height >= 8 ? 2 : 1;
    int detail = 0;
    if (area.height >= 34 && area.width >= 100) {
        unsigned ids[CLASS_LIMIT];
        int spare = area.height - foot - (int)class_table_rows(frame->model, &ui->classes, ids) - 3;
        detail = spare < DETAIL_ROWS ? DETAIL_ROWS : spare > DETAIL_MOST ? DETAIL_MOST : spare;
    }
    struct rect table = {area.y, area.x, area.height - foot - detail, area.width};
    class_table_draw(frame->model, &ui->classes, cells, table, true);
    if (detail > 0) {
        classes_draw_detail(frame, ui, cells,
                            (struct rect){table.y + table.height, area.x, detail, area.width});
    }
    int y = area.y + area.height - foot;
    if (foot == 2) {
        classes_draw_status(frame, ui, cells, y++, area.width);
    }
    classes_draw_hint(frame, ui, cells, y, area.width);
}

static struct intent classes_mark_source(struct class_table_ui *table) {
    if (table->cursor == 0) {
        return view_say("there is no class to mark");
    }
    if (table->source == (int)table->cursor) {
        table->source = -1;
        return view_say("no source is marked");
    }
    table->source = (int)table->cursor;
    return view_say("class %u is the source: go to the class that needs the pages and press m",
                    table->cursor);
}

static struct intent classes_command(const struct frame *frame, struct ui *ui, enum command given) {
    struct class_table_ui *table = &ui->classes;
    struct intent none = {0};
    /* A key may come before the first drawing has placed the cursor. */
    class_table_move_cursor(frame->model, table, key_move_rows(given, SCREEN_STEP));
    switch (given) {
    case COMMAND_MARK_SOURCE:
        return classes_mark_source(table);
    case COMMAND_MOVE_PAGES:
        return propose_move(frame, table->cursor > 0 ? (int)table->cursor : -1, table->source);
    case COMMAND_SORT_NEXT:
        class_table_step_sort(table, 1);
        return none;
    case COMMAND_SORT_PREVIOUS:
        class_table_step_sort(table, -1);
        return none;
    case COMMAND_SORT_REVERSE:
        table->is_ascending = !table->is_ascending;
        return none;
    case COMMAND_WINDOW:
        table->window_ms = table->window_ms < 100000 ? table->window_ms * 10 : 1000;
        return none;
    case COMMAND_IDLE_ROWS:
        table->hides_idle = !table->hides_idle;
        return none;
    case COMMAND_FILTER:
        table->edits_filter = true;
        table->typed_why[0] = '\0';
        snprintf(table->typed, sizeof table->typed, "%s", table->filter);
        return none;
    case COMMAND_OPEN_CLASS:
        view_open_class(ui, table->cursor);
        return none;
    case COMMAND_COLUMNS:
        ui->columns.is_open = true;
        return none;
    default: /* other views and the app handle the other commands */
        return none;
    }
}

static void classes_terms(const struct ui *ui, struct terms *out) {
    for (unsigned i = 0; i < COLUMN_COUNT; i++) {
        explain_add(out, "class.", class_columns[i].name, ui->classes.sort == i);
    }
}

static const char *const shown[] = {"class.state", "starving", NULL};

/* A second click on the same head reverses the order. */
static void classes_click(struct ui *ui, enum hot_kind kind, unsigned value) {
    struct class_table_ui *table = &ui->classes;
    if (kind == HOT_ROW) {
        table->cursor = value;
    } else if (table->sort == value) {
        table->is_ascending = !table->is_ascending;
    } else {
        table->sort = value;
        table->is_ascending = table->sort == COLUMN_ID || table->sort == COLUMN_SIZE;
    }
}

const struct view classes_view = {.name = "Classes",
                                  .scope = SCOPE_CLASSES,
                                  .open = COMMAND_VIEW_CLASSES,
                                  .draw = classes_draw,
                                  .command = classes_command,
                                  .terms = classes_terms,
                                  .shown = shown,
                                  .click = classes_click};
