/* Hot keys: the keys with the most requests and the most bytes read of the last ten seconds, from a
 * sample, with the error of the counts. */
#include "views/view.h"

#include "brain/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

/* Columns behind the key: requests a second, their share, bytes a second, their share, a bar. */
enum { RATE_END = 8, SHARE_END = 19, READ_END = 27, READ_SHARE_END = 38, BAR_X = 39 };
enum { SCREEN_STEP = 15, BAR_LEAST = 12, BAR_FROM = 90, KEY_LEAST = 16 };

/* Bounds of a key's share of the requests or bytes of all keys, and the middle between them, which
 * takes half of the error. */
struct share {
    double least, middle, most;
};

static struct share hotkeys_share_of(double all, const struct hot_figure *f) {
    struct share share = {NAN, NAN, NAN};
    if (all > 0) {
        share.most = fmin((f->count + f->doubt) / all, 1);
        share.middle = (f->count - f->error / 2) / all;
        share.least = fmax(f->count - f->error - f->doubt, 0) / all;
    }
    return share;
}

static void hotkeys_draw_share(struct cells *cells, int y, int end, struct share share) {
    char most[FORMAT_BYTES], least[FORMAT_BYTES], text[40];
    snprintf(text, sizeof text, "%s-%s", format_percent(least, share.least),
             format_percent(most, share.most));
    cells_text_right(cells, y, end, STYLE_PLAIN, isnan(share.most) ? "-" : text);
}

static void hotkeys_draw_row(const struct hot_keys *hot, struct cells *cells, struct rect row,
                             unsigned at, int key_width, int bar_width) {
    const struct hot_key *key = &hot->keys[at];
    struct share requests = hotkeys_share_of(hot->requests.count, &key->requests);
    struct share bytes = hotkeys_share_of(hot->bytes.count, &key->bytes);
    char rate[FORMAT_BYTES];
    int x = 4 + key_width;
    cells_printf(cells, row.y, 0, STYLE_DIM, "%3u", at + 1);
    cells_text_fit(cells, row.y, 4, key_width, STYLE_PLAIN, key->key);
    cells_text_right(cells, row.y, x + RATE_END, STYLE_STRONG,
                     format_count(rate, requests.middle * hot->requests.count / hot->seconds));
    hotkeys_draw_share(cells, row.y, x + SHARE_END, requests);
    cells_text_right(cells, row.y, x + READ_END, STYLE_STRONG,
                     format_bytes(rate, bytes.middle * hot->bytes.count / hot->seconds));
    hotkeys_draw_share(cells, row.y, x + READ_SHARE_END, bytes);
    int filled = (int)lround(requests.most * bar_width);
    int sure = (int)lround(requests.least * bar_width);
    for (int i = 0; i < bar_width && !isnan(requests.most); i++) {
        uint32_t glyph = i < sure ? 0x2588 : i < filled ? 0x2591 : ' ';
        cells_fill(cells, (struct rect){row.y, x + BAR_X + i, 1, 1}, glyph, STYLE_GRAPH);
    }
}

static void hotkeys_draw_notes(const struct hot_keys *hot, struct cells *cells, int y, int width) {
    double most = 0, least = 0;
    char text[200], a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], d[FORMAT_BYTES];
    for (unsigned i = 0; i < hot->count && i < 10; i++) {
        struct share share = hotkeys_share_of(hot->requests.count, &hot->keys[i].requests);
        most += share.most;
        least += share.least;
    }
    snprintf(text, sizeof text,
             "%s requests of the last %s s; the first keys, ten at most, have %s to %s %% of them",
             format_count(a, hot->requests.count), format_count(d, hot->seconds),
             format_percent(b, least), format_percent(c, fmin(most, 1)));
    cells_text_fit(cells, y, 0, width, STYLE_PLAIN, text);
}

static void hotkeys_draw_head(struct cells *cells, struct rect area, int x, int bar) {
    cells_head(cells, area.y, 0, area.width, " NR KEY");
    cells_text_right(cells, area.y, x + RATE_END, STYLE_HEADER, "REQ/s");
    cells_text_right(cells, area.y, x + SHARE_END, STYLE_HEADER, "SHARE %");
    cells_text_right(cells, area.y, x + READ_END, STYLE_HEADER, "READ/s");
    cells_text_right(cells, area.y, x + READ_SHARE_END, STYLE_HEADER, "SHARE %");
    if (bar > 0) {
        cells_text_fit(cells, area.y, x + BAR_X, bar, STYLE_HEADER, "█sure ░maybe");
    }
}

static void hotkeys_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                         struct rect area) {
    const struct details *details = model_details(frame->model);
    if (!view_detail_ready(frame, INQUIRY_HOTKEYS, cells, area)) {
        return;
    }
    const struct hot_keys *hot = &details->hot;
    int notes = area.height >= 8 ? 2 : 0, rows = area.height - 1 - notes;
    int bar = area.width >= BAR_FROM ? BAR_LEAST + (area.width - BAR_FROM) / 3 : 0;
    int key_width = area.width - BAR_X - 4 - bar;
    key_width = key_width < KEY_LEAST ? KEY_LEAST : key_width;
    unsigned last = hot->count > 0 ? hot->count - 1 : 0;
    ui->hotkeys.cursor = ui->hotkeys.cursor < last ? ui->hotkeys.cursor : last;
    ui->hotkeys.top =
        key_top(ui->hotkeys.top, ui->hotkeys.cursor, rows > 0 ? (unsigned)rows : 0, hot->count);
    hotkeys_draw_head(cells, area, 4 + key_width, bar);
    for (int i = 0; i < rows && ui->hotkeys.top + (unsigned)i < hot->count; i++) {
        unsigned at = ui->hotkeys.top + (unsigned)i;
        struct rect row = {area.y + 1 + i, 0, 1, area.width};
        hotkeys_draw_row(hot, cells, row, at, key_width, bar);
        cells_hot(cells, row, HOT_ROW, at);
        if (at == ui->hotkeys.cursor) {
            cells_select(cells, row.y, 0, area.width);
        }
    }
    if (hot->count == 0) {
        cells_text_fit(cells, area.y + 1, 0, area.width, STYLE_DIM,
                       "no key is hot: sampling is off, or none was requested more than by chance");
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
