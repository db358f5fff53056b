/* Events: page moves, settings, restarts and changes by slatetop, newest first. */
#include "views/view.h"

#include "brain/format.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { SCREEN_STEP = 15 };

void events_draw_list(const struct frame *frame, struct cells *cells, struct rect area,
                      unsigned top) {
    for (int i = 0; i < area.height; i++) {
        const struct event *event = model_event(frame->model, top + (unsigned)i);
        if (event == NULL) {
            if (i == 0) {
                cells_text_fit(cells, area.y, area.x, area.width, STYLE_DIM,
                               "nothing has happened since slatetop started");
            }
            return;
        }
        char clock_text[FORMAT_BYTES];
        uint8_t style = event->kind == EVENT_ALARM ? STYLE_BAD
                        : event->kind == EVENT_YOU ? STYLE_STRONG
                                                   : STYLE_PLAIN;
        int y = area.y + i;
        cells_text(cells, y, area.x, STYLE_DIM, format_clock(clock_text, event->wall));
        cells_printf(cells, y, area.x + 9, style, "%-8s", model_event_kind_name(event->kind));
        cells_text_fit(cells, y, area.x + 18, area.width - 18, style, event->text);
    }
}

/* The text of an event, without its type if the stream has only one: the end says more. */
static const char *events_shown_text(const struct watch_log *log, const char *text) {
    const char *space = strchr(text, ' ');
    bool is_known = log->stream != STREAM_CONNECTIONS && strncmp(text, "type=", 5) == 0;
    return is_known && space != NULL ? space + 1 : text;
}

/* "watch evictions: 5120 lines, 4.1 % lost", and the newest lines. */
static void events_draw_watch(const struct watch_log *log, struct cells *cells, struct rect area) {
    char title[120], lost[FORMAT_BYTES], shown[FORMAT_BYTES];
    snprintf(title, sizeof title, "watch %s: %s lines, %s %% lost", watch_stream_name(log->stream),
             format_count(shown, (double)log->shown), format_percent(lost, watch_lost_share(log)));
    cells_rule(cells, area.y, area.x, area.width, title);
    if (log->note[0] != '\0') {
        cells_paragraph(cells, (struct rect){area.y + 1, area.x, area.height - 1, area.width}, 0,
                        STYLE_WARN, log->note);
        return;
    }
    if (log->line_count == 0) {
        cells_text(cells, area.y + 1, area.x, STYLE_DIM, "no event has come yet");
    }
    for (int i = 0; i + 1 < area.height; i++) {
        const struct watch_line *line = watch_line(log, (unsigned)i);
        if (line == NULL) {
            return;
        }
        char clock_text[FORMAT_BYTES];
        cells_text(cells, area.y + 1 + i, area.x, STYLE_DIM,
                   format_clock(clock_text, (time_t)line->at_s));
        cells_text_fit(cells, area.y + 1 + i, area.x + 9, area.width - 9, STYLE_PLAIN,
                       events_shown_text(log, line->text));
    }
}

static void events_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                        struct rect area) {
    if (frame->watch != NULL && area.height >= 6) {
        int height = area.height * 2 / 3;
        area.height -= height;
        events_draw_watch(frame->watch, cells,
                          (struct rect){area.y + area.height, area.x, height, area.width});
    }
    cells_head(cells, area.y, area.x, area.width, "TIME     WHO      WHAT");
    area.y++;
    area.height--;
    unsigned total = model_events_total(frame->model);
    unsigned count = total < EVENT_LIMIT ? total : EVENT_LIMIT;
    ui->events.top = key_top(ui->events.top, ui->events.top, (unsigned)area.height, count);
    events_draw_list(frame, cells, area, ui->events.top);
}

static struct intent events_command(const struct frame *frame, struct ui *ui, enum command given) {
    (void)frame;
    ui->events.top = key_step(ui->events.top, key_move_rows(given, SCREEN_STEP), EVENT_LIMIT);
    return (struct intent){0};
}

static const char *const shown[] = {
    "page_moves", "starving", "slab_automove", "ping_pong", "memory.limit", "lost_by_moves", NULL};

const struct view events_view = {.name = "Events",
                                 .scope = SCOPE_EVENTS,
                                 .open = COMMAND_VIEW_EVENTS,
                                 .draw = events_draw,
                                 .command = events_command,
                                 .shown = shown};
