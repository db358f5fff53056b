/* The list in which the columns of the class table are chosen and put in order. Drawn above the
 * table, which follows at once. */
#include "views/view.h"

void columns_draw(const struct ui *ui, struct cells *cells) {
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

static void swap_with(struct ui *ui, unsigned other) {
    uint8_t *order = ui->classes.order, column = order[ui->columns.cursor];
    order[ui->columns.cursor] = order[other];
    order[other] = column;
    ui->columns.cursor = other;
}

void columns_command(struct ui *ui, enum command command) {
    struct class_table_ui *table = &ui->classes;
    unsigned at = ui->columns.cursor;
    ui->columns.cursor = list_step(at, command_rows(command, COLUMN_COUNT), COLUMN_COUNT - 1);
    enum column_choice *choice = &table->choice[table->order[at]];
    switch (command) {
    case COMMAND_TOGGLE:
        *choice = *choice == COLUMN_AUTO     ? COLUMN_ALWAYS
                  : *choice == COLUMN_ALWAYS ? COLUMN_NEVER
                                             : COLUMN_AUTO;
        break;
    case COMMAND_EARLIER:
        if (at > 0) {
            swap_with(ui, at - 1);
        }
        break;
    case COMMAND_LATER:
        if (at + 1 < COLUMN_COUNT) {
            swap_with(ui, at + 1);
        }
        break;
    case COMMAND_RESET:
        class_table_reset_columns(table);
        break;
    case COMMAND_CANCEL:
        ui->columns.is_open = false;
        break;
    default: /* the rest of the commands belong to other places */
        break;
    }
}
