/* The list of keys, from the key table: those of the current view first, then those of the dialogs;
 * two columns on a wide screen, and during a search only the lines with the searched text. */
#include "views/view.h"

#include <stdio.h>
#include <string.h>

enum {
    LINES_MOST = 300,
    COLUMN_WIDTH = 78,
    TWO_COLUMNS_WIDTH = 2 * COLUMN_WIDTH + 2,
    NAMES_WIDTH = 18
};

/* A line of the list: a heading, or a row of the key table. */
struct line {
    const char *heading;
    const struct key_row *row;
};

/* The other places with keys of their own, below those of a view. */
static const struct {
    enum scope scope;
    const char *heading;
} dialogs[] = {{SCOPE_REVIEW, "in a review"},           {SCOPE_PALETTE, "while typing a command"},
               {SCOPE_FILTER, "while typing a filter"}, {SCOPE_COLUMNS, "in the list of columns"},
               {SCOPE_EXPLAIN, "in an explanation"},    {SCOPE_VALUE, "while typing a value"},
               {SCOPE_WHY, "in the reasons"},           {SCOPE_HELP, "in this list"}};
enum { DIALOGS = sizeof dialogs / sizeof *dialogs };

static bool help_row_holds(const struct key_row *row, const char *searched) {
    char names[40];
    return strcasestr(key_row_names(row, names, sizeof names), searched) != NULL ||
           strcasestr(row->help, searched) != NULL;
}

/* Adds the heading and the rows of a scope that contain the searched text; none: no heading. */
static unsigned help_gather_scope(struct line *lines, unsigned count, unsigned scope,
                                  const char *heading, const char *searched) {
    unsigned begin = count;
    for (unsigned i = 0; i < key_row_count && count + 1 < LINES_MOST; i++) {
        if (!(key_rows[i].scopes & scope) || !help_row_holds(&key_rows[i], searched)) {
            continue;
        }
        if (count == begin) {
            lines[count++] = (struct line){.heading = heading};
        }
        lines[count++] = (struct line){.row = &key_rows[i]};
    }
    return count;
}

static unsigned help_gather(struct line lines[LINES_MOST], enum scope scope, const char *searched) {
    if (scope == SCOPE_REVIEW) {
        return help_gather_scope(lines, 0, scope, dialogs[0].heading, searched);
    }
    unsigned count = help_gather_scope(lines, 0, scope, "in this view", searched);
    for (unsigned i = 0; i < DIALOGS; i++) {
        count = help_gather_scope(lines, count, dialogs[i].scope, dialogs[i].heading, searched);
    }
    return count;
}

static void help_draw_line(const struct line *line, struct cells *cells, struct rect place) {
    char names[40];
    if (line->heading != NULL) {
        cells_text_fit(cells, place.y, place.x, place.width, STYLE_HEADER, line->heading);
        return;
    }
    cells_text_fit(cells, place.y, place.x + 1, NAMES_WIDTH, STYLE_STRONG,
                   key_row_names(line->row, names, sizeof names));
    cells_text_fit(cells, place.y, place.x + NAMES_WIDTH + 2, place.width - NAMES_WIDTH - 2,
                   STYLE_DIALOG, line->row->help);
}

void help_draw(struct ui *ui, enum scope scope, struct cells *cells) {
    static struct line lines[LINES_MOST];
    unsigned count = help_gather(lines, scope, ui->help_searched);
    unsigned columns = cells->width >= TWO_COLUMNS_WIDTH ? 2 : 1;
    int width = (int)columns * COLUMN_WIDTH + 4 < cells->width - 2 ? (int)columns * COLUMN_WIDTH + 4
                                                                   : cells->width - 2;
    int most = cells->height - 3, wanted = (int)((count + columns - 1) / columns) + 2;
    struct rect box = {1, (cells->width - width) / 2, wanted < most ? wanted : most, width};
    if (count == 0) {
        box.height = 3;
    }
    cells_box(cells, box,
              width < 60 ? "keys: / searches, Esc closes"
                         : "keys: Up and Down scroll, / searches, Esc closes");
    unsigned rows = (unsigned)box.height - 2, shown = rows * columns;
    ui->help_top = key_top(ui->help_top, ui->help_top, shown, count);
    int column_width = (box.width - 2) / (int)columns;
    for (unsigned i = 0; i < shown && ui->help_top + i < count; i++) {
        struct rect place = {box.y + 1 + (int)(i % rows),
                             box.x + 2 + (int)(i / rows) * column_width, 1, column_width - 2};
        help_draw_line(&lines[ui->help_top + i], cells, place);
    }
    if (count == 0) {
        char text[120];
        snprintf(text, sizeof text, "no key of this view does '%s'", ui->help_searched);
        cells_text_fit(cells, box.y + 1, box.x + 2, box.width - 4, STYLE_DIALOG, text);
    }
}
