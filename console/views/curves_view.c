/* Curves: the miss ratio with other amounts of memory, the value of a page for each class, and the
 * hit ratio of other eviction policies. All from sampled keys. */
#include "views/view.h"

#include "brain/brain_query.h"
#include "brain/format.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { AXIS_WIDTH = 7, SCREEN_STEP = 10, WORTH_WIDTH = 58, GRAPH_COLUMNS = 400 };
enum { POLICY_WIDTH_LEAST = 52, POLICY_WIDTH_MOST = 63 }; /* no text is wider than the most */

static void curves_draw_axis(const struct curve *curve, struct cells *cells, int y, int x,
                             int width) {
    double first = curve->points[0].bytes, last = curve->points[curve->count - 1].bytes;
    char text[FORMAT_BYTES + 8];
    int free_from = x;
    int at_now = (int)lround(log(curve->bytes / first) / log(last / first) * (width - 1));
    for (int factor = -3; factor <= 3; factor++) {
        double bytes = ldexp(curve->bytes, factor);
        int column = x + at_now + (int)lround(factor * log(2) / log(last / first) * (width - 1));
        char size[FORMAT_BYTES];
        snprintf(text, sizeof text, factor == 0 ? "^now %s" : "^%s", format_bytes(size, bytes));
        int text_width = cells_width_of(text);
        if (column < free_from || column + text_width > x + width) {
            continue;
        }
        cells_text(cells, y, column, factor == 0 ? STYLE_STRONG : STYLE_DIM, text);
        free_from = column + text_width + 1;
    }
}

static void curves_draw_graph(const struct curve *curve, struct cells *cells, struct rect area) {
    float values[GRAPH_COLUMNS];
    char text[FORMAT_BYTES];
    int width = area.width - AXIS_WIDTH;
    width = width < GRAPH_COLUMNS ? width : GRAPH_COLUMNS;
    double first = curve->points[0].bytes, last = curve->points[curve->count - 1].bytes;
    for (int i = 0; i < width; i++) {
        double bytes = first * pow(last / first, (double)i / (width > 1 ? width - 1 : 1));
        bytes = fmin(fmax(bytes, first), last);
        values[i] = (float)(1 - curve_value_at(curve, bytes));
    }
    /* A flat curve is drawn from a little below its lowest point, or its shape would drown. */
    float most = values[0], least = values[width - 1];
    float low = least > most / 2 ? fmaxf(least - (most - least) / 5 - 0.005f, 0) : 0;
    struct rect plot = {area.y, area.x + AXIS_WIDTH, area.height - 1, width};
    float high = cells_graph(cells, plot, STYLE_GRAPH, values, width, low);
    cells_text_right(cells, plot.y, plot.x - 1, STYLE_DIM, format_percent(text, (double)high));
    cells_text_right(cells, plot.y + plot.height - 1, plot.x - 1, STYLE_DIM,
                     format_percent(text, (double)low));
    curves_draw_axis(curve, cells, area.y + area.height - 1, plot.x, width);
}

static void draw_curve(const struct details *details, const struct ui *ui, struct cells *cells,
                       struct rect area) {
    const struct curve *own = &details->class_curves[ui->curves.cursor % CLASS_LIMIT];
    bool is_whole = ui->curves.cursor == 0 || own->count < 2;
    const struct curve *curve = is_whole ? &details->curve : own;
    char title[120], a[FORMAT_BYTES], b[FORMAT_BYTES], c[FORMAT_BYTES];
    if (curve->count < 2) {
        cells_rule(cells, area.y, area.x, area.width, "miss % by memory");
        cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_WARN,
                       "too few sampled reads yet: a curve needs a busy cache and some time");
        return;
    }
    char name[24] = "the whole cache";
    if (!is_whole) {
        snprintf(name, sizeof name, "class %u", ui->curves.cursor);
    }
    snprintf(title, sizeof title, "LRU model of %s: miss %s %% at %s", name,
             format_percent(a, 1 - curve->hit_ratio), format_bytes(b, curve->bytes));
    cells_rule(cells, area.y, area.x, area.width, title);
    if (area.width >= 80) {
        snprintf(title, sizeof title, " %s sampled reads ", format_count(c, curve->reads));
        cells_text_right(cells, area.y, area.x + area.width, STYLE_HEADER, title);
    }
    curves_draw_graph(curve, cells, (struct rect){area.y + 1, area.x, area.height - 1, area.width});
}

/* Draws the hit ratios of the cache itself, and of miniatures of its policy with other memory. They
 * are no points of the curve, which is the LRU's. */
static void curves_draw_sizes(const struct details *details, struct cells *cells, int y, int x,
                              int width) {
    const double *at = details->curve.at_size;
    char half[FORMAT_BYTES], now[FORMAT_BYTES], twice[FORMAT_BYTES], four[FORMAT_BYTES], text[160];
    const char *policy = details->whatif.policy[0] != '\0' ? details->whatif.policy : "its policy";
    if (isnan(at[1])) {
        cells_text_fit(cells, y, x, width, STYLE_DIM,
                       "miniature caches of its policy with other memory: not compared yet");
        return;
    }
    snprintf(text, sizeof text,
             "%s hit %s %% over 5 turnovers; its miniatures x0.5 %s, x2 %s, x4 %s", policy,
             format_percent(now, at[1]), format_percent(half, at[0]), format_percent(twice, at[2]),
             format_percent(four, at[3]));
    cells_text_fit(cells, y, x, width, STYLE_PLAIN, text);
}

/* Draws whether more memory or another policy would help, a line each: the answers of slatectl
 * doctor and advise. Returns the rows. */
static int curves_draw_answers(const struct frame *frame, struct cells *cells, int y, int width) {
    struct sentence sentences[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.relief", .function = "sentences"};
    unsigned count = brain_query(frame->model, &question, sentences);
    for (unsigned i = 0; i < count; i++) {
        enum style plain = sentences[i].tone == TONE_NOTE ? STYLE_DIM : STYLE_PLAIN;
        cells_text_fit(cells, y + (int)i, 0, width, view_tone_style(sentences[i].tone, plain),
                       sentences[i].text);
    }
    return (int)count;
}

/* Lua's rating of a policy; in the style of a warning if too few reads were sampled for figures. */
static const char *curves_rating_of(const struct sentence *ratings, unsigned count,
                                    const char *policy, uint8_t *style) {
    *style = STYLE_PLAIN;
    for (unsigned i = 0; i < count; i++) {
        if (strcmp(ratings[i].label, policy) == 0) {
            *style = view_tone_style(ratings[i].tone,
                                ratings[i].tone == TONE_NOTE ? STYLE_DIM : STYLE_PLAIN);
            return ratings[i].text;
        }
    }
    return "";
}

static bool curves_goes_before(const struct whatif *whatif, unsigned a, unsigned b) {
    const struct policy_guess *x = &whatif->policies[a], *y = &whatif->policies[b];
    bool x_is_today = strcmp(x->name, whatif->policy) == 0;
    bool y_is_today = strcmp(y->name, whatif->policy) == 0;
    return x_is_today != y_is_today ? x_is_today : x->difference > y->difference;
}

/* Orders policies: today's, then the others, the best first. */
static unsigned curves_sort_policies(const struct whatif *whatif, unsigned order[POLICY_LIMIT]) {
    for (unsigned i = 0; i < whatif->count; i++) {
        unsigned at = i;
        for (; at > 0 && curves_goes_before(whatif, i, order[at - 1]); at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
    return whatif->count;
}

static void curves_draw_policies(const struct frame *frame, struct cells *cells, struct rect area) {
    const struct details *details = model_details(frame->model);
    cells_rule(cells, area.y, area.x, area.width,
               "other policies: miniature caches beside the present policy");
    struct rect left = {area.y + 1, area.x, area.height - 1, area.width};
    if (left.height < 1 || !view_detail_ready(frame, INQUIRY_WHATIF, cells, left)) {
        return;
    }
    const struct whatif *whatif = &details->whatif;
    unsigned order[POLICY_LIMIT];
    if (whatif->count == 0) {
        char text[SAMPLE_WHY_BYTES + 40];
        snprintf(text, sizeof text, "%s: %s", whatif->policy,
                 whatif->is_sampling ? whatif->why : "sampling is off");
        cells_text_fit(cells, left.y, left.x, left.width, STYLE_DIM, text);
        return;
    }
    struct sentence ratings[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.relief", .function = "ratings"};
    unsigned rated = brain_query(frame->model, &question, ratings),
             count = curves_sort_policies(whatif, order);
    for (unsigned i = 0; i < count && (int)i < left.height; i++) {
        const struct policy_guess *guess = &whatif->policies[order[i]];
        char hit[FORMAT_BYTES], text[SENTENCE_BYTES + 100];
        uint8_t style;
        const char *verdict = curves_rating_of(ratings, rated, guess->name, &style);
        style = strcmp(whatif->policy, guess->name) == 0 ? STYLE_STRONG : style;
        if (style == STYLE_WARN) { /* too few reads for figures */
            snprintf(text, sizeof text, "%-8s %s", guess->name, verdict);
        } else {
            snprintf(text, sizeof text, "%-8s hit %5s %%  %+6.2f %s", guess->name,
                     format_percent(hit, guess->hit_ratio), guess->difference * 100, verdict);
        }
        cells_text_fit(cells, left.y + (int)i, left.x, left.width, style, text);
    }
}

static const char *curves_signed_rate(char out[FORMAT_BYTES + 2], double rate, char sign) {
    char text[FORMAT_BYTES];
    if (isnan(rate)) {
        snprintf(out, FORMAT_BYTES + 2, "-");
    } else {
        snprintf(out, FORMAT_BYTES + 2, "%c%s", rate > 0 ? sign : ' ',
                 format_count(text, fmax(rate, 0)));
    }
    return out;
}

static void curves_draw_worth(struct cells *cells, struct rect row,
                              const struct class_worth *worth) {
    char gain[FORMAT_BYTES + 2], loss[FORMAT_BYTES + 2], a[FORMAT_BYTES], b[FORMAT_BYTES],
        c[FORMAT_BYTES], text[120];
    snprintf(text, sizeof text, "%3u %5s %6s %6s %8s %8s", worth->class_id,
             format_count(a, worth->pages), format_percent(b, worth->read_share),
             format_percent(c, worth->hit_ratio), curves_signed_rate(gain, worth->gain, '+'),
             curves_signed_rate(loss, worth->loss, '-'));
    cells_text(cells, row.y, row.x + 1, STYLE_PLAIN, text);
    int x = row.x + 43, room = row.width - 43;
    if (room >= 15 && worth->policy[0] != '\0') {
        snprintf(text, sizeof text, "%s %+.1f pt", worth->policy, worth->policy_gain * 100);
        cells_text_fit(cells, row.y, x, room, STYLE_GOOD, text);
    }
}

/* Draws one line: the move that every screen and slatectl advise, or why there is none. */
static void curves_draw_advice(const struct frame *frame, struct cells *cells, int y, int x,
                               int width) {
    struct sentence sentences[SENTENCES_MOST];
    struct question question = {.module = "slate.judge.relief", .function = "relief_sentence"};
    if (brain_query(frame->model, &question, sentences) > 0) {
        cells_text_fit(cells, y, x, width,
                       sentences[0].tone == TONE_NOTE ? STYLE_DIM : STYLE_STRONG,
                       sentences[0].text);
    }
}

static void curves_draw_classes(const struct frame *frame, struct ui *ui, struct cells *cells,
                                struct rect area) {
    const struct class_worth *worth;
    unsigned count = brain_worth(frame->model, &worth);
    cells_head(cells, area.y, area.x, area.width,
               "  CL PAGES READS%   HIT%  +1 page  -1 page hits/s by curves");
    int rows = area.height - 2;
    unsigned cursor = 0;
    for (unsigned i = 0; i < count; i++) {
        cursor = worth[i].class_id == ui->curves.cursor ? i : cursor;
    }
    ui->curves.top = key_top(ui->curves.top, cursor, rows > 0 ? (unsigned)rows : 0, count);
    for (int i = 0; i < rows && ui->curves.top + (unsigned)i < count; i++) {
        unsigned at = ui->curves.top + (unsigned)i;
        struct rect row = {area.y + 1 + i, area.x, 1, area.width};
        curves_draw_worth(cells, row, &worth[at]);
        cells_hot(cells, row, HOT_ROW, worth[at].class_id);
        if (ui->curves.cursor > 0 && worth[at].class_id == ui->curves.cursor) {
            cells_text(cells, row.y, row.x, STYLE_STRONG, ">");
            cells_select(cells, row.y, row.x, row.width);
        }
    }
    if (count == 0) {
        cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_DIM,
                       "no class has enough sampled reads yet");
    } else if (rows >= 0) {
        curves_draw_advice(frame, cells, area.y + area.height - 1, area.x, area.width);
    }
}

static void curves_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                        struct rect area) {
    const struct details *details = model_details(frame->model);
    if (!view_detail_ready(frame, INQUIRY_CURVE, cells, area)) {
        return;
    }
    int graph = area.height >= 40 ? area.height / 2 : area.height >= 16 ? 8 : area.height;
    draw_curve(details, ui, cells, (struct rect){area.y, 0, graph, area.width});
    struct rect left = {area.y + graph, 0, area.height - graph, area.width};
    if (left.height < 8) {
        return;
    }
    curves_draw_sizes(details, cells, left.y, 0, area.width);
    int lines = 1 + curves_draw_answers(frame, cells, left.y + 1, area.width);
    left.y += lines;
    left.height -= lines;
    int policy_width = area.width - WORTH_WIDTH;
    policy_width = policy_width < POLICY_WIDTH_MOST ? policy_width : POLICY_WIDTH_MOST;
    if (policy_width >= POLICY_WIDTH_LEAST) {
        struct rect right = {left.y, area.width - policy_width, left.height, policy_width};
        curves_draw_policies(frame, cells, right);
        left.width = area.width - policy_width - 1;
    } else {
        int policies = left.height / 2;
        curves_draw_policies(frame, cells, (struct rect){left.y, 0, policies, area.width});
        left.y += policies;
        left.height -= policies;
    }
    curves_draw_classes(frame, ui, cells, left);
}

static void curves_move_cursor(const struct frame *frame, struct ui *ui, int rows) {
    const struct class_worth *worth;
    unsigned count = brain_worth(frame->model, &worth);
    unsigned at = 0; /* 0: the cache as a whole; class i of the list is at i + 1 */
    for (unsigned i = 0; i < count; i++) {
        at = worth[i].class_id == ui->curves.cursor ? i + 1 : at;
    }
    at = key_step(at, rows, count);
    ui->curves.cursor = at == 0 ? 0 : worth[at - 1].class_id;
}

static struct intent curves_command(const struct frame *frame, struct ui *ui, enum command given) {
    struct intent none = {0};
    curves_move_cursor(frame, ui, key_move_rows(given, SCREEN_STEP));
    switch (given) {
    case COMMAND_OPEN_CLASS:
        if (ui->curves.cursor == 0) {
            return view_say("Down chooses a class; Enter then shows it");
        }
        view_open_class(ui, ui->curves.cursor);
        return none;
    case COMMAND_MOVE_PAGES:
        return propose_move(frame,
                            ui->curves.cursor > 0 ? (int)ui->curves.cursor
                                                  : brain_in_need(brain_of(frame->model)),
                            -1);
    default: /* other views and the app handle the other commands */
        return none;
    }
}

static const char *const shown[] = {
    "curve.lru_hit_ratio", "curve.hit_ratio_x1", "whatif.hit_ratio", "whatif.difference",
    "hit_ratio", "policy", "sample_rate", NULL};

const struct view curves_view = {.name = "Curves",
                                 .scope = SCOPE_CURVES,
                                 .open = COMMAND_VIEW_CURVES,
                                 .draw = curves_draw,
                                 .command = curves_command,
                                 .shown = shown,
                                 .cursor = offsetof(struct ui, curves.cursor),
                                 .inquiries = INQUIRY_BIT(CURVE) | INQUIRY_BIT(CLASS_CURVES) |
                                              INQUIRY_BIT(WHATIF)};
