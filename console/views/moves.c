/* The last page moves as lines, if the server lists them; else the last events. A part of several
 * views. */
#include "views/view.h"

#include "brain/format.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FLOW_PAIRS = 12 };

void move_draw_line(const struct page_move *move, struct cells *cells, int y, int width) {
    char text[400], clock_text[FORMAT_BYTES] = "-", pages[FORMAT_BYTES], lost[FORMAT_BYTES];
    if (move->time_s > 0 && move->time_s < 1e12) {
        format_clock(clock_text, (time_t)move->time_s);
    }
    snprintf(text, sizeof text, "%s  %u→%u  %s page%s %s, lost %s  %s: %s", clock_text, move->from,
             move->to, format_count(pages, move->pages), move->pages == 1 ? "" : "s",
             move->outcome, format_count(lost, move->lost), move->mode, move->reason);
    cells_text_fit(cells, y, 0, width, STYLE_PLAIN, text);
}

/* The pages that moved from one class to another: pairs of classes, the most pages first. */
struct flow {
    unsigned from, to;
    double pages;
};

static unsigned moves_sum_flows(const struct move_list *moves, struct flow flows[FLOW_PAIRS]) {
    unsigned count = 0;
    for (unsigned i = 0; i < moves->count; i++) {
        const struct page_move *move = &moves->moves[i];
        unsigned at = 0;
        while (at < count && (flows[at].from != move->from || flows[at].to != move->to)) {
            at++;
        }
        if (at == count) {
            if (count == FLOW_PAIRS) {
                continue;
            }
            flows[count++] = (struct flow){move->from, move->to, 0};
        }
        flows[at].pages += move->pages > 0 ? move->pages : 0;
        for (; at > 0 && flows[at - 1].pages < flows[at].pages; at--) {
            struct flow less = flows[at - 1];
            flows[at - 1] = flows[at];
            flows[at] = less;
        }
    }
    return count;
}

static void moves_draw_flows(const struct move_list *moves, struct cells *cells, int y, int width) {
    struct flow flows[FLOW_PAIRS];
    unsigned count = moves_sum_flows(moves, flows);
    int x = cells_text(cells, y, 0, STYLE_DIM, count > 0 ? "pages moved lately " : "no move yet");
    for (unsigned i = 0; i < count; i++) {
        char text[48], pages[FORMAT_BYTES];
        bool goes_back = false;
        for (unsigned j = 0; j < count; j++) {
            goes_back =
                goes_back || (flows[j].from == flows[i].to && flows[j].to == flows[i].from &&
                              flows[j].pages > 0 && flows[i].pages > 0);
        }
        snprintf(text, sizeof text, "  %u→%u %s%s", flows[i].from, flows[i].to,
                 format_count(pages, flows[i].pages), goes_back ? " (and back)" : "");
        if (x + cells_width_of(text) > width) {
            break;
        }
        x = cells_text(cells, y, x, goes_back ? STYLE_WARN : STYLE_PLAIN, text);
    }
}

void moves_draw(const struct frame *frame, struct cells *cells, struct rect area) {
    const struct details *details = model_details(frame->model);
    int y = area.y, end = area.y + area.height;
    if (!detail_is_known(details, INQUIRY_MOVES)) {
        cells_rule(cells, y++, 0, area.width, "events");
        struct rect list = {y, 0, end - y, area.width};
        events_draw_list(frame, cells, list, 0);
        return;
    }
    const struct move_list *moves = &details->moves;
    char title[80];
    snprintf(title, sizeof title, "moves, automove %s", moves->mode);
    cells_rule(cells, y++, 0, area.width, title);
    if (y < end) {
        moves_draw_flows(moves, cells, y++, area.width);
    }
    if (y < end && strcmp(moves->mode, "off") != 0) { /* the heading already says "off" */
        char text[NOTE_BYTES];
        snprintf(text, sizeof text, "now: %s", moves->why);
        cells_text_fit(cells, y++, 0, area.width, STYLE_PLAIN, text);
    }
    for (unsigned i = moves->count; i > 0 && y < end; i--) {
        move_draw_line(&moves->moves[i - 1], cells, y++, area.width);
    }
}
