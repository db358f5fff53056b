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

static void draw_field(const struct review *review, struct cells *cells, int y, int x,
                       unsigned field, const char *label, unsigned value, const char *note) {
    bool is_current = review->field == field;
    cells_printf(cells, y, x, STYLE_DIALOG, "%s %-6s", is_current ? "▶" : " ", label);
    cells_printf(cells, y, x + 9, is_current ? STYLE_STRONG | CELL_SELECTED : STYLE_STRONG, "[%4u]",
                 value);
    cells_text_fit(cells, y, x + 17, BOX_WIDTH - 21, STYLE_DIALOG, note);
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

static void draw_line(struct cells *cells, int y, int x, const char *label, uint8_t style,
                      const char *text) {
    cells_printf(cells, y, x, STYLE_DIALOG, "  %-9s", label);
    cells_text_fit(cells, y, x + 12, BOX_WIDTH - 16, style, text);
}

static void draw_move(const struct frame *frame, const struct review *review, struct cells *cells,
                      int y, int x) {
    const struct snapshot *now = model_now(frame->model);
    const struct action *action = &review->action;
    char note[NOTE_BYTES];
    class_note(now, action->from, note, sizeof note);
    draw_field(review, cells, y++, x, 0, "from", action->from, note);
    class_note(now, action->to, note, sizeof note);
    draw_field(review, cells, y++, x, 1, "to", action->to, note);
    draw_field(review, cells, y++, x, 2, "pages", action->pages, "type a number, or + and -");
    y += 3; /* what is sent, drawn by the caller */
    if (action->from < CLASS_LIMIT) {
        loss_note(action, now, note, sizeof note);
        draw_line(cells, y++, x, "may lose", STYLE_DIALOG, note);
    }
    uint64_t automove = now->setting[SETTING_slab_automove];
    bool is_moving = automove != 0 && automove != STAT_ABSENT;
    draw_line(cells, y++, x, "automove", STYLE_DIALOG,
              is_moving ? "is on and may take the pages back (t sets it to 0)"
                        : "is off: the pages stay");
    draw_line(cells, y, x, "undo", STYLE_DIALOG,
              "u moves the pages back; items that were lost do not return");
}

static void draw_automove(const struct frame *frame, const struct review *review,
                          struct cells *cells, int y, int x) {
    const struct snapshot *now = model_now(frame->model);
    char note[NOTE_BYTES];
    draw_field(review, cells, y, x, 0, "mode", review->action.automove,
               automove_mode_name(review->action.automove));
    int used = snprintf(note, sizeof note, "%s", now->automove[0] != '\0' ? now->automove : "-");
    uint64_t ratio = now->setting[SETTING_slab_automove_ratio];
    if (ratio != STAT_ABSENT) {
        snprintf(note + used, sizeof note - (size_t)used,
                 "; by age, a page moves when the young tail is under %.2f of the old",
                 (double)ratio / 1000);
    }
    draw_line(cells, y + 1, x, "now", STYLE_DIALOG, note);
    draw_line(cells, y + 6, x, "modes", STYLE_DIALOG,
              "0 off; 1 moves a page when one class is much older than another;");
    draw_line(cells, y + 7, x, "", STYLE_DIALOG,
              "2 moves one at every eviction: fast, costly, not for long");
    draw_line(cells, y + 8, x, "undo", STYLE_DIALOG, "u sets the old mode again");
}

void review_draw(const struct frame *frame, const struct ui *ui, struct cells *cells) {
    const struct review *review = &ui->review;
    const struct snapshot *now = model_now(frame->model);
    int width = cells->width < BOX_WIDTH ? cells->width : BOX_WIDTH;
    int height = cells->height - 3 < BOX_HEIGHT ? cells->height - 3 : BOX_HEIGHT;
    struct rect box = {(cells->height - height) / 2, (cells->width - width) / 2, height, width};
    bool is_move = review->action.kind == ACTION_MOVE_PAGES;
    cells_box(cells, box, is_move ? "Move pages: review" : "Automove: review");
    int y = box.y + 2, x = box.x + 2;
    if (now == NULL) {
        return;
    }
    (is_move ? draw_move : draw_automove)(frame, review, cells, y, x);
    char line[80], sent[120], server[120], why[NOTE_BYTES];
    bool is_allowed = action_check(&review->action, now, why, sizeof why);
    unsigned times = is_allowed ? action_command(&review->action, now, line, sizeof line) : 0;
    snprintf(sent, sizeof sent, times == 1 ? "%.70s" : "%.70s   × %u, one after the other", line,
             times);
    snprintf(server, sizeof server, "to %.100s", model_server(frame->model));
    y += 3;
    if (is_allowed) {
        draw_line(cells, y + 1, x, "will send", STYLE_STRONG, sent);
        draw_line(cells, y + 2, x, "", STYLE_DIALOG, server);
    } else {
        draw_line(cells, y + 1, x, "refused", STYLE_BAD, why);
    }
    const char *verdict = frame->read_only ? "READ-ONLY: nothing can be sent.   Esc closes"
                          : !is_allowed    ? "change the fields until it can be sent.   Esc cancels"
                                        : "capital S sends it.   Esc cancels.   Enter never sends";
    cells_text_fit(cells, box.y + box.height - 2, x + 2, width - 6,
                   frame->read_only || !is_allowed ? STYLE_WARN : STYLE_STRONG, verdict);
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
