/* A screen in memory: a model drawn by the program's own views, read as text. */
#ifndef CONSOLE_TEST_SCREEN_H
#define CONSOLE_TEST_SCREEN_H
#include "views/screen.h"
#include "fixture.h"
#include "brain/health.h"
#include "tap.h"

static struct ui ui;
static char screen[200 * 1024];
static unsigned clipped; /* glyphs of the last drawing that fell off the right edge */

/* Row y as UTF-8 without trailing blanks. */
__attribute__((unused)) static const char *cells_row(const struct cells *cells, int y, char *out, size_t out_bytes) {
    size_t used = 0, kept = 0;
    for (int x = 0; y < cells->height && x < cells->width && used + 4 <= out_bytes; x++) {
        uint32_t glyph = cells->grid[y * cells->width + x].glyph;
        if (glyph >= 0x800) {
            out[used++] = (char)(0xe0 | glyph >> 12);
            out[used++] = (char)(0x80 | (glyph >> 6 & 0x3f));
        } else if (glyph >= 0x80) {
            out[used++] = (char)(0xc0 | glyph >> 6);
        }
        out[used++] = (char)(glyph >= 0x80 ? 0x80 | (glyph & 0x3f) : glyph);
        kept = glyph == ' ' ? kept : used;
    }
    out[kept] = '\0';
    return out;
}

__attribute__((unused)) static struct frame frame_of(const struct model *model) {
    static struct fleet_row row;
    row = fleet_row_of(model, 12400, 1000, 0);
    return (struct frame){.model = model,
                          .live = model,
                          .moment = 1002,
                          .loaded_share = 1,
                          .servers = &row,
                          .server_count = 1,
                          .fleet_note = "",
                          .under_way = "",
                          .audit_path = "/home/me/audit.log",
                          .now_ms = 12400,
                          .interval_ms = 1000,
                          .wall = 1002,
                          .message = ""};
}

/* The place of a view in view_list. */
__attribute__((unused)) static unsigned view_at(const struct view *wanted) {
    unsigned view = 0;
    while (view_list[view] != wanted) {
        view++;
    }
    return view;
}

__attribute__((unused)) static void reset_ui(unsigned view) {
    memset(&ui, 0, sizeof ui);
    class_table_init(&ui.classes);
    ui.view = view;
}

/* Draws and returns the whole screen as text, one line a row. */
__attribute__((unused)) static const char *draw(const struct frame *frame, int width, int height, bool ascii) {
    struct cells *cells = cells_create(width, height, ascii);
    screen_draw(frame, &ui, cells);
    size_t used = 0;
    for (int y = 0; y < height; y++) {
        cells_row(cells, y, screen + used, sizeof screen - used - 2);
        used += strlen(screen + used);
        screen[used++] = '\n';
    }
    screen[used] = '\0';
    clipped = cells->clipped;
    cells_destroy(&cells);
    return screen;
}

__attribute__((unused)) static bool shows(const char *text) {
    return strstr(screen, text) != NULL;
}
#endif
