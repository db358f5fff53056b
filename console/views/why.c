/* Why automove moves pages, or does not: the reasons, over any view. */
#include "views/view.h"

#include "brain/ask.h"
#include "facts/words.h"

void why_command(struct ui *ui, enum command command) {
    ui->why.top = list_step(ui->why.top, command_rows(command, OVERLAY_ROWS_MOST),
                            OVERLAY_ROWS_MOST);
    if (command == COMMAND_CANCEL) {
        ui->why.is_open = false;
    }
}

/* Draws all lines from `line` on; returns the row behind them. */
static int draw_lines(struct cells *cells, struct rect inside, int line,
                      const struct sentence *lines, unsigned count) {
    static const uint8_t styles[] = {[TONE_PLAIN] = STYLE_DIALOG, [TONE_GOOD] = STYLE_GOOD,
                                     [TONE_NOTE] = STYLE_DIALOG, [TONE_WARN] = STYLE_WARN,
                                     [TONE_BAD] = STYLE_BAD};
    static const char *const marks[] = {[TONE_PLAIN] = " ", [TONE_GOOD] = "○", [TONE_NOTE] = "·",
                                        [TONE_WARN] = "!", [TONE_BAD] = "!"};
    for (unsigned i = 0; i < count; i++) {
        enum tone tone = lines[i].tone;
        line += overlay_text(cells, inside, line, 2, styles[tone], marks[tone],
                             i == 0 && tone == TONE_PLAIN ? STYLE_STRONG : styles[tone],
                             lines[i].text);
    }
    return line;
}

void why_draw(const struct frame *frame, struct ui *ui, struct cells *cells) {
    struct sentence lines[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.attention", .function = "automove_reasons",
                                .is_past = frame->is_past || frame->is_replay};
    unsigned count = brain_ask(frame->model, &question, lines);
    struct rect inside = overlay_inside(cells);
    int rows = draw_lines(NULL, inside, 0, lines, count);
    char title[80];
    size_t room = (size_t)(inside.width > 4 ? inside.width : 4); /* the box has that for a title */
    words_printf(title, room < sizeof title ? room : sizeof title,
                 "%.30s: why automove moves pages, or does not", model_server(frame->model));
    inside = overlay_box(cells, rows, &ui->why.top, title);
    draw_lines(cells, inside, -(int)ui->why.top, lines, count);
}
