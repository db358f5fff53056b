/* The table of the sizes view: other chunk sizes, what each would bring, and the review of one. */
#include "views/view.h"

#include "act/forecast.h"
#include "brain/format.h"
#include "facts/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* For how long the server's answer about an order has been known, when that is worth a word; NAN
 * else. */
static double age_of(const struct details *details, const char *order, uint64_t now_ms) {
    const struct outlook *outlook = details != NULL ? outlook_of(&details->outlooks, order) : NULL;
    bool is_old = outlook != NULL && now_ms >= outlook->known_ms + OUTLOOK_OLD_MS;
    return is_old ? (double)((now_ms - outlook->known_ms) / 1000) : NAN;
}

static void draw_row(const struct size_choice *choice, const char *no_gain, double age_s,
                     struct cells *cells, int y, int width) {
    char waste[FORMAT_BYTES], classes[FORMAT_BYTES], age[FORMAT_BYTES], text[300];
    uint8_t style = choice->is_best ? STYLE_GOOD : choice->is_worth_it ? STYLE_PLAIN : STYLE_DIM;
    if (choice->words[0] != '\0' || !choice->is_known) {
        words_printf(text, sizeof text, "%-12.12s %s", choice->order,
                     choice->is_known ? choice->words : "asking the server");
    } else {
        int used = snprintf(text, sizeof text, "%-12.12s %7s %6s %%", choice->order,
                            format_count(classes, choice->classes),
                            format_percent(waste, choice->waste_ratio));
        if (!isnan(choice->items_change)) {
            used += snprintf(text + used, sizeof text - (size_t)used, "  %+6.1f %%  %s",
                             choice->items_change * 100,
                             choice->is_best       ? "◀ most items"
                             : choice->is_worth_it ? ""
                                                   : no_gain);
        }
        if (!isnan(age_s)) {
            snprintf(text + used, sizeof text - (size_t)used, "  %s ago", format_age(age, age_s));
        }
    }
    cells_text_fit(cells, y, 0, width, style, text);
}

void size_choices_draw(const struct frame *frame, const struct ui *ui,
                       const struct size_bins *sizes, const struct size_plan *plan,
                       struct cells *cells, struct rect area) {
    bool is_slated = model_now(frame->model)->is_slated;
    int y = area.y, rows = area.height - 2;
    cells_head(
        cells, y++, 0, area.width,
        is_slated ? "CHUNK SIZES  CLASSES    WASTE     ITEMS  as the server predicts"
                  : "CHUNK SIZES  CLASSES    WASTE     ITEMS  ESTIMATED, after a restart with -f");
    struct size_choice now = {.order = "now",
                              .is_known = true,
                              .is_worth_it = true,
                              .classes = plan->now.count,
                              .waste_ratio = is_slated ? size_bins_waste(sizes) : plan->waste_ratio,
                              .items_change = NAN};
    /* memcached refuses none: it takes them as options of its start. */
    const char *no_gain = is_slated ? "no gain: refused" : "no gain";
    draw_row(&now, no_gain, NAN, cells, y++, area.width);
    unsigned cursor = plan->count == 0                 ? 0
                      : ui->sizes.cursor < plan->count ? ui->sizes.cursor
                                                       : plan->count - 1;
    unsigned top = rows > 0 && (int)cursor >= rows ? cursor - (unsigned)rows + 1 : 0;
    for (unsigned i = top; i < plan->count && (int)(i - top) < rows; i++, y++) {
        draw_row(&plan->of[i], no_gain,
                 age_of(model_details(frame->model), plan->of[i].order, frame->now_ms), cells, y,
                 area.width);
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
    const struct size_plan *plan = brain_sizes(frame->model);
    unsigned *cursor = &ui->sizes.cursor, count = plan != NULL ? plan->count : 0;
    *cursor = list_step(*cursor, command_rows(given, SIZE_CHOICES_MOST), count > 0 ? count - 1 : 0);
    if (given != COMMAND_REVIEW) {
        return (struct intent){0};
    }
    return now != NULL && now->is_slated && count > 0
               ? review_of(action_set("geometry", plan->of[*cursor].order))
               : say("memcached takes other chunk sizes only at its start: -f, -n, -o slab_sizes");
}

void size_choices_wants(struct wants *wants) {
    char orders[SIZE_CHOICES_MOST][OUTLOOK_ORDER_BYTES];
    unsigned count = brain_size_orders(orders);
    for (unsigned i = 0; i < count; i++) {
        outlook_wants(orders[i], wants);
    }
}
