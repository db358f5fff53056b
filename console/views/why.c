/* Why automove moves pages, or does not: the reasons, over any view. */
#include "views/view.h"

#include "brain/ask.h"

enum { BOX_WIDTH = 76, ROWS_MOST = 200 };

void why_command(struct ui *ui, enum command command) {
    ui->why.top = list_step(ui->why.top, command_rows(command, ROWS_MOST), ROWS_MOST);
    if (command == COMMAND_CANCEL) {
        ui->why.is_open = false;
    }
}

/* Draws all lines, the first `top` rows of them scrolled off; returns the rows of all. */
static int draw_lines(struct cells *cells, struct rect inside, int top,
                      const struct sentence *lines, unsigned count) {
    static const uint8_t styles[] = {[TONE_PLAIN] = STYLE_DIALOG, [TONE_GOOD] = STYLE_GOOD,
                                     [TONE_NOTE] = STYLE_DIALOG, [TONE_WARN] = STYLE_WARN,
                                     [TONE_BAD] = STYLE_BAD};
    static const char *const marks[] = {[TONE_PLAIN] = " ", [TONE_GOOD] = "○", [TONE_NOTE] = "·",
                                        [TONE_WARN] = "!", [TONE_BAD] = "!"};
    int row = 0;
    for (unsigned i = 0; i < count; i++) {
        struct rect area = {inside.y, inside.x + 2, ROWS_MOST, inside.width - 2};
        int rows = cells_paragraph(NULL, area, 0, 0, lines[i].text);
        int skip = row < top ? top - row : 0;
        area.y += row - top + skip;
        area.height = inside.y + inside.height - area.y;
        if (cells != NULL && rows > skip && area.height > 0) {
            cells_text(cells, area.y, inside.x, styles[lines[i].tone],
                       skip == 0 ? marks[lines[i].tone] : " ");
            cells_paragraph(cells, area, skip,
                            i == 0 && lines[i].tone == TONE_PLAIN ? STYLE_STRONG
                                                                  : styles[lines[i].tone],
                            lines[i].text);
        }
        row += rows;
    }
    return row;
}

void why_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    struct sentence lines[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.why", .function = "automove",
                                .is_past = frame->is_past || frame->is_replay};
    unsigned count = brain_ask(frame->model, &question, lines);
    int width = cells->width < BOX_WIDTH ? cells->width : BOX_WIDTH;
    struct rect inside = {0, 0, ROWS_MOST, width - 4};
    int rows = draw_lines(NULL, inside, 0, lines, count);
    int most = cells->height - 4;
    int height = rows + 2 < most ? rows + 2 : most;
    unsigned last_top = rows > height - 2 ? (unsigned)(rows - (height - 2)) : 0;
    ui->why.top = ui->why.top < last_top ? ui->why.top : last_top;
    struct rect box = {cells->height - 2 - height, (cells->width - width) / 2, height, width};
    cells_box(cells, box, "why automove moves pages, or does not");
    inside = (struct rect){box.y + 1, box.x + 2, box.height - 2, box.width - 4};
    draw_lines(cells, inside, (int)ui->why.top, lines, count);
}
