/* Diff: the changes between the snapshot that D took and the moment on the screen: the server as a
 * whole, its settings, and the changed classes, the largest change of pages first. */
#include "views/view.h"

#include "brain/brain.h"
#include "brain/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCREEN_STEP = 15 };

static double diff_change(uint64_t before, uint64_t now) {
    if (before == STAT_ABSENT || now == STAT_ABSENT) {
        return NAN;
    }
    return now >= before ? (double)(now - before) : -(double)(before - now);
}

/* The growth of a counter. A counter that fell began anew, so its difference means nothing. */
static double diff_growth(uint64_t before, uint64_t now) {
    double grown = diff_change(before, now);
    return grown < 0 ? RATE_RESET : grown;
}

static const char *diff_signed(double value, char out[FORMAT_BYTES + 2]) {
    char digits[FORMAT_BYTES];
    if (isnan(value) || value == 0) {
        snprintf(out, FORMAT_BYTES + 2, "%s", isnan(value) ? "-" : "·");
    } else {
        snprintf(out, FORMAT_BYTES + 2, "%s%s", value > 0 ? "+" : "-",
                 format_count(digits, fabs(value)));
    }
    return out;
}

/* The figures of the server as a whole: counters at the left, gauges at the right. */
static const struct {
    const char *name;
    enum general_stat stat; /* GENERAL_pid: in place of refused stores, which Lua counts */
} counters[] = {{"keys requested", GENERAL_cmd_get}, {"hit % of these", GENERAL_get_hits},
                {"stores", GENERAL_cmd_set},         {"evicted", GENERAL_evictions},
                {"out of memory", GENERAL_pid},      {"pages moved", GENERAL_slabs_moved}};
static const struct {
    const char *name;
    enum general_stat stat;
    const char *(*format)(char out[FORMAT_BYTES], double value);
} gauges[] = {{"items", GENERAL_curr_items, format_count},
              {"item bytes", GENERAL_bytes, format_bytes},
              {"memory", GENERAL_limit_maxbytes, format_bytes},
              {"connections", GENERAL_curr_connections, format_count},
              {"pool pages", GENERAL_slab_global_page_pool, format_count}};
enum { GENERAL_ROWS = sizeof counters / sizeof *counters };

static void diff_draw_gauge(struct cells *cells, int y, int x, const char *name, bool is_same,
                            const char *was, const char *is) {
    cells_text(cells, y, x, STYLE_PLAIN, name);
    cells_printf(cells, y, x + 13, is_same ? STYLE_PLAIN : STYLE_STRONG, "%s → %s", was, is);
}

static void diff_draw_general(const struct brain *brain, const struct snapshot *a,
                              const struct snapshot *b, struct cells *cells, int y) {
    enum { GAUGES_X = 34, VALUES_END = 30 };
    char text[FORMAT_BYTES], other[FORMAT_BYTES];
    double gets = diff_growth(a->general[GENERAL_cmd_get], b->general[GENERAL_cmd_get]);
    for (int i = 0; i < GENERAL_ROWS; i++) {
        enum general_stat stat = counters[i].stat;
        double grown = stat == GENERAL_pid ? diff_growth(brain_refused_stores(brain, a),
                                                         brain_refused_stores(brain, b))
                                           : diff_growth(a->general[stat], b->general[stat]);
        cells_text(cells, y + i, 0, STYLE_PLAIN, counters[i].name);
        cells_text_right(cells, y + i, VALUES_END, STYLE_STRONG,
                         stat != GENERAL_get_hits ? format_count(text, grown)
                         : gets > 0 && grown >= 0 ? format_percent(text, fmin(grown / gets, 1))
                                                  : format_percent(text, NAN));
    }
    for (int i = 0; i < GENERAL_ROWS - 1; i++) {
        uint64_t was = a->general[gauges[i].stat], is = b->general[gauges[i].stat];
        diff_draw_gauge(cells, y + i, GAUGES_X, gauges[i].name, was == is,
                        gauges[i].format(text, stat_number(was)),
                        gauges[i].format(other, stat_number(is)));
    }
    const char *was = a->automove[0] != '\0' ? a->automove : "-";
    if (strcmp(a->automove, b->automove) == 0) {
        cells_text(cells, y + GENERAL_ROWS - 1, GAUGES_X, STYLE_PLAIN, "automove");
        cells_text(cells, y + GENERAL_ROWS - 1, GAUGES_X + 13, STYLE_PLAIN, was);
    } else {
        diff_draw_gauge(cells, y + GENERAL_ROWS - 1, GAUGES_X, "automove", false, was, b->automove);
    }
}

/* An id with another chunk size than before has two entries: a class that went, and one that
 * came. */
struct changed {
    unsigned id;
    const struct class_stats *was, *is;
    double pages, evicted;
};
enum { CHANGED_LIMIT = 2 * CLASS_LIMIT };

static int diff_compare_changes(const void *left, const void *right) {
    const struct changed *a = left, *b = right;
    double x = fabs(a->pages), y = fabs(b->pages);
    if (x != y) {
        return x > y ? -1 : 1;
    }
    return a->evicted != b->evicted ? (a->evicted > b->evicted ? -1 : 1) : (int)a->id - (int)b->id;
}

static uint64_t diff_stat(const struct class_stats *stats, enum class_stat stat) {
    return !stats->present ? 0 : stats->value[stat];
}

/* Adds a class if one of its stats has changed; returns the new count. */
static unsigned diff_add_changed(unsigned id, const struct class_stats *was,
                                 const struct class_stats *is, struct changed out[CHANGED_LIMIT],
                                 unsigned count) {
    static const enum class_stat compared[] = {CLASS_total_pages, CLASS_number, CLASS_get_hits,
                                               CLASS_cmd_set, CLASS_evicted};
    bool differs = false;
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) {
        differs = differs || diff_stat(was, compared[i]) != diff_stat(is, compared[i]);
    }
    if (differs) {
        double pages =
            diff_change(diff_stat(was, CLASS_total_pages), diff_stat(is, CLASS_total_pages));
        double evicted = diff_growth(diff_stat(was, CLASS_evicted), diff_stat(is, CLASS_evicted));
        out[count++] =
            (struct changed){id, was, is, isnan(pages) ? 0 : pages, isnan(evicted) ? 0 : evicted};
    }
    return count;
}

/* Writes the classes with a changed stat; returns how many. */
static unsigned diff_list_changed(const struct snapshot *a, const struct snapshot *b,
                                  struct changed out[CHANGED_LIMIT]) {
    static const struct class_stats none = {.present = false};
    unsigned count = 0;
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        const struct class_stats *was = snapshot_class(a, id), *is = snapshot_class(b, id);
        uint64_t from = was->value[CLASS_chunk_size], to = is->value[CLASS_chunk_size];
        if (from != STAT_ABSENT && to != STAT_ABSENT && from != to) {
            count = diff_add_changed(id, was, &none, out, count);
            count = diff_add_changed(id, &none, is, out, count);
        } else {
            count = diff_add_changed(id, was, is, out, count);
        }
    }
    qsort(out, count, sizeof *out, diff_compare_changes);
    return count;
}

/* The columns of the classes, and their ends; AGE takes the space left of 80. */
enum column { ID, SIZE, PAGES, MOVED, ITEMS, HITS, SETS, EVICTED, AGE, COLUMNS };
static const struct {
    int end;
    const char *head;
} columns[COLUMNS] = {[ID] = {4, "CL"},      [SIZE] = {12, "SIZE"},     [PAGES] = {26, "PAGES"},
                      [MOVED] = {33, "Δ"},   [ITEMS] = {41, "ITEMS Δ"}, [HITS] = {48, "HITS"},
                      [SETS] = {55, "SETS"}, [EVICTED] = {63, "EVICTED"}, [AGE] = {80, "AGE"}};

/* Draws a column, but never a part of one. */
static void diff_put(struct cells *cells, int y, int width, enum column column, enum style style,
                     const char *text) {
    if (columns[column].end > width) {
        return;
    }
    if (column == AGE) {
        cells_text(cells, y, columns[EVICTED].end + 2, (uint8_t)style, text);
    } else {
        cells_text_right(cells, y, columns[column].end, (uint8_t)style, text);
    }
}

static uint64_t diff_tail_age(const struct class_stats *stats) {
    return stats->present ? snapshot_tail_age(stats) : STAT_ABSENT;
}

static void diff_draw_class(const struct changed *changed, struct cells *cells, int y, int width) {
    const struct class_stats *was = changed->was, *is = changed->is;
    char text[FORMAT_BYTES + 2], pair[40], from[FORMAT_BYTES], to[FORMAT_BYTES];
    snprintf(text, sizeof text, "%u", changed->id);
    diff_put(cells, y, width, ID, STYLE_PLAIN, text);
    diff_put(cells, y, width, SIZE, STYLE_PLAIN,
             format_exact(text, (is->present ? is : was)->value[CLASS_chunk_size]));
    uint64_t pages_was = diff_stat(was, CLASS_total_pages),
             pages = diff_stat(is, CLASS_total_pages);
    snprintf(pair, sizeof pair, "%s → %s", format_count(from, stat_number(pages_was)),
             format_count(to, stat_number(pages)));
    diff_put(cells, y, width, PAGES, STYLE_PLAIN, pair);
    double moved = diff_change(pages_was, pages);
    diff_put(cells, y, width, MOVED, moved != 0 ? STYLE_STRONG : STYLE_DIM,
             diff_signed(moved, text));
    diff_put(
        cells, y, width, ITEMS, STYLE_PLAIN,
        diff_signed(diff_change(diff_stat(was, CLASS_number), diff_stat(is, CLASS_number)), text));
    static const enum class_stat counted[] = {CLASS_get_hits, CLASS_cmd_set, CLASS_evicted};
    for (unsigned i = 0; i < sizeof counted / sizeof *counted; i++) {
        double grown = diff_growth(diff_stat(was, counted[i]), diff_stat(is, counted[i]));
        diff_put(cells, y, width, HITS + i, STYLE_PLAIN, format_count(text, grown));
    }
    snprintf(pair, sizeof pair, "%s → %s", format_age(from, stat_number(diff_tail_age(was))),
             format_age(to, stat_number(diff_tail_age(is))));
    diff_put(cells, y, width, AGE, STYLE_PLAIN, pair);
}

static void diff_draw_classes(const struct snapshot *a, const struct snapshot *b, struct ui *ui,
                              struct cells *cells, struct rect area) {
    struct changed changed[CHANGED_LIMIT];
    unsigned count = diff_list_changed(a, b, changed);
    cells_head(cells, area.y, 0, area.width, "");
    for (unsigned i = 0; i < COLUMNS; i++) {
        diff_put(cells, area.y, area.width, i, STYLE_HEADER, columns[i].head);
    }
    if (count == 0) {
        cells_text(cells, area.y + 1, 0, STYLE_DIM, "no class changed");
    }
    unsigned rows = (unsigned)(area.height > 1 ? area.height - 1 : 0);
    ui->diff_top = key_top(ui->diff_top, ui->diff_top, rows, count);
    for (unsigned i = 0; i < rows && ui->diff_top + i < count; i++) {
        diff_draw_class(&changed[ui->diff_top + i], cells, area.y + 1 + (int)i, area.width);
    }
}

static void diff_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                      struct rect area) {
    const struct snapshot *now = model_now(frame->model);
    const struct mark *mark = frame->mark;
    if (mark == NULL || !mark->is_set || now == NULL) {
        cells_text_fit(
            cells, area.y, 0, area.width, STYLE_PLAIN,
            "nothing to compare with yet: press D to mark a moment, and return later");
        return;
    }
    char title[200], was[FORMAT_BYTES], is[FORMAT_BYTES], span[FORMAT_BYTES];
    format_clock(was, mark->wall);
    format_clock(is, frame->moment);
    format_age(span, fabs(difftime(frame->moment, mark->wall)));
    bool is_reversed = frame->moment < mark->wall;
    if (is_reversed) {
        snprintf(title, sizeof title, "%s → %.60s %s: %s", is, mark->server, was, span);
    } else {
        snprintf(title, sizeof title, "%.60s %s → %s: %s", mark->server, was, is, span);
    }
    cells_rule(cells, area.y, area.x, area.width, title);
    const struct snapshot *a = is_reversed ? now : &mark->snapshot;
    const struct snapshot *b = is_reversed ? &mark->snapshot : now;
    int general = area.height >= 14 ? GENERAL_ROWS : 0;
    if (general > 0) {
        diff_draw_general(brain_of(frame->model), a, b, cells, area.y + 1);
    }
    diff_draw_classes(
        a, b, ui, cells,
        (struct rect){area.y + 1 + general, 0, area.height - 1 - general, area.width});
}

static struct intent diff_command(const struct frame *frame, struct ui *ui, enum command given) {
    (void)frame;
    ui->diff_top = key_step(ui->diff_top, key_move_rows(given, SCREEN_STEP), CHANGED_LIMIT);
    return (struct intent){0};
}

static const char *const shown[] = {
    "gets", "hit_ratio", "sets", "evictions", "out_of_memory", "page_moves", "curr_items",
    "memory.items", "memory.limit", "connections", "memory.pool", "slab_automove", NULL};

const struct view diff_view = {.name = "Diff",
                               .scope = SCOPE_DIFF,
                               .open = COMMAND_VIEW_DIFF,
                               .draw = diff_draw,
                               .command = diff_command,
                               .shown = shown};
