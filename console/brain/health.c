#include "brain/health.h"

#include "brain/brain_query.h"
#include "brain/format.h"
#include "facts/words.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SLOW_REPLY_MS = 200, LONG_WINDOW_MS = 100000, JUDGED_EVERY_MS = 10000 };

struct report {
    struct health_line *lines;
    int count;
};

__attribute__((format(printf, 3, 4))) static void
health_say(struct report *report, enum tone tone, const char *format, ...) {
    if (report->count == HEALTH_LIMIT) {
        return;
    }
    struct health_line *line = &report->lines[report->count++];
    line->tone = tone;
    line->key = '\0';
    va_list ap;
    va_start(ap, format);
    words_vprintf(line->text, sizeof line->text, format, ap);
    va_end(ap);
}

bool health_is_stale(const struct model *model, uint64_t now_ms, uint64_t interval_ms) {
    uint64_t age_ms = model_age_ms(model, now_ms);
    return age_ms != UINT64_MAX && (model_link(model) != LINK_UP || age_ms > interval_ms * 2 + 500);
}

const char *health_word(enum tone tone) {
    static const char *const words[] = {"ok", "ok", "note", "WARN", "BAD"};
    return words[tone];
}

static void health_report_link(struct report *report, const struct model *model, uint64_t now_ms,
                               uint64_t interval_ms) {
    char age[FORMAT_BYTES];
    bool has_figures = model_now(model) != NULL;
    format_age(age, has_figures ? (double)(model_age_ms(model, now_ms) / 1000) : NAN);
    if (model_link(model) == LINK_DOWN) {
        if (has_figures) {
            health_say(report, TONE_BAD, "figures are %s old: %s", age, model_link_note(model));
        } else {
            health_say(report, TONE_BAD, "%s", model_link_note(model));
        }
    } else if (model_link(model) == LINK_CONNECTING) {
        health_say(report, TONE_WARN, "connecting to %s", model_server(model));
    } else if (!has_figures) {
        health_say(report, TONE_WARN, "waiting for the first reply of %s", model_server(model));
    } else if (health_is_stale(model, now_ms, interval_ms)) {
        health_say(report, TONE_BAD, "the server does not answer: figures are %s old", age);
    }
}

/* Reports the findings, in the words of slatectl doctor. */
static void health_report_findings(struct report *report, const struct model *model) {
    unsigned count;
    const struct sentence *sentences = brain_findings(model, &count);
    for (unsigned i = 0; i < count && report->count < HEALTH_LIMIT; i++) {
        enum tone tone = sentences[i].tone == TONE_PLAIN ? TONE_GOOD : sentences[i].tone;
        health_say(report, tone, "%s", sentences[i].text);
        report->lines[report->count - 1].key = sentences[i].key;
    }
}

/* ---- the general state, without a judgement ---- */

static void health_report_evictions(struct report *report, const struct model *model) {
    char rate[FORMAT_BYTES];
    double evictions = model_mean(model, METRIC_EVICTIONS, HEALTH_WINDOW_MS);
    if (evictions > 0 && brain_in_need(brain_of(model)) < 0) {
        health_say(report, TONE_GOOD, "full: %s evictions/s, %s", format_count(rate, evictions),
                   brain_said(brain_of(model))->knows_starving
                       ? "no class starves"
                       : "which class starves is not reported");
    } else if (evictions == 0) {
        health_say(report, TONE_GOOD, "no evictions");
    }
}

/* A span in seconds, as "10 s" or "0.4 s": never as 0. */
static const char *health_format_span(char out[FORMAT_BYTES], uint64_t ms) {
    snprintf(out, FORMAT_BYTES, ms < 950 ? "%.1f s" : "%.0f s", fmax((double)ms / 1000, 0.1));
    return out;
}

static void health_report_hits(struct report *report, const struct model *model) {
    const uint64_t *general = model_now(model)->general;
    if (general[GENERAL_cmd_get] == STAT_ABSENT || general[GENERAL_get_hits] == STAT_ABSENT) {
        return; /* the last finding reports it */
    }
    char now_text[FORMAT_BYTES], then_text[FORMAT_BYTES];
    double now_ratio = model_mean(model, METRIC_HIT_RATIO, HEALTH_WINDOW_MS);
    double long_ratio = model_mean(model, METRIC_HIT_RATIO, LONG_WINDOW_MS);
    char now_span[FORMAT_BYTES], long_span[FORMAT_BYTES];
    health_format_span(now_span, model_covered_ms(model, HEALTH_WINDOW_MS));
    health_format_span(long_span, model_covered_ms(model, LONG_WINDOW_MS));
    format_percent(now_text, now_ratio);
    if (isnan(now_ratio)) {
        health_say(report, TONE_GOOD, "no gets in the last %s: no hit ratio", now_span);
    } else if (strcmp(long_span, now_span) == 0) {
        health_say(report, TONE_GOOD, "hit ratio %s %% over %s", now_text, now_span);
    } else {
        health_say(report, TONE_GOOD, "hit ratio %s %% over %s, %s %% over %s", now_text, now_span,
                   format_percent(then_text, long_ratio), long_span);
    }
}

static void health_report_others(struct report *report, const struct model *model) {
    const struct snapshot *now = model_now(model);
    double open = stat_number(now->general[GENERAL_curr_connections]);
    double most = stat_number(now->general[GENERAL_max_connections]);
    const char *automove = brain_said(brain_of(model))->automove;
    if (isnan(most)) {
        most = stat_number(now->setting[SETTING_maxconns]);
    }
    if (!isnan(open) && !isnan(most)) {
        health_say(report, TONE_GOOD, "%.0f of %.0f connections", open, most);
    }
    /* While a class starves, a warning already says that automove is off. */
    bool is_reported = brain_in_need(brain_of(model)) >= 0 && strncmp(automove, "0 ", 2) == 0;
    if (automove[0] != '\0' && !is_reported) {
        health_say(report, TONE_GOOD, "automove %s", automove);
    }
    if (now->reply_ms > SLOW_REPLY_MS) {
        health_say(report, TONE_WARN, "the server took %.0f ms to answer", now->reply_ms);
    }
}

/* Sorts lines, worst first; lines of the same tone stay in their order. */
static void health_sort_lines(struct health_line *lines, int count) {
    for (int i = 1; i < count; i++) {
        struct health_line line = lines[i];
        int at = i;
        for (; at > 0 && lines[at - 1].tone < line.tone; at--) {
            lines[at] = lines[at - 1];
        }
        lines[at] = line;
    }
}

static bool health_is_due(const struct model *model, enum inquiry inquiry, uint64_t now_ms) {
    const struct answer *answer = &model_answers(model)->of[inquiry];
    return answer->state == ANSWER_NONE || now_ms - answer->at_ms >= JUDGED_EVERY_MS;
}

/* Adds the curves of the starving class and its donor: the gain of a move is computed from them. */
static void health_want_curves(const struct model *model, uint64_t now_ms, struct wants *wants) {
    int worst = brain_said(brain_of(model))->worst;
    bool is_free = wants->curves_first[0] == 0; /* else a view or a review uses the places */
    if (worst < 0 || !model_now(model)->is_slated || !is_free ||
        !health_is_due(model, INQUIRY_CLASS_CURVES, now_ms)) {
        return;
    }
    struct donor donor = brain_donor(brain_of(model), (unsigned)worst);
    if (donor.class_id >= 0) {
        wants->unhurried |= INQUIRY_BIT(CLASS_CURVES);
        wants->curves_first[0] = (unsigned)donor.class_id;
        wants->curves_first[1] = (unsigned)worst;
    }
}

void health_wants(const struct model *model, uint64_t now_ms, struct wants *wants) {
    static const enum inquiry judged[] = {INQUIRY_MOVES, INQUIRY_MEMORY, INQUIRY_CURVE,
                                          INQUIRY_WHATIF};
    for (size_t i = 0; model_now(model) != NULL && i < sizeof judged / sizeof *judged; i++) {
        if (health_is_due(model, judged[i], now_ms)) {
            wants->unhurried |= 1u << judged[i];
        }
    }
    health_want_curves(model, now_ms, wants);
}

int health_assess(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                  struct health_line out[HEALTH_LIMIT]) {
    struct report report = {out, 0};
    const struct snapshot *now = model_now(model);
    health_report_link(&report, model, now_ms, interval_ms);
    if (now != NULL && model_before(model) == NULL) {
        health_say(&report, TONE_GOOD, "measuring: rates need a second sample");
    } else if (now != NULL) {
        if (report.count == 0) { /* old figures show no fault that one could mend now */
            health_report_findings(&report, model);
        }
        if (snapshot_has_cache(now)) {
            health_report_evictions(&report, model);
            health_report_hits(&report, model);
        }
        health_report_others(&report, model);
    }
    health_sort_lines(out, report.count);
    if (report.count == 0) {
        health_say(&report, TONE_GOOD, "nothing to report");
    }
    return report.count;
}
