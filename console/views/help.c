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

void help_draw(struct ui *ui, enum scope scope, struct cells *cells) {
    int width = cells->width < 84 ? cells->width - 2 : 82;
    struct rect box = {1, (cells->width - width) / 2, cells->height - 3, width};
    cells_box(cells, box, "keys: Up and Down scroll, Esc closes");
    struct rect inside = {box.y + 1, box.x + 2, box.height - 2, box.width - 4};
    unsigned lines = 0;
    for (unsigned i = 0; i < key_row_count; i++) {
        lines += (key_rows[i].scopes & (unsigned)scope) != 0;
        lines += (key_rows[i].scopes & SCOPE_REVIEW) != 0;
        lines += (key_rows[i].scopes & SCOPE_FILTER) != 0;
        lines += (key_rows[i].scopes & SCOPE_COLUMNS) != 0;
        lines += (key_rows[i].scopes & SCOPE_EXPLAIN) != 0;
        lines += (key_rows[i].scopes & SCOPE_VALUE) != 0;
        lines += (key_rows[i].scopes & SCOPE_WHY) != 0;
    }
    lines += 7; /* headings */
    unsigned last_top = lines > (unsigned)inside.height ? lines - (unsigned)inside.height : 0;
    ui->help_top = ui->help_top < last_top ? ui->help_top : last_top;
    unsigned line = draw_scope(cells, inside, 0, ui->help_top, scope, "in this view");
    line = draw_scope(cells, inside, line, ui->help_top, SCOPE_REVIEW, "in a review");
    line = draw_scope(cells, inside, line, ui->help_top, SCOPE_FILTER, "while typing a filter");
    line = draw_scope(cells, inside, line, ui->help_top, SCOPE_COLUMNS, "in the list of columns");
    line = draw_scope(cells, inside, line, ui->help_top, SCOPE_EXPLAIN, "in an explanation");
    line = draw_scope(cells, inside, line, ui->help_top, SCOPE_VALUE, "while typing a value");
    draw_scope(cells, inside, line, ui->help_top, SCOPE_WHY, "in the reasons");
}
