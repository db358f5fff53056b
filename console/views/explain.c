/* What a figure means, over the view that shows it: the entry of man/explain.txt, one term after
 * the other. */
#include "views/view.h"

#include <stdio.h>

enum { BOX_WIDTH = 76, LABEL_WIDTH = 9, LINES_MOST = 200 };

void explain_open(struct ui *ui, const struct view *view) {
    ui->explain = (struct explain_ui){.is_open = true};
    view_terms(view, ui, &ui->explain.terms);
}

void explain_command(struct ui *ui, enum command command) {
    struct explain_ui *explain = &ui->explain;
    unsigned count = explain->terms.count, *current = &explain->terms.current;
    explain->top = list_step(explain->top, command_rows(command, LINES_MOST), LINES_MOST);
    switch (command) {
    case COMMAND_NEXT_FIELD:
        *current = (*current + 1) % count;
        explain->top = 0;
        break;
    case COMMAND_PREVIOUS_FIELD:
        *current = (*current + count - 1) % count;
        explain->top = 0;
        break;
    case COMMAND_CANCEL:
        explain->is_open = false;
        break;
    default: /* any other key means nothing here */
        break;
    }
}

/* A label and its text, their first row `line` rows below the top of the inside, which may be
 * negative: scrolled off. Returns the rows they take; with cells NULL only counts. */
static int draw_part(struct cells *cells, struct rect inside, int line, const char *label,
                     const char *text) {
    struct rect area = {inside.y, inside.x + LABEL_WIDTH, LINES_MOST, inside.width - LABEL_WIDTH};
    int rows = cells_paragraph(NULL, area, 0, STYLE_DIALOG, text);
    int skip = line < 0 ? -line : 0;
    area.y += line + skip;
    area.height = inside.y + inside.height - area.y;
    if (cells != NULL && rows > skip && area.height > 0) {
        if (skip == 0) {
            cells_text(cells, area.y, inside.x, STYLE_HEADER, label);
        }
        cells_paragraph(cells, area, skip, STYLE_DIALOG, text);
    }
    return rows;
}

/* The whole entry from `line` on; returns the row behind it. */
static int draw_entry(struct cells *cells, struct rect inside, int line,
                      const struct explanation *entry) {
    const struct {
        const char *label, *text;
    } parts[] = {{"what", entry->meaning}, {"do", entry->what_to_do},   {"source", entry->source},
                 {"formula", entry->formula}, {"unit", entry->unit}, {"also", entry->also}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        line += draw_part(cells, inside, line, parts[i].label, parts[i].text);
    }
    return line;
}

void explain_draw(struct ui *ui, struct cells *cells) {
    struct explain_ui *explain = &ui->explain;
    const char *term = explain->terms.name[explain->terms.current];
    const struct explanation *entry = explain_term(term);
    if (entry == NULL) {
        return; /* a test sees to it that every term has one */
    }
    int width = cells->width < BOX_WIDTH ? cells->width : BOX_WIDTH;
    struct rect inside = {0, 0, LINES_MOST, width - 4};
    int lines = draw_entry(NULL, inside, 0, entry);
    int most = cells->height - 4;
    int height = lines + 2 < most ? lines + 2 : most;
    unsigned last_top = lines > height - 2 ? (unsigned)(lines - (height - 2)) : 0;
    explain->top = explain->top < last_top ? explain->top : last_top;
    struct rect box = {cells->height - 2 - height, (cells->width - width) / 2, height, width};
    char title[80];
    snprintf(title, sizeof title, "%s (%u of %u, Right: next)", term, explain->terms.current + 1,
             explain->terms.count);
    cells_box(cells, box, title);
    inside = (struct rect){box.y + 1, box.x + 2, box.height - 2, box.width - 4};
    draw_entry(cells, inside, -(int)explain->top, entry);
}
