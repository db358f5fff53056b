/* Pages: a cell a page, a row a class. Shows unused memory, and moves pages: f marks a class as the
 * source, + and - choose how many of its emptiest pages, m on another class opens the review.
 * page_map draws the map. */
#include "views/page_map.h"

#include "act/forecast.h"
#include "brain/brain.h"
#include "brain/format.h"
#include "brain/health.h"
#include "facts/page_summary.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { PANEL_LEAST = 3, PANEL_MOST = 14 };

/* Puts the cursor on a row; at first on the worst class. */
static void pages_set_cursor(const struct frame *frame, struct ui *ui, const struct page_map *map) {
    int worst = brain_said(brain_of(frame->model))->worst;
    unsigned wanted = ui->pages.cursor == 0 && worst > 0 ? (unsigned)worst : ui->pages.cursor;
    ui->pages.cursor = map->rows[page_map_row_of(map, wanted)].class_id;
}

static bool pages_are_exact(const struct frame *frame) {
    const struct details *details = model_details(frame->model);
    return detail_is_known(details, INQUIRY_PAGES) && details->pages.is_complete;
}

static void pages_draw_head(const struct frame *frame, const struct ui *ui, struct cells *cells,
                            int y, int width, unsigned scale) {
    static const char *const modes[] = {"how full", "age in its class", "time unused"};
    char text[80], scale_text[FORMAT_BYTES];
    const struct snapshot *now = model_now(frame->model);
    cells_fill(cells, (struct rect){y, 0, 1, width}, ' ', STYLE_HEADER);
    const char *source = pages_are_exact(frame) ? "EXACT"
                         : now != NULL && now->is_slated && !frame->is_past && !frame->is_replay
                             ? "READING"
                             : "ESTIMATED";
    if (width < 60) { /* no legend: help and manual have it */
        snprintf(text, sizeof text, "%s: a cell is %s page%s", source,
                 format_count(scale_text, scale), scale > 1 ? "s" : "");
        cells_text_fit(cells, y, 0, width, STYLE_HEADER, text);
        return;
    }
    int x = cells_printf(cells, y, 0, STYLE_HEADER, "%s: a cell is %s page%s%s%s", source,
                         format_count(scale_text, scale), scale > 1 ? "s" : "",
                         width >= 100 ? ", by " : "", width >= 100 ? modes[ui->pages.mode] : "");
    cells_text_fit(cells, y, x, width - x, STYLE_HEADER,
                   ui->pages.mode == PAGE_MODE_FILL
                       ? "  █full ▓90% ▒50% ░10% ·less ◆marked ↯moving"
                       : "  s seconds m minutes h hours d days ◆marked");
}

/* The move to the class under the cursor that m would review: from the marked class, or from the
 * best donor if the class evicts. */
static bool pages_find_move(const struct frame *frame, const struct ui *ui, struct action *out) {
    const struct brain *brain = brain_of(frame->model);
    unsigned to = ui->pages.cursor;
    int source = ui->classes.source;
    if (source >= 0) {
        *out = action_move((unsigned)source, to, ui->pages.marked > 0 ? ui->pages.marked : 1);
        return source != (int)to;
    }
    struct donor donor = brain_donor(brain, to);
    *out = action_move(donor.class_id < 0 ? 0 : (unsigned)donor.class_id, to, donor.pages);
    return donor.class_id >= 0 && brain_class(brain, to)->evicted_per_s > 0;
}

/* "m: 3 pages from class 4: +3.1 points of hits (+1.9 to +7.0)", as in the review. */
static void pages_draw_expected(const struct frame *frame, const struct action *action,
                                struct cells *cells, int y, int width) {
    struct sentence sentences[SENTENCES_MOST];
    unsigned count = forecast_query(action, frame->model, sentences);
    char text[SENTENCE_BYTES + 60];
    snprintf(text, sizeof text, "m: %u page%s from class %u: %s", action->pages,
             action->pages == 1 ? "" : "s", action->from, forecast_of(sentences, count, "expects"));
    cells_text_fit(cells, y, 0, width, STYLE_STRONG, text);
}

/* "class 4: 12 empty, 9 more under 10 %, 30 more under half" and the cost of donating them, or the
 * forecast of a move. */
static void pages_draw_selection(const struct frame *frame, const struct ui *ui,
                                 struct cells *cells, struct rect area) {
    char a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES], title[80];
    unsigned id = ui->pages.cursor;
    struct page_summary summary;
    int y = area.y, end = area.y + area.height;
    if (id == POOL_ROW) {
        cells_rule(cells, y++, 0, area.width, "the pool: pages that any class may take");
    } else {
        page_summary_of(frame->model, id, &summary);
        snprintf(title, sizeof title, "class %u%s: %s", id, summary.is_exact ? "" : ", estimated",
                 brain_class_word(brain_class(brain_of(frame->model), id)->state));
        cells_rule(cells, y++, 0, area.width, title);
        char text[200];
        unsigned empty = page_summary_below(&summary, 0), nearly = page_summary_below(&summary, 9);
        unsigned half = page_summary_below(&summary, 49);
        int n = snprintf(
            text, sizeof text, "%u page%s: %u empty, %u more under 10 %%, %u more under half",
            summary.pages, summary.pages == 1 ? "" : "s", empty, nearly - empty, half - nearly);
        if (summary.is_exact && area.width >= 60) {
            snprintf(text + n, sizeof text - (size_t)n, "; aged %s to %s",
                     format_age(a, summary.youngest_s), format_age(b, summary.oldest_s));
        }
        if (y < end) {
            cells_text_fit(cells, y++, 0, area.width, STYLE_PLAIN, text);
        }
    }
    if (y >= end) {
        return;
    }
    struct action action;
    if (id != POOL_ROW && pages_find_move(frame, ui, &action)) {
        pages_draw_expected(frame, &action, cells, y, area.width);
        return;
    }
    if (ui->classes.source < 0) {
        cells_text_fit(cells, y, 0, area.width, STYLE_DIM,
                       "f marks this class as the source; Enter shows the class");
        return;
    }
    unsigned source = (unsigned)ui->classes.source;
    page_summary_of(frame->model, source, &summary);
    char text[200];
    snprintf(text, sizeof text,
             "◆ %u of class %u marked (+ -): %s%s items in them; m on the class that takes",
             ui->pages.marked, source, summary.is_exact ? "" : "at least ",
             format_count(c, page_summary_cost(&summary, ui->pages.marked)));
    cells_text_fit(cells, y, 0, area.width, STYLE_STRONG, text);
}

/* The rows of the panel: all that the map leaves, and a few on a screen of any size. */
static int pages_panel_rows(const struct snapshot *now, const struct page_map *map, unsigned width,
                            int height) {
    int lines = 0, least = height >= 14 ? PANEL_LEAST : 0;
    for (unsigned i = 0; i < map->count; i++) {
        lines += (int)page_map_lines(page_map_pages(now, map->rows[i].class_id), width, 1);
    }
    int left = height - lines;
    return left < least ? least : left > PANEL_MOST ? PANEL_MOST : left;
}

static void pages_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                       struct rect area) {
    struct page_map map;
    const struct snapshot *now = model_now(frame->model);
    page_map_list(now, &map);
    /* a heap's pages are parts of one heap; blocks has pages of blocks */
    if (now != NULL && strcmp(now->store, "heap") == 0) {
        cells_text_fit(cells, area.y, 0, area.width, STYLE_DIM,
                       "pages of classes need --store=slab; this server has heap");
        return;
    }
    if (map.count == 0) {
        cells_text_fit(cells, area.y, 0, area.width, STYLE_DIM,
                       now == NULL ? "waiting for the server"
                                   : brain_no_classes(brain_of(frame->model)));
        return;
    }
    pages_set_cursor(frame, ui, &map);
    unsigned width = (unsigned)(area.width - PAGE_MAP_LABEL_WIDTH);
    int selection = area.height >= 14 ? 3 : area.height >= 8 ? 2 : 0;
    int panel = pages_panel_rows(now, &map, width, area.height - 1 - selection);
    int height = area.height - 1 - selection - panel;
    unsigned scale = page_map_scale(now, &map, width, (unsigned)height);
    pages_draw_head(frame, ui, cells, area.y, area.width, scale);
    page_map_draw(frame, ui, cells, (struct rect){area.y + 1, 0, height, area.width}, &map, scale);
    int y = area.y + 1 + height;
    if (selection > 0) {
        pages_draw_selection(frame, ui, cells, (struct rect){y, 0, selection, area.width});
    }
    if (panel > 0) {
        moves_draw(frame, cells, (struct rect){y + selection, 0, panel, area.width});
    }
}

/* ---- commands ---- */

static struct intent pages_mark_class(const struct frame *frame, struct ui *ui) {
    unsigned id = ui->pages.cursor;
    struct page_summary summary;
    if (id == POOL_ROW) {
        return view_say("pages of the pool are free for any class: there is nothing to move");
    }
    if (ui->classes.source == (int)id) {
        ui->classes.source = -1;
        ui->pages.marked = 0;
        return view_say("no page is marked");
    }
    page_summary_of(frame->model, id, &summary);
    unsigned empty = page_summary_below(&summary, 0);
    ui->classes.source = (int)id;
    ui->pages.marked = empty > 0 && empty < summary.pages ? empty : 1;
    return view_say(
        "%u page%s of class %u marked: + and - for more or fewer, then m on the receiver",
        ui->pages.marked, ui->pages.marked == 1 ? "" : "s", id);
}

static struct intent pages_mark_more(const struct frame *frame, struct ui *ui, int step) {
    if (ui->classes.source < 0) {
        return view_say("mark a class with f first");
    }
    unsigned pages = page_map_pages(model_now(frame->model), (unsigned)ui->classes.source);
    int wanted = (int)ui->pages.marked + step;
    ui->pages.marked = wanted < 1             ? 1
                       : wanted >= (int)pages ? pages - (pages > 1)
                                              : (unsigned)wanted;
    return (struct intent){0};
}

static struct intent pages_propose_move(const struct frame *frame, struct ui *ui) {
    int to = (int)ui->pages.cursor;
    if (ui->classes.source == to) {
        return view_say("go to the class that needs the pages and press m there");
    }
    if (to == POOL_ROW && ui->classes.source < 0) {
        return view_say("mark a class with f first: its pages can go to the pool");
    }
    struct intent intent = propose_move(frame, to == POOL_ROW ? -1 : to, ui->classes.source);
    if (intent.kind == INTENT_REVIEW && ui->classes.source >= 0 && ui->pages.marked > 0) {
        intent.plan.steps[0].pages = ui->pages.marked;
    }
    return intent;
}

static void pages_move_cursor(const struct frame *frame, struct ui *ui, int rows) {
    struct page_map map;
    page_map_list(model_now(frame->model), &map);
    if (map.count > 0) {
        pages_set_cursor(frame, ui, &map);
        unsigned row = key_step(page_map_row_of(&map, ui->pages.cursor), rows, map.count - 1);
        ui->pages.cursor = map.rows[row].class_id;
    }
}

static struct intent pages_next_mode(const struct frame *frame, struct ui *ui) {
    const struct details *details = model_details(frame->model);
    if (!pages_are_exact(frame)) {
        return view_say("ages of pages need slated: this map is an estimate of how full they are");
    }
    ui->pages.mode = (enum page_mode)((ui->pages.mode + 1) % PAGE_MODES);
    if (ui->pages.mode == PAGE_MODE_USE && !details->pages.notes_use) {
        ui->pages.mode = PAGE_MODE_FILL; /* only automove lra notes the use of pages */
    }
    return (struct intent){0};
}

static struct intent pages_command(const struct frame *frame, struct ui *ui, enum command given) {
    enum { SCREEN = 10 };
    struct intent none = {0};
    if (model_now(frame->model) == NULL) {
        return none;
    }
    pages_move_cursor(frame, ui, key_move_rows(given, SCREEN));
    switch (given) {
    case COMMAND_MARK_SOURCE:
        return pages_mark_class(frame, ui);
    case COMMAND_MORE_PAGES:
    case COMMAND_FEWER_PAGES:
        return pages_mark_more(frame, ui, given == COMMAND_MORE_PAGES ? 1 : -1);
    case COMMAND_MOVE_PAGES:
        return pages_propose_move(frame, ui);
    case COMMAND_CELL_MODE:
        return pages_next_mode(frame, ui);
    case COMMAND_OPEN_CLASS:
        if (ui->pages.cursor != POOL_ROW) {
            view_open_class(ui, ui->pages.cursor);
        }
        return none;
    default: /* other views and the app handle the other commands */
        return none;
    }
}

static const char *const shown[] = {
    "class.pages", "class.free", "memory.pool", "moves.why", "moves.rescues", "lost_by_moves",
    "starving", "ping_pong", NULL};

static void pages_wants(const struct ui *ui, struct wants *out) {
    out->inquiries |= INQUIRY_BIT(PAGES) | INQUIRY_BIT(MOVES) | INQUIRY_BIT(CURVE) |
                      INQUIRY_BIT(CLASS_CURVES);
    out->curves_first[0] = ui->classes.source > 0 ? (unsigned)ui->classes.source : 0;
    out->curves_first[1] = ui->pages.cursor < CLASS_LIMIT ? ui->pages.cursor : 0;
}

const struct view pages_view = {.name = "Pages",
                                .scope = SCOPE_PAGES,
                                .open = COMMAND_VIEW_PAGES,
                                .draw = pages_draw,
                                .command = pages_command,
                                .shown = shown,
                                .cursor = offsetof(struct ui, pages.cursor),
                                .wants = pages_wants};
