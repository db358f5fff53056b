/* What a figure means, over the view that shows it: the entry of man/explain.txt, one term after
 * the other. */
#include "views/view.h"

#include <stdio.h>

enum { LABEL_WIDTH = 9 };

void explain_open(struct ui *ui, const struct view *view) {
    ui->explain = (struct explain_ui){.is_open = true};
    view_terms(view, ui, &ui->explain.terms);
}

void explain_command(struct ui *ui, enum command command) {
    struct explain_ui *explain = &ui->explain;
    unsigned count = explain->terms.count, *current = &explain->terms.current;
    explain->top = list_step(explain->top, command_rows(command, OVERLAY_ROWS_MOST),
                             OVERLAY_ROWS_MOST);
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

/* The whole entry from `line` on; returns the row behind it. */
static int draw_entry(struct cells *cells, struct rect inside, int line,
                      const struct explanation *entry) {
    const struct {
        const char *label, *text;
    } parts[] = {{"what", entry->meaning}, {"do", entry->what_to_do},   {"source", entry->source},
                 {"formula", entry->formula}, {"unit", entry->unit}, {"also", entry->also}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        line += overlay_text(cells, inside, line, LABEL_WIDTH, STYLE_HEADER, parts[i].label,
                             STYLE_DIALOG, parts[i].text);
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
    int lines = draw_entry(NULL, overlay_inside(cells), 0, entry);
    char title[80];
    snprintf(title, sizeof title, "%s (%u of %u, Right: next)", term, explain->terms.current + 1,
             explain->terms.count);
    struct rect inside = overlay_box(cells, lines, &explain->top, title);
    draw_entry(cells, inside, -(int)explain->top, entry);
}
