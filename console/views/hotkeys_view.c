/* Hot keys: the keys with the most requests, from a sample, with the error of the counts. */
#include "views/view.h"

#include "brain/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

enum { SCREEN_STEP = 15, BAR_LEAST = 12, KEY_LEAST = 16 };

/* Bounds of a key's share of all requests. */
struct share {
    double least, most;
};

static struct share hotkeys_share_of(const struct hot_keys *hot, const struct hot_key *key) {
    struct share share = {NAN, NAN};
    if (hot->requests > 0) {
        share.most = fmin((key->requests + key->doubt) / hot->requests, 1);
        share.least = fmax(key->requests - key->error - key->doubt, 0) / hot->requests;
    }
    return share;
}

static void hotkeys_draw_row(const struct frame *frame, const struct hot_keys *hot,
                             struct cells *cells, struct rect row, unsigned at, int key_width,
                             int bar_width) {
    const struct hot_key *key = &hot->keys[at];
    struct share share = hotkeys_share_of(hot, key);
    char most[FORMAT_BYTES], least[FORMAT_BYTES], rate[FORMAT_BYTES], text[40];
    double gets = model_mean(frame->model, METRIC_OPS, 10000);
    cells_printf(cells, row.y, 0, STYLE_DIM, "%3u", at + 1);
    cells_text_fit(cells, row.y, 4, key_width, STYLE_PLAIN, key->key);
    int x = 4 + key_width;
    cells_text_right(cells, row.y, x + 8, STYLE_STRONG, format_count(rate, share.most * gets));
    snprintf(text, sizeof text, "%s-%s", format_percent(least, share.least),
             format_percent(most, share.most));
    cells_text_right(cells, row.y, x + 20, STYLE_PLAIN, text);
    double first = hotkeys_share_of(hot, &hot->keys[0]).most;
    int filled = (int)lround(share.most / first * bar_width);
    int sure = (int)lround(share.least / first * bar_width);
    for (int i = 0; i < bar_width && first > 0; i++) {
        uint32_t glyph = i < sure ? 0x2588 : i < filled ? 0x2591 : ' ';
        cells_fill(cells, (struct rect){row.y, x + 21 + i, 1, 1}, glyph, STYLE_GRAPH);
    }
}

static void hotkeys_draw_notes(const struct hot_keys *hot, struct cells *cells, int y, int width) {
    double most = 0, least = 0;
    char text[200], a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES];
    for (unsigned i = 0; i < hot->count && i < 10; i++) {
        struct share share = hotkeys_share_of(hot, &hot->keys[i]);
        most += share.most;
        least += share.least;
    }
    snprintf(
        text, sizeof text, "%s requests of the last minutes; the first ten keys have %s to %s %%",
        format_count(a, hot->requests), format_percent(b, least), format_percent(c, fmin(most, 1)));
    cells_text_fit(cells, y, 0, width, STYLE_PLAIN, text);
}

static void hotkeys_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                         struct rect area) {
    const struct details *details = model_details(frame->model);
    if (!view_detail_ready(frame, INQUIRY_HOTKEYS, cells, area)) {
        return;
    }
    const struct hot_keys *hot = &details->hot;
    int notes = area.height >= 8 ? 2 : 0, rows = area.height - 1 - notes;
    int bar = area.width >= 70 ? BAR_LEAST + (area.width - 70) / 3 : 0;
    int key_width = area.width - 25 - bar;
    key_width = key_width < KEY_LEAST ? area.width - 25 : key_width;
    unsigned last = hot->count > 0 ? hot->count - 1 : 0;
    ui->hotkeys.cursor = ui->hotkeys.cursor < last ? ui->hotkeys.cursor : last;
    ui->hotkeys.top =
        key_top(ui->hotkeys.top, ui->hotkeys.cursor, rows > 0 ? (unsigned)rows : 0, hot->count);
    cells_head(cells, area.y, 0, area.width, " NR KEY");
    cells_text_right(cells, area.y, 4 + key_width + 8, STYLE_HEADER, "≤REQ/s");
    cells_text_right(cells, area.y, 4 + key_width + 20, STYLE_HEADER, "SHARE %");
    if (bar > 0) {
        cells_text_fit(cells, area.y, 4 + key_width + 21, bar, STYLE_HEADER, "█sure ░maybe");
    }
    for (int i = 0; i < rows && ui->hotkeys.top + (unsigned)i < hot->count; i++) {
        unsigned at = ui->hotkeys.top + (unsigned)i;
        struct rect row = {area.y + 1 + i, 0, 1, area.width};
        hotkeys_draw_row(frame, hot, cells, row, at, key_width, bar);
        cells_hot(cells, row, HOT_ROW, at);
        if (at == ui->hotkeys.cursor) {
            cells_select(cells, row.y, 0, area.width);
        }
    }
    if (hot->count == 0) {
        cells_text_fit(cells, area.y + 1, 0, area.width, STYLE_DIM,
                       "no key was counted yet: sampling is off, or there were no requests");
    } else if (notes > 0) {
        int y = area.y + area.height - notes;
        hotkeys_draw_notes(hot, cells, y, area.width);
        char text[HOT_KEY_BYTES + 20];
        snprintf(text, sizeof text, "key: %s", hot->keys[ui->hotkeys.cursor].key);
        cells_text_fit(cells, y + 1, 0, area.width, STYLE_STRONG, text);
    }
}

static struct intent hotkeys_command(const struct frame *frame, struct ui *ui, enum command given) {
    (void)frame;
    ui->hotkeys.cursor =
        key_step(ui->hotkeys.cursor, key_move_rows(given, SCREEN_STEP), HOT_KEYS_SHOWN);
    return (struct intent){0};
}

static const char *const shown[] = {"sample_rate", "gets", "ops", NULL};

const struct view hotkeys_view = {.name = "Keys",
                                  .scope = SCOPE_HOTKEYS,
                                  .open = COMMAND_VIEW_HOTKEYS,
                                  .draw = hotkeys_draw,
                                  .command = hotkeys_command,
                                  .shown = shown,
                                  .cursor = offsetof(struct ui, hotkeys.cursor),
                                  .inquiries = INQUIRY_BIT(HOTKEYS)};
