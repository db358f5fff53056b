/* Overlays over any view: the meaning of a figure, from man/explain.txt; why automove moves pages,
 * or does not; the choice of the class table's columns, which the table shows at once. */
#include "views/view.h"

#include "brain/brain_query.h"
#include "facts/words.h"

#include <stdio.h>

enum { LABEL_WIDTH = 9 };

/* ---- the meaning of a figure ---- */

void overlay_open_explain(struct ui *ui, const struct view *view) {
    ui->explain = (struct explain_ui){.is_open = true};
    view_terms(view, ui, &ui->explain.terms);
}

void overlay_explain_command(struct ui *ui, enum command command) {
    struct explain_ui *explain = &ui->explain;
    unsigned count = explain->terms.count, *current = &explain->terms.current;
    explain->top =
        key_step(explain->top, key_move_rows(command, OVERLAY_ROWS_MOST), OVERLAY_ROWS_MOST);
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
    default: /* other keys do nothing */
        break;
    }
}

/* Draws an entry from row `line` on; returns the row after its last. */
static int overlay_draw_entry(struct cells *cells, struct rect inside, int line,
                              const struct explanation *entry) {
    const struct {
        const char *label, *text;
    } parts[] = {{"what", entry->meaning}, {"do", entry->what_to_do},   {"source", entry->source},
                 {"formula", entry->formula}, {"unit", entry->unit}, {"also", entry->also}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        line += view_overlay_text(cells, inside, line, LABEL_WIDTH, STYLE_HEADER, parts[i].label,
                                  STYLE_DIALOG, parts[i].text);
    }
    return line;
}

void overlay_draw_explain(struct ui *ui, struct cells *cells) {
    struct explain_ui *explain = &ui->explain;
    const char *term = explain->terms.name[explain->terms.current];
    const struct explanation *entry = explain_term(term);
    if (entry == NULL) {
        return; /* a test checks that every term has an entry */
    }
    int lines = overlay_draw_entry(NULL, view_overlay_inside(cells), 0, entry);
    char title[80];
    snprintf(title, sizeof title, "%s (%u of %u, Right: next)", term, explain->terms.current + 1,
             explain->terms.count);
    struct rect inside = view_overlay_box(cells, lines, &explain->top, title);
    overlay_draw_entry(cells, inside, -(int)explain->top, entry);
}

/* ---- why automove moves pages ---- */

void overlay_why_command(struct ui *ui, enum command command) {
    ui->why.top =
        key_step(ui->why.top, key_move_rows(command, OVERLAY_ROWS_MOST), OVERLAY_ROWS_MOST);
    if (command == COMMAND_CANCEL) {
        ui->why.is_open = false;
    }
}

/* Draws the server's name and all lines from `line` on; returns the row after the last. */
static int overlay_draw_lines(struct cells *cells, struct rect inside, int line, const char *server,
                              const struct sentence *lines, unsigned count) {
    static const char *const marks[] = {[TONE_PLAIN] = " ", [TONE_GOOD] = "○", [TONE_NOTE] = "·",
                                        [TONE_WARN] = "!", [TONE_BAD] = "!"};
    line += view_overlay_text(cells, inside, line, 2, STYLE_DIALOG, " ", STYLE_DIALOG, server);
    for (unsigned i = 0; i < count; i++) {
        enum tone tone = lines[i].tone;
        uint8_t style = view_tone_style(tone, STYLE_DIALOG);
        line +=
            view_overlay_text(cells, inside, line, 2, style, marks[tone],
                              i == 0 && tone == TONE_PLAIN ? STYLE_STRONG : style, lines[i].text);
    }
    return line;
}

void overlay_draw_why(const struct frame *frame, struct ui *ui, struct cells *cells) {
    struct sentence lines[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.attention", .function = "automove_reasons",
                                .is_past = frame->is_past || frame->is_replay};
    unsigned count = brain_query(frame->model, &question, lines);
    struct rect inside = view_overlay_inside(cells);
    const char *server = model_server(frame->model);
    int rows = overlay_draw_lines(NULL, inside, 0, server, lines, count);
    inside = view_overlay_box(cells, rows, &ui->why.top, "why automove moves pages, or does not");
    overlay_draw_lines(cells, inside, -(int)ui->why.top, server, lines, count);
}

/* ---- columns of the class table ---- */

void overlay_draw_columns(const struct ui *ui, struct cells *cells) {
    static const char *const words[] = {
        [COLUMN_AUTO] = "room", [COLUMN_ALWAYS] = "ALWAYS", [COLUMN_NEVER] = "never"};
    const struct class_table_ui *table = &ui->classes;
    int width = cells->width < 84 ? cells->width - 2 : 82;
    int height = cells->height - 3 < COLUMN_COUNT + 2 ? cells->height - 3 : COLUMN_COUNT + 2;
    struct rect box = {1, (cells->width - width) / 2, height, width};
    cells_box(cells, box, "columns: Space shows or hides, < and > move");
    int rows = box.height - 2;
    int top = (int)ui->columns.cursor < rows ? 0 : (int)ui->columns.cursor - rows + 1;
    for (int i = 0; i < rows && top + i < COLUMN_COUNT; i++) {
        enum class_column column = (enum class_column)table->order[top + i];
        enum column_choice choice = table->choice[column];
        int y = box.y + 1 + i, x = box.x + 2;
        bool is_current = top + i == (int)ui->columns.cursor;
        cells_text(cells, y, x, STYLE_STRONG, is_current ? "▶" : " ");
        cells_text(cells, y, x + 2, choice == COLUMN_ALWAYS ? STYLE_STRONG : STYLE_DIALOG,
                   words[choice]);
        cells_text(cells, y, x + 9, STYLE_STRONG, class_columns[column].head);
        cells_text_fit(cells, y, x + 17, box.width - 20, STYLE_DIALOG,
                       class_columns[column].meaning);
        if (is_current) {
            cells_select(cells, y, box.x + 1, box.width - 2);
        }
    }
}

static void overlay_swap_columns(struct ui *ui, unsigned other) {
    uint8_t *order = ui->classes.order, column = order[ui->columns.cursor];
    order[ui->columns.cursor] = order[other];
    order[other] = column;
    ui->columns.cursor = other;
}

void overlay_columns_command(struct ui *ui, enum command command) {
    struct class_table_ui *table = &ui->classes;
    unsigned at = ui->columns.cursor;
    ui->columns.cursor = key_step(at, key_move_rows(command, COLUMN_COUNT), COLUMN_COUNT - 1);
    enum column_choice *choice = &table->choice[table->order[at]];
    switch (command) {
    case COMMAND_TOGGLE:
        *choice = *choice == COLUMN_AUTO     ? COLUMN_ALWAYS
                  : *choice == COLUMN_ALWAYS ? COLUMN_NEVER
                                             : COLUMN_AUTO;
        break;
    case COMMAND_EARLIER:
        if (at > 0) {
            overlay_swap_columns(ui, at - 1);
        }
        break;
    case COMMAND_LATER:
        if (at + 1 < COLUMN_COUNT) {
            overlay_swap_columns(ui, at + 1);
        }
        break;
    case COMMAND_RESET:
        class_table_reset_columns(table);
        break;
    case COMMAND_CANCEL:
        ui->columns.is_open = false;
        break;
    default: /* other places handle the other commands */
        break;
    }
}
