/* A screen in memory: a model drawn by the program's own views, read as text. */
#ifndef CONSOLE_TEST_SCREEN_H
#define CONSOLE_TEST_SCREEN_H
#include "brain/health.h"
#include "cells_row.h"
#include "fixture.h"
#include "tap.h"
#include "views/screen.h"

static struct ui ui;
static char screen[200 * 1024];
static unsigned clipped; /* glyphs of the last drawing that fell off the right edge */

__attribute__((unused)) static struct frame frame_of(const struct model *of) {
    static struct fleet_row row;
    row = fleet_row_of(of, 12400, 1000, 0);
    return (struct frame){.model = of,
                          .live = of,
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

/* The frame of the drawn model. */
static struct frame frame;

/* A view of a model that goes on for so many refreshes, on a screen of 80 columns. */
__attribute__((unused)) static void look(struct model *next, int refreshes, unsigned view) {
    look_at_model(next, refreshes);
    frame = frame_of(model);
    reset_ui(view);
    draw(&frame, 80, 24, false);
}

__attribute__((unused)) static bool shows(const char *text) {
    return strstr(screen, text) != NULL;
}
#endif
