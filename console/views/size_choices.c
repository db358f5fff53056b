/* The table of the sizes view: other chunk sizes, what each would bring, and the review of one. */
#include "views/view.h"

#include "act/forecast.h"
#include "facts/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FACTORS = 6, CHOICES = FACTORS + 1 };

/* As orders: slated has them all, a start of memcached the factors. */
static const char *const orders[CHOICES] = {"factor 1.04", "factor 1.08", "factor 1.15", "factor 1.25",
                                            "factor 1.50", "factor 2.00", "auto"};

/* What one order would bring. */
struct choice {
    bool is_known, is_worth_it;
    double classes, waste, items_pct; /* NAN: not known; the change of items in as much memory */
    double age_s;                     /* of what is known, when it is old; NAN else */
    const char *words;                /* the server's, when it has no figures; "" else */
};

static bool plan_of_order(const struct snapshot *now, const char *order, struct size_plan *plan) {
    if (strncmp(order, "factor ", 7) != 0) {
        return false;
    }
    size_plan_by_factor(size_plan_first(now), strtod(order + 7, NULL), size_plan_most(now), plan);
    return plan->count >= 2;
}

static struct choice predicted(const struct details *details, const char *order, uint64_t now_ms) {
    const struct outlook *outlook = details != NULL ? outlook_of(&details->outlooks, order) : NULL;
    struct choice choice = {.classes = NAN, .waste = NAN, .items_pct = NAN, .age_s = NAN, .words = ""};
    if (outlook != NULL) {
        bool is_old = now_ms >= outlook->known_ms + OUTLOOK_OLD_MS;
        choice = (struct choice){.is_known = true,
                                 .is_worth_it = outlook->would_be_made,
                                 .classes = outlook->classes,
                                 .waste = outlook->waste_pct / 100,
                                 .items_pct = outlook->items_pct,
                                 .age_s = is_old ? (double)((now_ms - outlook->known_ms) / 1000) : NAN,
                                 .words = isnan(outlook->items_pct) ? outlook->words : ""};
    }
    return choice;
}

/* By the sizes that the server tracks: whole pages and each class's first one are counted. */
static struct choice reckoned(const struct snapshot *now, const struct size_bins *sizes,
                              const struct size_plan *plan_now, const char *order) {
    struct choice choice = {.classes = NAN, .waste = NAN, .items_pct = NAN, .age_s = NAN, .words = ""};
    struct size_plan plan;
    double pages = floor(stat_number(now->general[GENERAL_limit_maxbytes]) / (1 << 20));
    if (plan_of_order(now, order, &plan)) {
        double more = size_plan_items(&plan, sizes, pages) / size_plan_items(plan_now, sizes, pages) - 1;
        choice = (struct choice){true, more * 100 >= SIZE_GAIN_LEAST_PCT, plan.count,
                                 size_plan_waste(&plan, sizes), more * 100, NAN, ""};
    }
    return choice;
}

static struct choice choice_of(const struct frame *frame, const struct size_bins *sizes,
                               const struct size_plan *plan_now, unsigned index) {
    const struct snapshot *now = model_now(frame->model);
    return now->is_slated ? predicted(model_details(frame->model), orders[index], frame->now_ms)
                          : reckoned(now, sizes, plan_now, orders[index]);
}

/* The one that brings most items, of those that bring as many the one with fewest classes; CHOICES when
 * none is worth it. */
static unsigned best_of(const struct frame *frame, const struct size_bins *sizes,
                        const struct size_plan *plan_now) {
    unsigned best = CHOICES;
    double most = 0, classes = 0;
    for (unsigned i = 0; i < CHOICES; i++) {
        struct choice choice = choice_of(frame, sizes, plan_now, i);
        bool is_as_good = fabs(choice.items_pct - most) < 0.1 && choice.classes < classes;
        if (choice.is_worth_it && (choice.items_pct >= most + 0.1 || is_as_good)) {
            most = choice.items_pct;
            classes = choice.classes;
            best = i;
        }
    }
    return best;
}

const char *size_choices_best(const struct frame *frame, const struct size_bins *sizes,
                              struct size_plan *best) {
    struct size_plan plan_now;
    size_plan_now(frame->model, &plan_now);
    unsigned at = best_of(frame, sizes, &plan_now);
    *best = (struct size_plan){0};
    return at < CHOICES && plan_of_order(model_now(frame->model), orders[at], best) ? orders[at] : "";
}

static void draw_row(const struct choice *choice, const char *name, bool is_best, struct cells *cells,
                     int y, int width) {
    char waste[FORMAT_BYTES], classes[FORMAT_BYTES], age[FORMAT_BYTES], text[300];
    uint8_t style = is_best ? STYLE_GOOD : choice->is_worth_it ? STYLE_PLAIN : STYLE_DIM;
    if (choice->words[0] != '\0' || !choice->is_known) {
        snprintf(text, sizeof text, "%-12s %s", name, choice->is_known ? choice->words : "asking the server");
    } else {
        int used = snprintf(text, sizeof text, "%-12s %7s %6s %%", name, format_count(classes, choice->classes),
                            format_percent(waste, choice->waste));
        if (!isnan(choice->items_pct)) {
            used += snprintf(text + used, sizeof text - (size_t)used, "  %+6.1f %%  %s", choice->items_pct,
                             is_best ? "◀ most items" : choice->is_worth_it ? "" : "no gain: refused");
        }
        if (!isnan(choice->age_s)) {
            snprintf(text + used, sizeof text - (size_t)used, "  %s ago", format_age(age, choice->age_s));
        }
    }
    cells_text_fit(cells, y, 0, width, style, text);
}

void size_choices_draw(const struct frame *frame, const struct ui *ui, const struct size_bins *sizes,
                       const struct size_plan *plan_now, struct cells *cells, struct rect area) {
    bool is_slated = model_now(frame->model)->is_slated;
    int y = area.y, rows = area.height - 2;
    cells_fill(cells, (struct rect){y, 0, 1, area.width}, ' ', STYLE_HEADER);
    cells_text_fit(cells, y++, 0, area.width, STYLE_HEADER,
                   is_slated ? "CHUNK SIZES  CLASSES    WASTE     ITEMS  as the server predicts"
                             : "CHUNK SIZES  CLASSES    WASTE     ITEMS  ESTIMATED, after a restart with -f");
    double waste = is_slated ? size_bins_waste(sizes) : size_plan_waste(plan_now, sizes);
    struct choice now = {true, true, plan_now->count, waste, NAN, NAN, ""};
    draw_row(&now, "now", false, cells, y++, area.width);
    unsigned best = best_of(frame, sizes, plan_now), count = is_slated ? CHOICES : FACTORS;
    unsigned cursor = ui->sizes.cursor < count ? ui->sizes.cursor : count - 1;
    unsigned top = rows > 0 && (int)cursor >= rows ? cursor - (unsigned)rows + 1 : 0;
    for (unsigned i = top; i < count && (int)(i - top) < rows; i++, y++) {
        struct choice choice = choice_of(frame, sizes, plan_now, i);
        draw_row(&choice, orders[i], i == best, cells, y, area.width);
        cells_hot(cells, (struct rect){y, 0, 1, area.width}, HOT_ROW, i);
        if (i == cursor) {
            cells_select(cells, y, 0, area.width);
        }
    }
}

struct intent size_choices_command(const struct frame *frame, struct ui *ui, enum command given) {
    const struct snapshot *now = model_now(frame->model);
    if (now != NULL && !snapshot_has_slabs(now)) {
        return given == COMMAND_REVIEW ? say(SIZES_NEED_SLABS, now->store) : (struct intent){0};
    }
    bool is_slated = now != NULL && now->is_slated;
    unsigned *cursor = &ui->sizes.cursor, last = is_slated ? CHOICES - 1 : FACTORS - 1;
    *cursor = list_step(*cursor, command_rows(given, CHOICES), last);
    if (given != COMMAND_REVIEW) {
        return (struct intent){0};
    }
    return is_slated ? review_of(action_set("geometry", orders[*cursor]))
                     : say("memcached takes other chunk sizes only at its start: -f, -n, -o slab_sizes");
}

void size_choices_wants(struct wants *wants) {
    for (unsigned i = 0; i < CHOICES; i++) {
        outlook_wants(orders[i], wants);
    }
}
