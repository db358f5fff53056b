/* Diff: what changed between the snapshot that D took and the moment on the screen: the whole server,
 * its settings, and the classes that differ, the largest change of pages first. */
#include "views/view.h"

#include "format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCREEN_STEP = 15 };

static double change(uint64_t before, uint64_t now) {
    if (before == STAT_ABSENT || now == STAT_ABSENT) {
        return NAN;
    }
    return now >= before ? (double)(now - before) : -(double)(before - now);
}

/* A counter only grows; one that fell began anew, and the difference means nothing. */
static double growth(uint64_t before, uint64_t now) {
    double grown = change(before, now);
    return grown < 0 ? FORMAT_RESET : grown;
}

static const char *signed_count(double value, char out[FORMAT_BYTES + 2]) {
    char digits[FORMAT_BYTES];
    if (isnan(value) || value == 0) {
        snprintf(out, FORMAT_BYTES + 2, "%s", isnan(value) ? "-" : "·");
    } else {
        snprintf(out, FORMAT_BYTES + 2, "%s%s", value > 0 ? "+" : "-",
                 format_count(digits, fabs(value)));
    }
    return out;
}

static double ratio(const struct snapshot *from, const struct snapshot *to) {
    double gets = growth(from->general[GENERAL_cmd_get], to->general[GENERAL_cmd_get]);
    double hits = growth(from->general[GENERAL_get_hits], to->general[GENERAL_get_hits]);
    return gets > 0 && hits >= 0 ? fmin(hits / gets, 1) : NAN;
}

static int draw_counter(const char *name, uint64_t before, uint64_t now, struct cells *cells, int y,
                        int x) {
    char text[FORMAT_BYTES];
    cells_printf(cells, y, x, STYLE_PLAIN, "%-20s", name);
    cells_text_right(cells, y, x + 30, STYLE_STRONG, format_count(text, growth(before, now)));
    return y + 1;
}

static int draw_gauge(const char *name, uint64_t before, uint64_t now, struct cells *cells, int y,
                      int x, bool is_bytes) {
    char was[FORMAT_BYTES], is[FORMAT_BYTES];
    cells_printf(cells, y, x, STYLE_PLAIN, "%-12s", name);
    const char *left = is_bytes ? format_bytes(was, stat_number(before))
                                : format_count(was, stat_number(before));
    const char *right =
        is_bytes ? format_bytes(is, stat_number(now)) : format_count(is, stat_number(now));
    cells_printf(cells, y, x + 13, before != now ? STYLE_STRONG : STYLE_PLAIN, "%s → %s", left,
                 right);
    return y + 1;
}

static void draw_general(const struct snapshot *a, const struct snapshot *b, struct cells *cells,
                         struct rect area) {
    int y = area.y, x = area.x;
    y = draw_counter("keys asked for", a->general[GENERAL_cmd_get], b->general[GENERAL_cmd_get], cells, y, x);
    char hit[FORMAT_BYTES];
    cells_text(cells, y, x, STYLE_PLAIN, "hit % of these");
    cells_text_right(cells, y++, x + 30, STYLE_STRONG, format_percent(hit, ratio(a, b)));
    y = draw_counter("stores", a->general[GENERAL_cmd_set], b->general[GENERAL_cmd_set], cells, y, x);
    y = draw_counter("evicted", a->general[GENERAL_evictions], b->general[GENERAL_evictions], cells, y, x);
    y = draw_counter("out of memory", a->general[GENERAL_store_no_memory], b->general[GENERAL_store_no_memory], cells, y, x);
    draw_counter("pages moved", a->general[GENERAL_slabs_moved], b->general[GENERAL_slabs_moved], cells, y, x);
    y = area.y;
    x = area.x + 34;
    y = draw_gauge("items", a->general[GENERAL_curr_items], b->general[GENERAL_curr_items], cells, y, x, false);
    y = draw_gauge("item bytes", a->general[GENERAL_bytes], b->general[GENERAL_bytes], cells, y, x, true);
    y = draw_gauge("memory", a->general[GENERAL_limit_maxbytes], b->general[GENERAL_limit_maxbytes], cells, y, x, true);
    y = draw_gauge("connections", a->general[GENERAL_curr_connections], b->general[GENERAL_curr_connections], cells, y, x, false);
    y = draw_gauge("pool pages", a->general[GENERAL_slab_global_page_pool], b->general[GENERAL_slab_global_page_pool], cells, y, x, false);
    bool is_same = strcmp(a->automove, b->automove) == 0;
    cells_text(cells, y, x, STYLE_PLAIN, "automove");
    cells_printf(cells, y, x + 13, is_same ? STYLE_PLAIN : STYLE_STRONG, is_same ? "%s" : "%s → %s",
                 a->automove[0] != '\0' ? a->automove : "-", b->automove);
}

struct changed {
    unsigned id;
    double pages, evicted;
};

static int by_change(const void *left, const void *right) {
    const struct changed *a = left, *b = right;
    double x = fabs(a->pages), y = fabs(b->pages);
    if (x != y) {
        return x > y ? -1 : 1;
    }
    return a->evicted != b->evicted ? (a->evicted > b->evicted ? -1 : 1) : (int)a->id - (int)b->id;
}

static uint64_t or_zero(const struct class_stats *stats, enum class_stat stat) {
    return !stats->present ? 0 : stats->value[stat];
}

/* The classes of which something changed; returns how many. */
static unsigned changed_classes(const struct snapshot *a, const struct snapshot *b,
                                struct changed out[CLASS_LIMIT]) {
    static const enum class_stat looked_at[] = {CLASS_total_pages, CLASS_number, CLASS_get_hits,
                                                CLASS_cmd_set, CLASS_evicted};
    unsigned count = 0;
    for (unsigned id = 0; id < CLASS_LIMIT; id++) {
        const struct class_stats *was = &a->classes[id], *is = &b->classes[id];
        bool differs = false;
        for (size_t i = 0; i < sizeof looked_at / sizeof *looked_at; i++) {
            differs = differs || or_zero(was, looked_at[i]) != or_zero(is, looked_at[i]);
        }
        if (differs) {
            double pages = change(or_zero(was, CLASS_total_pages), or_zero(is, CLASS_total_pages));
            double evicted = growth(or_zero(was, CLASS_evicted), or_zero(is, CLASS_evicted));
            out[count++] = (struct changed){id, isnan(pages) ? 0 : pages, isnan(evicted) ? 0 : evicted};
        }
    }
    qsort(out, count, sizeof *out, by_change);
    return count;
}

static void draw_class(const struct snapshot *a, const struct snapshot *b, unsigned id,
                       struct cells *cells, int y, int width) {
    const struct class_stats *was = &a->classes[id], *is = &b->classes[id];
    char text[FORMAT_BYTES + 2], pages[40], from[FORMAT_BYTES], to[FORMAT_BYTES];
    cells_printf(cells, y, 0, STYLE_PLAIN, "%4u", id);
    cells_text_right(cells, y, 12, STYLE_PLAIN,
                     format_exact(text, (is->present ? is : was)->value[CLASS_chunk_size]));
    double moved = change(or_zero(was, CLASS_total_pages), or_zero(is, CLASS_total_pages));
    snprintf(pages, sizeof pages, "%s → %s",
             format_count(from, stat_number(or_zero(was, CLASS_total_pages))),
             format_count(to, stat_number(or_zero(is, CLASS_total_pages))));
    cells_text_right(cells, y, 27, STYLE_PLAIN, pages);
    cells_text_right(cells, y, 34, moved != 0 ? STYLE_STRONG : STYLE_DIM, signed_count(moved, text));
    cells_text_right(cells, y, 43, STYLE_PLAIN,
                     signed_count(change(or_zero(was, CLASS_number), or_zero(is, CLASS_number)), text));
    static const enum class_stat counters[] = {CLASS_get_hits, CLASS_cmd_set, CLASS_evicted};
    int x = 43;
    for (size_t i = 0; i < sizeof counters / sizeof *counters; i++) {
        x += 9;
        if (x <= width) {
            cells_text_right(cells, y, x, STYLE_PLAIN,
                             format_count(text, growth(or_zero(was, counters[i]), or_zero(is, counters[i]))));
        }
    }
    if (x + 9 <= width) {
        char ages[40];
        snprintf(ages, sizeof ages, "%s → %s", format_age(from, stat_number(class_tail_age(was))),
                 format_age(to, stat_number(class_tail_age(is))));
        cells_text(cells, y, x + 2, STYLE_PLAIN, ages);
    }
}

static void draw_classes(const struct snapshot *a, const struct snapshot *b, struct ui *ui,
                         struct cells *cells, struct rect area) {
    static const struct {
        int x;
        const char *head;
    } heads[] = {{4, "CL"}, {12, "SIZE"}, {27, "PAGES"}, {34, "Δ"}, {43, "ITEMS Δ"},
                 {52, "HITS"}, {61, "SETS"}, {70, "EVICTED"}};
    struct changed changed[CLASS_LIMIT];
    unsigned count = changed_classes(a, b, changed);
    cells_fill(cells, (struct rect){area.y, 0, 1, area.width}, ' ', STYLE_HEADER);
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        if (heads[i].x <= area.width) {
            cells_text_right(cells, area.y, heads[i].x, STYLE_HEADER, heads[i].head);
        }
    }
    if (area.width >= 79) {
        cells_text(cells, area.y, 72, STYLE_HEADER, "AGE");
    }
    if (count == 0) {
        cells_text(cells, area.y + 1, 0, STYLE_DIM, "no class changed");
    }
    unsigned rows = (unsigned)(area.height > 1 ? area.height - 1 : 0);
    unsigned last_top = count > rows ? count - rows : 0;
    ui->diff_top = ui->diff_top < last_top ? ui->diff_top : last_top;
    for (unsigned i = 0; i < rows && ui->diff_top + i < count; i++) {
        draw_class(a, b, changed[ui->diff_top + i].id, cells, area.y + 1 + (int)i, area.width);
    }
}

static void draw(const struct frame *frame, struct ui *ui, struct cells *cells, struct rect area) {
    const struct snapshot *now = model_now(frame->model);
    const struct mark *mark = frame->mark;
    if (mark == NULL || !mark->is_set || now == NULL) {
        cells_text_fit(cells, area.y, 0, area.width, STYLE_PLAIN,
                       "no snapshot to compare with: press D at the moment that is to be the first");
        return;
    }
    char title[200], was[32], is[32], span[FORMAT_BYTES];
    struct tm local;
    strftime(was, sizeof was, "%H:%M:%S", localtime_r(&mark->wall, &local));
    strftime(is, sizeof is, "%H:%M:%S", localtime_r(&frame->moment, &local));
    format_age(span, fabs(difftime(frame->moment, mark->wall)));
    bool is_reversed = frame->moment < mark->wall;
    snprintf(title, sizeof title, "%.60s %s → %.60s %s: %s", is_reversed ? "" : mark->server,
             is_reversed ? is : was, is_reversed ? mark->server : "", is_reversed ? was : is, span);
    cells_rule(cells, area.y, area.x, area.width, title);
    const struct snapshot *a = is_reversed ? now : &mark->snapshot;
    const struct snapshot *b = is_reversed ? &mark->snapshot : now;
    int general = area.height >= 14 ? 6 : 0;
    if (general > 0) {
        draw_general(a, b, cells, (struct rect){area.y + 1, 0, general, area.width});
    }
    draw_classes(a, b, ui, cells,
                 (struct rect){area.y + 1 + general, 0, area.height - 1 - general, area.width});
}

static struct intent command(const struct frame *frame, struct ui *ui, enum command given) {
    (void)frame;
    ui->diff_top = list_step(ui->diff_top, command_rows(given, SCREEN_STEP), CLASS_LIMIT);
    return (struct intent){0};
}

static void terms(const struct ui *ui, struct terms *out) {
    static const char *const shown[] = {"gets", "hit_ratio", "sets", "evictions", "out_of_memory", "page_moves", "curr_items", "memory.items", "memory.limit", "connections", "memory.pool", "slab_automove"};
    (void)ui;
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        terms_add(out, "", shown[i], i == 0);
    }
}

const struct view diff_view = {
    .name = "Diff",
    .scope = SCOPE_DIFF,
    .open = COMMAND_VIEW_DIFF,
    .draw = draw,
    .command = command,
    .terms = terms};
