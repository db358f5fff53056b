/* Latency: the time of round trips to the server, measured by slatetop: a probe, `version`, ten
 * times a second while this view is open, and every refresh. */
#include "views/view.h"

#include "brain/format.h"

#include <math.h>
#include <stdio.h>

enum {
    LABEL_WIDTH = 18,
    COUNT_WIDTH = 8,
    BAR_X = LABEL_WIDTH + COUNT_WIDTH + 2,
    SCALE_WIDTH = 8,
    REFRESHES_MOST = 1000
};

/* "50us", "2.5ms", "1s". */
static const char *latency_time(char out[FORMAT_BYTES], double us) {
    if (isnan(us)) {
        snprintf(out, FORMAT_BYTES, "-");
    } else if (us < 1000) {
        snprintf(out, FORMAT_BYTES, "%.0fus", us);
    } else if (us < 1e6) {
        snprintf(out, FORMAT_BYTES, "%.3gms", us / 1e3);
    } else {
        snprintf(out, FORMAT_BYTES, "%.3gs", us / 1e6);
    }
    return out;
}

static void latency_quantiles(const struct latency_summary *summary, char *out, size_t out_bytes) {
    char p50[FORMAT_BYTES], p90[FORMAT_BYTES], p99[FORMAT_BYTES], most[FORMAT_BYTES];
    snprintf(out, out_bytes, "half within %s, 90 %% within %s, 99 %% within %s, longest %s",
             latency_time(p50, summary->p50_us), latency_time(p90, summary->p90_us),
             latency_time(p99, summary->p99_us), latency_time(most, summary->most_us));
}

/* Finds the first and the last bucket that is not empty. */
static void latency_find_reach(const struct latency_summary *summary, int *first, int *last) {
    *first = LATENCY_BUCKETS;
    *last = 0;
    for (int i = 0; i < LATENCY_BUCKETS; i++) {
        if (summary->buckets[i] > 0) {
            *first = i < *first ? i : *first;
            *last = i;
        }
    }
}

static void latency_bucket_words(int bucket, char *out, size_t out_bytes) {
    char low[FORMAT_BYTES], high[FORMAT_BYTES];
    if (bucket == LATENCY_BUCKETS - 1) {
        snprintf(out, out_bytes, "over %s", latency_time(low, latency_limits_us[bucket - 1]));
    } else {
        snprintf(out, out_bytes, "%s to %s",
                 bucket > 0 ? latency_time(low, latency_limits_us[bucket - 1]) : "0",
                 latency_time(high, latency_limits_us[bucket]));
    }
}

/* Draws a row a bucket; returns the rows. */
static int latency_draw_buckets(const struct latency_summary *summary, struct cells *cells,
                                struct rect area) {
    int first, last, rows = 0;
    unsigned most = 1;
    latency_find_reach(summary, &first, &last);
    for (int i = 0; i < LATENCY_BUCKETS; i++) {
        most = summary->buckets[i] > most ? summary->buckets[i] : most;
    }
    for (int i = first; i <= last && rows < area.height; i++, rows++) {
        char words[2 * FORMAT_BYTES + 8];
        int y = area.y + rows, room = area.width - BAR_X - 1;
        latency_bucket_words(i, words, sizeof words);
        cells_text_right(cells, y, area.x + LABEL_WIDTH, STYLE_PLAIN, words);
        cells_printf(cells, y, area.x + LABEL_WIDTH, STYLE_STRONG, "%*u", COUNT_WIDTH,
                     summary->buckets[i]);
        int length = (int)lround((double)summary->buckets[i] / most * room);
        length = length == 0 && summary->buckets[i] > 0 ? 1 : length;
        cells_fill(cells, (struct rect){y, area.x + BAR_X, 1, length}, 0x2588, STYLE_GRAPH);
    }
    return rows;
}

/* The reason why no time is shown. */
static const char *latency_why_none(const struct model *model) {
    return model_link(model) == LINK_UP ? "measuring" : "no connection: nothing is measured";
}

/* Draws the probes of this server. */
static int latency_draw_probes(const struct frame *frame, struct cells *cells, struct rect area) {
    char words[160], title[80];
    struct latency_summary summary = {.count = 0};
    if (frame->probes != NULL) {
        summary = latency_of_log(frame->probes);
    }
    int n = snprintf(title, sizeof title, "round trips of one short command, version");
    if (summary.count > 0) {
        snprintf(title + n, sizeof title - (size_t)n, ": the last %u", summary.count);
    }
    cells_rule(cells, area.y, area.x, area.width, title);
    if (frame->is_past || frame->is_replay || summary.count == 0) {
        cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_WARN,
                       frame->is_replay ? "not recorded: a recording has no round trips"
                       : frame->is_past ? "measured only now: . returns to live"
                                        : latency_why_none(frame->model));
        return 2;
    }
    latency_quantiles(&summary, words, sizeof words);
    cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_STRONG, words);
    return 2 + latency_draw_buckets(&summary, cells,
                                    (struct rect){area.y + 2, area.x, area.height - 2, area.width});
}

/* The times of refreshes, which take longer than probes: each is some 50 KB of statistics. */
static unsigned latency_read_refreshes(const struct model *model, float us[REFRESHES_MOST]) {
    int count = model_history(model, METRIC_REPLY_MS, us, REFRESHES_MOST);
    for (int i = 0; i < count; i++) {
        us[i] *= 1000;
    }
    return (unsigned)count;
}

static void latency_draw_refresh(const struct frame *frame, struct cells *cells, struct rect area) {
    static float us[REFRESHES_MOST];
    char words[160], title[80], top[FORMAT_BYTES];
    struct latency_summary summary = latency_of(us, latency_read_refreshes(frame->model, us));
    snprintf(title, sizeof title, "whole refreshes, all statistics in one round trip: the last %u",
             summary.count);
    cells_rule(cells, area.y, area.x, area.width, title);
    if (summary.count == 0) {
        cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_DIM,
                       frame->is_replay ? "not recorded: a recording has no round trips"
                                        : latency_why_none(frame->model));
        return;
    }
    latency_quantiles(&summary, words, sizeof words);
    cells_text_fit(cells, area.y + 1, area.x, area.width, STYLE_STRONG, words);
    if (area.height >= 4) {
        struct rect plot = {area.y + 2, area.x + SCALE_WIDTH, area.height - 2,
                            area.width - SCALE_WIDTH};
        int count = (int)latency_read_refreshes(frame->model, us);
        int newest = count > plot.width ? count - plot.width
                                        : 0; /* the first drawn: spikes before it do not count */
        bool is_cut = cells_cut_spikes(us + newest, count - newest);
        float high = cells_graph(cells, plot, STYLE_GRAPH, us + newest, count - newest, 0);
        cells_text_right(cells, plot.y, plot.x - 1, STYLE_DIM, latency_time(top, (double)high));
        cells_text(cells, plot.y, plot.x - 1, STYLE_DIM, is_cut ? "+" : ""); /* a spike is higher */
        cells_text_right(cells, plot.y + plot.height - 1, plot.x - 1, STYLE_DIM, "0");
    }
}

static void latency_draw(const struct frame *frame, struct ui *ui, struct cells *cells,
                         struct rect area) {
    (void)ui;
    int refreshes = area.height >= 34 ? 10 : area.height >= 18 ? 4 : 2;
    int probes = area.height - refreshes - 1;
    int used = latency_draw_probes(frame, cells, (struct rect){area.y, area.x, probes, area.width});
    latency_draw_refresh(frame, cells, (struct rect){area.y + used, area.x, refreshes, area.width});
    cells_text_fit(cells, area.y + area.height - 1, area.x, area.width, STYLE_DIM,
                   "the clock runs from slatetop's send to the reply: network, server, "
                   "this machine");
}

static struct intent latency_command(const struct frame *frame, struct ui *ui, enum command given) {
    (void)frame, (void)ui, (void)given;
    return (struct intent){0};
}

static const char *const shown[] = {"latency", "reply_ms", NULL};

static void latency_wants(const struct ui *ui, struct wants *out) {
    (void)ui;
    out->probes = true;
}

const struct view latency_view = {.name = "Latency",
                                  .scope = SCOPE_LATENCY,
                                  .open = COMMAND_VIEW_LATENCY,
                                  .draw = latency_draw,
                                  .command = latency_command,
                                  .shown = shown,
                                  .wants = latency_wants};
