/* The review of a change: what will be sent, to which server, what it may cost, and what the server
 * would refuse. Nothing leaves this dialog but by a capital S. */
#include "view.h"

#include "format.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BOX_WIDTH = 76, BOX_HEIGHT = 15, PAGES_AT_COST = 8 };

void review_open(struct review *review, const struct action *action) {
    *review = (struct review){.is_open = true, .action = *action};
    review->field = action->kind == ACTION_MOVE_PAGES ? 2 : 0;
}

static unsigned *field_value(struct review *review) {
    struct action *action = &review->action;
    if (action->kind == ACTION_AUTOMOVE) {
        return &action->automove;
    }
    return review->field == 0 ? &action->from : review->field == 1 ? &action->to : &action->pages;
}

/* The next class with pages in the direction of step; the pool counts as a destination. */
static unsigned step_class(const struct snapshot *now, unsigned id, int step, bool may_be_pool) {
    id = id < CLASS_LIMIT ? id : CLASS_LIMIT;
    for (int next = (int)id + step;
         now != NULL && next >= (may_be_pool ? 0 : 1) && next < CLASS_LIMIT; next += step) {
        bool is_pool = next == POOL_CLASS;
        if (is_pool || stat_number(now->classes[next].value[CLASS_total_pages]) > 0) {
            return (unsigned)next;
        }
    }
    return id;
}

static void step_field(struct review *review, const struct snapshot *now, int step) {
    unsigned *value = field_value(review);
    if (review->action.kind == ACTION_MOVE_PAGES && review->field < 2) {
        *value = step_class(now, *value, step, review->field == 1);
    } else if (review->action.kind == ACTION_AUTOMOVE) {
        *value = (*value + (unsigned)(step + AUTOMOVE_MODES)) % AUTOMOVE_MODES;
    } else if (step > 0 || *value > 1) {
        *value = (unsigned)((int)*value + step);
    }
}

void review_command(struct review *review, const struct snapshot *now, enum command command) {
    unsigned fields = review->action.kind == ACTION_MOVE_PAGES ? 3 : 1;
    review->is_typing = false;
    if (command == COMMAND_NEXT_FIELD) {
        review->field = (review->field + 1) % fields;
    } else if (command == COMMAND_PREVIOUS_FIELD) {
        review->field = (review->field + fields - 1) % fields;
    } else if (command == COMMAND_LESS) {
        step_field(review, now, -1);
    } else if (command == COMMAND_MORE) {
        step_field(review, now, 1);
    }
}

void review_digit(struct review *review, unsigned digit) {
    unsigned *value = field_value(review);
    unsigned most = review->action.kind == ACTION_AUTOMOVE ? 9
                    : review->field < 2                    ? 999
                                                           : MOVE_PAGES_LIMIT;
    unsigned typed = (review->is_typing ? *value * 10 : 0) + digit;
    *value = typed <= most ? typed : digit;
    review->is_typing = true;
}

/* The inside of the dialog, filled from the top; what does not fit is left out, so the order is
 * that of importance. */
struct sheet {
    struct cells *cells;
    struct rect inside;
    int y;
    bool is_compact; /* no blank lines: a small terminal still shows what is sent */
};

static int sheet_next(struct sheet *sheet) {
    bool has_room =
        sheet->y < sheet->inside.y + sheet->inside.height - 1; /* the last row is the verdict's */
    return has_room ? sheet->y++ : -1;
}

static void skip_line(struct sheet *sheet) {
    sheet->y += sheet->is_compact ? 0 : 1;
}

static void draw_field(struct sheet *sheet, bool is_current, const char *label, unsigned value,
                       const char *note) {
    int y = sheet_next(sheet), x = sheet->inside.x;
    if (y < 0) {
        return;
    }
    uint8_t style = (uint8_t)(STYLE_STRONG | (is_current ? CELL_SELECTED : 0));
    cells_printf(sheet->cells, y, x, STYLE_DIALOG, "%s %-6s", is_current ? "▶" : " ", label);
    cells_printf(sheet->cells, y, x + 9, style, "[%4u]", value);
    cells_text_fit(sheet->cells, y, x + 17, sheet->inside.width - 17, STYLE_DIALOG, note);
}

static void draw_line(struct sheet *sheet, const char *label, uint8_t style, const char *text) {
    int y = sheet_next(sheet), x = sheet->inside.x;
    if (y >= 0) {
        cells_printf(sheet->cells, y, x, STYLE_DIALOG, "  %-9s", label);
        cells_text_fit(sheet->cells, y, x + 12, sheet->inside.width - 12, style, text);
    }
}

static void class_note(const struct snapshot *now, unsigned id, char *out, size_t out_bytes) {
    if (id == POOL_CLASS) {
        snprintf(out, out_bytes, "the global pool: free for any class");
        return;
    }
    if (id >= CLASS_LIMIT || !now->classes[id].present) {
        snprintf(out, out_bytes, "no such class");
        return;
    }
    const struct class_stats *stats = &now->classes[id];
    char size[FORMAT_BYTES], pages[FORMAT_BYTES], free_pages[FORMAT_BYTES], age[FORMAT_BYTES];
    snprintf(out, out_bytes, "%s B chunks, %s pages, %s of them free, oldest item %s",
             format_exact(size, stats->value[CLASS_chunk_size]),
             format_count(pages, stat_number(stats->value[CLASS_total_pages])),
             format_count(free_pages, floor(class_free_pages(stats))),
             format_age(age, stat_number(class_tail_age(stats))));
}

/* What the move may cost: items on pages beyond the free ones, if the server can't rescue them. */
static void loss_note(const struct action *action, const struct snapshot *now, char *out,
                      size_t out_bytes) {
    const struct class_stats *stats = &now->classes[action->from];
    double free_pages = class_free_pages(stats);
    double chunks = stat_number(stats->value[CLASS_chunks_per_page]);
    if (isnan(free_pages) || isnan(chunks)) {
        snprintf(out, out_bytes, "unknown: this server does not list free chunks");
        return;
    }
    double most = fmax((double)action->pages - floor(free_pages), 0) * chunks;
    char text[FORMAT_BYTES];
    if (most == 0) {
        snprintf(out, out_bytes,
                 "probably nothing: class %u has as many free chunks as the pages hold",
                 action->from);
    } else {
        snprintf(out, out_bytes, "up to %s items of class %u, the oldest ones",
                 format_count(text, most), action->from);
    }
}

static void draw_fields(struct sheet *sheet, const struct review *review,
                        const struct snapshot *now) {
    const struct action *action = &review->action;
    char note[NOTE_BYTES];
    if (action->kind == ACTION_AUTOMOVE) {
        draw_field(sheet, true, "mode", action->automove, automove_mode_name(action->automove));
        draw_line(sheet, "now", STYLE_DIALOG, now->automove[0] != '\0' ? now->automove : "-");
        return;
    }
    class_note(now, action->from, note, sizeof note);
    draw_field(sheet, review->field == 0, "from", action->from, note);
    class_note(now, action->to, note, sizeof note);
    draw_field(sheet, review->field == 1, "to", action->to, note);
    draw_field(sheet, review->field == 2, "pages", action->pages, "type a number, or + and -");
}

static void draw_automove_notes(struct sheet *sheet, const struct snapshot *now) {
    char note[NOTE_BYTES];
    uint64_t ratio = now->setting[SETTING_slab_automove_ratio];
    draw_line(sheet, "0", STYLE_DIALOG, "off: only you move pages");
    snprintf(note, sizeof note, "to a class whose oldest item is under %.2f of another's age",
             ratio == STAT_ABSENT ? 0.8 : (double)ratio / 1000);
    draw_line(sheet, "1", STYLE_DIALOG,
              ratio == STAT_ABSENT ? "to the younger class, by age" : note);
    draw_line(sheet, "2", STYLE_DIALOG, "a page at every eviction: fast and costly, not for long");
    draw_line(sheet, "undo", STYLE_DIALOG, "u sets the old mode again");
}

static void draw_move_notes(struct sheet *sheet, const struct action *action,
                            const struct snapshot *now) {
    char note[NOTE_BYTES];
    if (action->from < CLASS_LIMIT) {
        loss_note(action, now, note, sizeof note);
        draw_line(sheet, "may lose", STYLE_DIALOG, note);
    }
    uint64_t automove = now->setting[SETTING_slab_automove];
    bool is_moving = automove != 0 && automove != STAT_ABSENT;
    draw_line(sheet, "automove", STYLE_DIALOG,
              is_moving ? "is on and may take the pages back (t sets it to 0)"
                        : "is off: the pages stay");
    draw_line(sheet, "undo", STYLE_DIALOG,
              "u moves the pages back, but not the items that were lost");
}

/* What is sent and to whom, or why nothing is; true when it may be sent. */
static bool draw_command(struct sheet *sheet, const struct frame *frame,
                         const struct action *action, const struct snapshot *now) {
    char line[80], text[NOTE_BYTES];
    if (!action_check(action, now, text, sizeof text)) {
        draw_line(sheet, "refused", STYLE_BAD, text);
        return false;
    }
    unsigned times = action_command(action, now, line, sizeof line);
    snprintf(text, sizeof text, times == 1 ? "%.70s" : "%.70s × %u, one after the other", line,
             times);
    draw_line(sheet, "will send", STYLE_STRONG, text);
    if (!sheet->is_compact) {
        snprintf(text, sizeof text, "to %.150s", model_server(frame->model));
        draw_line(sheet, "", STYLE_DIALOG, text);
    }
    return true;
}

static void draw_verdict(const struct sheet *sheet, bool is_read_only, bool is_allowed) {
    const char *verdict = is_read_only  ? "Esc closes.   READ-ONLY: nothing can be sent"
                          : !is_allowed ? "Esc cancels.   Change the fields until it can be sent"
                                        : "capital S sends it.   Esc cancels.   Enter never sends";
    cells_text_fit(sheet->cells, sheet->inside.y + sheet->inside.height - 1, sheet->inside.x + 2,
                   sheet->inside.width - 2, is_read_only || !is_allowed ? STYLE_WARN : STYLE_STRONG,
                   verdict);
}

void review_draw(const struct frame *frame, const struct ui *ui, struct cells *cells) {
    const struct action *action = &ui->review.action;
    const struct snapshot *now = model_now(frame->model);
    bool is_move = action->kind == ACTION_MOVE_PAGES;
    int width = cells->width < BOX_WIDTH ? cells->width : BOX_WIDTH;
    int height = cells->height - 3 < BOX_HEIGHT ? cells->height - 3 : BOX_HEIGHT;
    struct rect box = {(cells->height - height) / 2, (cells->width - width) / 2, height, width};
    cells_box(cells, box, is_move ? "Move pages: review" : "Automove: review");
    if (now == NULL) {
        return;
    }
    struct sheet sheet = {.cells = cells,
                          .inside = {box.y + 1, box.x + 2, box.height - 2, box.width - 4},
                          .y = box.y + 1,
                          .is_compact = height < BOX_HEIGHT};
    skip_line(&sheet);
    draw_fields(&sheet, &ui->review, now);
    skip_line(&sheet);
    bool is_allowed = draw_command(&sheet, frame, action, now);
    skip_line(&sheet);
    if (is_move) {
        draw_move_notes(&sheet, action, now);
    } else {
        draw_automove_notes(&sheet, now);
    }
    draw_verdict(&sheet, frame->read_only, is_allowed);
}

/* The class with the most pages, for want of a better giver; -1 when none has two. */
static int largest_class(const struct snapshot *now, unsigned except) {
    int largest = -1;
    double most = 1;
    for (unsigned id = 1; id < CLASS_LIMIT; id++) {
        double pages = stat_number(now->classes[id].value[CLASS_total_pages]);
        if (id != except && pages > most) {
            most = pages;
            largest = (int)id;
        }
    }
    return largest;
}

struct intent propose_move(const struct frame *frame, int to, int from) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL) {
        return say("nothing is known about the server yet");
    }
    if (to < 0 && from < 0) {
        return say("no class is starving: choose one in the class table (2) and press m there");
    }
    double free_pages = 0;
    if (from < 0) {
        from = action_suggest_source(frame->model, (unsigned)to, &free_pages);
        from = from >= 0 ? from : largest_class(now, (unsigned)to);
    } else {
        free_pages = floor(class_free_pages(&now->classes[from]));
    }
    if (from < 0) {
        return say("no other class has a page to spare");
    }
    /* All the free pages, up to half of what the source has; when none is free, an eighth of it,
     * for pages cost items. */
    double have = stat_number(now->classes[from].value[CLASS_total_pages]);
    double pages =
        free_pages >= 1 ? fmin(free_pages, floor(have / 2)) : fmin(floor(have / 8), PAGES_AT_COST);
    struct intent intent = {.kind = INTENT_REVIEW};
    intent.action = (struct action){.kind = ACTION_MOVE_PAGES,
                                    .from = (unsigned)from,
                                    .to = to < 0 ? POOL_CLASS : (unsigned)to,
                                    .pages = pages >= 1 ? (unsigned)pages : 1};
    return intent;
}

struct intent propose_automove(const struct frame *frame) {
    const struct snapshot *now = model_now(frame->model);
    if (now == NULL) {
        return say("nothing is known about the server yet");
    }
    uint64_t mode = now->setting[SETTING_slab_automove];
    if (mode == STAT_ABSENT && now->automove[0] == '\0') {
        return say("this server does not report an automove setting");
    }
    struct intent intent = {.kind = INTENT_REVIEW};
    intent.action = (struct action){.kind = ACTION_AUTOMOVE, .automove = mode == 0 ? 1 : 0};
    return intent;
}
