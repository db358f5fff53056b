/* The classes as a picture: each one's share of the pages beside its share of the evictions, and
 * how long an item lives there. The class that evicts most is first, so that a class with one
 * page of a hundred and most of the evictions is seen at once. */
#include "views/view.h"

#include "brain/brain.h"
#include "brain/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    WINDOW_MS = 10000, /* evictions are means over this */
    BARS_X = 19,       /* after mark, id, size and pages */
    TAIL_WIDTH = 19,   /* width of life and state */
    PERCENT_WIDTH = 7,
    LEAST_WIDTH = 56 /* below it there is no room for two bars */
};

struct share {
    unsigned id;
    double pages, evictions_per_s;
};

static int imbalance_compare_shares(const void *a, const void *b) {
    const struct share *x = a, *y = b;
    if (x->evictions_per_s != y->evictions_per_s) {
        return x->evictions_per_s < y->evictions_per_s ? 1 : -1;
    }
    if (x->pages != y->pages) {
        return x->pages < y->pages ? 1 : -1;
    }
    return x->id < y->id ? -1 : 1;
}

/* Writes the classes with pages, the one that evicts most first; *sum: all pages and evictions. */
static unsigned imbalance_list(const struct model *model, struct share list[CLASS_LIMIT],
                               struct share *sum) {
    const struct snapshot *now = model_now(model);
    unsigned count = 0;
    *sum = (struct share){0};
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        double pages = stat_number(snapshot_class(now, id)->value[CLASS_total_pages]);
        double evictions = model_class_mean(model, id, CLASS_METRIC_EVICTIONS, WINDOW_MS);
        if (pages > 0) {
            list[count] = (struct share){id, pages, evictions > 0 ? evictions : 0};
            sum->pages += pages;
            sum->evictions_per_s += list[count++].evictions_per_s;
        }
    }
    qsort(list, count, sizeof *list, imbalance_compare_shares);
    return count;
}

/* Draws a share in per cent and as a bar; `most` is the largest share of all. */
static void imbalance_bar(struct cells *cells, int y, int x, int width, uint8_t style, double share,
                          double most) {
    char text[FORMAT_BYTES];
    cells_printf(cells, y, x, STYLE_PLAIN, "%5s%s", format_percent(text, share),
                 isnan(share) ? "" : "%");
    int room = width - PERCENT_WIDTH - 1;
    int length = share > 0 && most > 0 ? (int)lround(share / most * room) : 0;
    for (int i = 0; i < length || (i < 1 && share > 0); i++) {
        cells_text(cells, y, x + PERCENT_WIDTH + i, style, "█");
    }
}

static void imbalance_draw_row(const struct frame *frame, struct cells *cells, struct rect row,
                               const struct share *one, const struct share *sum, double most) {
    const struct class_verdict *verdict = brain_class(brain_of(frame->model), one->id);
    bool starves = verdict->state == CLASS_STARVING;
    uint8_t style = starves ? STYLE_BAD : STYLE_PLAIN;
    char text[FORMAT_BYTES];
    const struct snapshot *now = model_now(frame->model);
    int half = (row.width - BARS_X - TAIL_WIDTH) / 2;
    cells_printf(cells, row.y, row.x, style, "%s %2u", starves ? "!" : " ", one->id);
    cells_text_right(
        cells, row.y, row.x + 11, style,
        format_bytes(text, stat_number(snapshot_class(now, one->id)->value[CLASS_chunk_size])));
    cells_text_right(cells, row.y, row.x + 17, STYLE_PLAIN, format_count(text, one->pages));
    imbalance_bar(cells, row.y, row.x + BARS_X, half, STYLE_GRAPH, one->pages / sum->pages, most);
    imbalance_bar(cells, row.y, row.x + BARS_X + half, half, starves ? STYLE_BAD : STYLE_WARN,
                  sum->evictions_per_s > 0 ? one->evictions_per_s / sum->evictions_per_s : NAN,
                  most);
    int tail = row.x + row.width - TAIL_WIDTH;
    cells_text_right(cells, row.y, tail + 6, style, format_age(text, verdict->life_s));
    cells_text(cells, row.y, tail + 8, style, brain_class_word(verdict->state));
}

/* Writes a title: the worst class in one sentence; "classes" when none starves. */
static void imbalance_title(const struct frame *frame, const struct share *list, unsigned count,
                            const struct share *sum, char *out, size_t bytes) {
    int worst = brain_said(brain_of(frame->model))->worst;
    snprintf(out, bytes, "classes");
    for (unsigned i = 0; i < count; i++) {
        if ((int)list[i].id == worst && sum->evictions_per_s > 0) {
            char pages[FORMAT_BYTES], evictions[FORMAT_BYTES];
            snprintf(out, bytes, "class %d: %s %% of the pages, %s %% of the evictions", worst,
                     format_percent(pages, list[i].pages / sum->pages),
                     format_percent(evictions, list[i].evictions_per_s / sum->evictions_per_s));
        }
    }
}

void imbalance_draw(const struct frame *frame, struct cells *cells, struct rect area) {
    struct share list[CLASS_LIMIT], sum;
    unsigned count = model_now(frame->model) != NULL ? imbalance_list(frame->model, list, &sum) : 0;
    char title[120];
    if (count == 0) {
        cells_rule(cells, area.y, area.x, area.width, "classes");
        return;
    }
    imbalance_title(frame, list, count, &sum, title, sizeof title);
    cells_rule(cells, area.y, area.x, area.width, title);
    if (area.width < LEAST_WIDTH || area.height < 3) {
        return;
    }
    int half = (area.width - BARS_X - TAIL_WIDTH) / 2, tail = area.x + area.width - TAIL_WIDTH;
    cells_text(cells, area.y + 1, area.x, STYLE_HEADER, "  CL   SIZE PAGES");
    cells_text(cells, area.y + 1, area.x + BARS_X, STYLE_HEADER, "SHARE OF PAGES");
    cells_text(cells, area.y + 1, area.x + BARS_X + half, STYLE_HEADER, "OF EVICTIONS, 10 s");
    cells_text(cells, area.y + 1, tail + 2, STYLE_HEADER, "LIFE  STATE");
    double most = 0;
    for (unsigned i = 0; i < count; i++) {
        most =
            fmax(most,
                 fmax(list[i].pages / sum.pages,
                      sum.evictions_per_s > 0 ? list[i].evictions_per_s / sum.evictions_per_s : 0));
    }
    unsigned rows = (unsigned)area.height - 2;
    for (unsigned i = 0; i < count && i < rows; i++) {
        imbalance_draw_row(frame, cells, (struct rect){area.y + 2 + (int)i, area.x, 1, area.width},
                           &list[i], &sum, most);
    }
    if (count > rows) {
        char more[32];
        snprintf(more, sizeof more, "%u more: press 2 ", count - rows);
        cells_text_right(cells, area.y, area.x + area.width - 1, STYLE_HEADER, more);
    }
}
