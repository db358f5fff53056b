/* The list of keys, from the key table: those of the current view first, then those of the dialogs.
 */
#include "views/view.h"

static unsigned draw_scope(struct cells *cells, struct rect inside, unsigned line, unsigned top,
                           unsigned scopes, const char *heading) {
    for (unsigned i = 0; i <= key_row_count; i++) {
        bool is_heading = i == 0;
        if (!is_heading && !(key_rows[i - 1].scopes & scopes)) {
            continue;
        }
        int y = inside.y + (int)line - (int)top;
        if (line++ < top || y >= inside.y + inside.height) {
            continue;
        }
        if (is_heading) {
            cells_text_fit(cells, y, inside.x, inside.width, STYLE_HEADER, heading);
            continue;
        }
        char names[40];
        cells_text_fit(cells, y, inside.x + 1, 18, STYLE_STRONG,
                       key_row_names(&key_rows[i - 1], names, sizeof names));
        cells_text_fit(cells, y, inside.x + 20, inside.width - 20, STYLE_DIALOG,
                       key_rows[i - 1].help);
    }
    return line;
}

/* The other places with keys of their own, below those of a view. */
static const struct {
    enum scope scope;
    const char *heading;
} dialogs[] = {{SCOPE_REVIEW, "in a review"},           {SCOPE_FILTER, "while typing a filter"},
               {SCOPE_COLUMNS, "in the list of columns"}, {SCOPE_EXPLAIN, "in an explanation"},
               {SCOPE_VALUE, "while typing a value"},   {SCOPE_WHY, "in the reasons"}};
enum { DIALOGS = sizeof dialogs / sizeof *dialogs };

static unsigned draw_all(struct cells *cells, struct rect inside, unsigned top, enum scope scope) {
    if (scope == SCOPE_REVIEW) {
        return draw_scope(cells, inside, 0, top, scope, dialogs[0].heading);
    }
    unsigned line = draw_scope(cells, inside, 0, top, scope, "in this view");
    for (unsigned i = 0; i < DIALOGS; i++) {
        line = draw_scope(cells, inside, line, top, dialogs[i].scope, dialogs[i].heading);
    }
    return line;
}

void help_draw(struct ui *ui, enum scope scope, struct cells *cells) {
    int width = cells->width < 84 ? cells->width - 2 : 82;
    unsigned lines = draw_all(cells, (struct rect){0, 0, 0, 0}, 0, scope); /* only counted */
    int most = cells->height - 3, height = (int)lines + 2 < most ? (int)lines + 2 : most;
    struct rect box = {1, (cells->width - width) / 2, height, width};
    cells_box(cells, box, "keys: Up and Down scroll, Esc closes");
    struct rect inside = {box.y + 1, box.x + 2, box.height - 2, box.width - 4};
    unsigned last_top = lines > (unsigned)inside.height ? lines - (unsigned)inside.height : 0;
    ui->help_top = ui->help_top < last_top ? ui->help_top : last_top;
    draw_all(cells, inside, ui->help_top, scope);
}
