#include "brain/health.h"

#include "brain/brain.h"
#include "facts/automove.h"
#include "facts/format.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    FULL_CONNECTIONS_PCT = 90,
    UNREAD_PCT = 20,
    HIT_DROP_PCT = 5,
    SLOW_REPLY_MS = 200,
    LONG_WINDOW_MS = 100000,
    UNEVEN_RATIO = 2 /* of tail ages: worth a word where utility is why */
};

struct report {
    struct health_line *lines;
    int count;
};

__attribute__((format(printf, 3, 4))) static void
say(struct report *report, enum severity severity, const char *format, ...) {
    if (report->count == HEALTH_LIMIT) {
        return;
    }
    struct health_line *line = &report->lines[report->count++];
    line->severity = severity;
    line->key = '\0';
    va_list ap;
    va_start(ap, format);
    vsnprintf(line->text, sizeof line->text, format, ap);
    va_end(ap);
}

/* The key that does something about the last line. */
static void help_by(struct report *report, char key) {
    if (report->count > 0) {
        report->lines[report->count - 1].key = key;
    }
}

static double evictions_of(const struct model *model, unsigned id) {
    return model_class_mean(model, id, CLASS_METRIC_EVICTIONS, HEALTH_WINDOW_MS);
}

/* slated's utility gives pages to where they bring most hits: under it the ages of classes are not
 * meant to be alike, and moving a page by age would take hits away. */
static bool goes_by_hits(const struct snapshot *now) {
    return now->is_slated && strcmp(now->automove, "utility") == 0;
}

double health_tail_spread(const struct model *model) {
    const struct snapshot *now = model_now(model);
    double oldest = NAN, youngest = NAN;
    int evicting = 0;
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        double age = stat_number(class_tail_age(&now->classes[id]));
        if (evictions_of(model, id) > 0 && !isnan(age)) {
            oldest = fmax(oldest, age);
            youngest = fmin(youngest, age);
            evicting++;
        }
    }
    return evicting >= 2 ? fmax(oldest, 1) / fmax(youngest, 1) : NAN; /* ages are whole seconds */
}

bool health_is_stale(const struct model *model, uint64_t now_ms, uint64_t interval_ms) {
    uint64_t age_ms = model_age_ms(model, now_ms);
    return age_ms != UINT64_MAX && (model_link(model) != LINK_UP || age_ms > interval_ms * 2 + 500);
}

const char *severity_word(enum severity severity) {
    static const char *const words[] = {"BAD", "watch", "ok"};
    return words[severity];
}

static void report_link(struct report *report, const struct model *model, uint64_t now_ms,
                        uint64_t interval_ms) {
    char age[FORMAT_BYTES];
    bool has_figures = model_now(model) != NULL;
    format_age(age, has_figures ? (double)(model_age_ms(model, now_ms) / 1000) : NAN);
    if (model_link(model) == LINK_DOWN) {
        if (has_figures) {
            say(report, SEVERITY_BAD, "figures are %s old: %.150s", age, model_link_note(model));
        } else {
            say(report, SEVERITY_BAD, "%s", model_link_note(model));
        }
    } else if (model_link(model) == LINK_CONNECTING) {
        say(report, SEVERITY_WATCH, "connecting to %s", model_server(model));
    } else if (!has_figures) {
        say(report, SEVERITY_WATCH, "waiting for the first reply of %s", model_server(model));
    } else if (health_is_stale(model, now_ms, interval_ms)) {
        say(report, SEVERITY_BAD, "the server does not answer: figures are %s old", age);
    }
}

static void report_starving(struct report *report, const struct brain *brain, unsigned worst) {
    char life[FORMAT_BYTES], keeps[FORMAT_BYTES];
    struct giver giver = brain_giver(brain, worst);
    format_age(life, brain_class(brain, worst)->life_s);
    if (giver.free_pages >= 1) {
        say(report, SEVERITY_BAD, "class %u starves: items live %s; class %d has %.0f free pages", worst, life,
            giver.class_id, giver.free_pages);
    } else {
        say(report, SEVERITY_BAD, "class %u starves: items live %s; class %d keeps its own %s", worst, life,
            giver.class_id, format_age(keeps, giver.keeps_s));
    }
    help_by(report, 'm');
}

static void report_evictions(struct report *report, const struct model *model,
                             const struct snapshot *now) {
    char rate[FORMAT_BYTES], spread[FORMAT_BYTES];
    double evictions = model_mean(model, METRIC_EVICTIONS, HEALTH_WINDOW_MS);
    int worst = brain_worst_class(brain_of(model));
    if (worst >= 0) {
        report_starving(report, brain_of(model), (unsigned)worst);
    } else if (evictions > 0) {
        double tail_spread = health_tail_spread(model);
        format_count(rate, evictions);
        format_count(spread, tail_spread);
        if (isnan(tail_spread)) {
            say(report, SEVERITY_OK, "full: %s evictions/s, no class starves", rate);
        } else if (tail_spread >= UNEVEN_RATIO && goes_by_hits(now)) {
            say(report, SEVERITY_OK,
                "full: %s EV/s; tail ages differ x%s: utility goes by hits, not age", rate, spread);
        } else {
            say(report, SEVERITY_OK,
                "full: %s evictions/s, no class starves (tail ages differ x%s)", rate, spread);
        }
    } else if (evictions == 0) {
        say(report, SEVERITY_OK, "no evictions");
    }
    double unread = model_mean(model, METRIC_EVICTED_UNREAD, HEALTH_WINDOW_MS);
    /* No alarm: policies that let new items go first evict unread ones by design, and starving has its own line. */
    if (worst < 0 && evictions > 0 && unread * 100 > evictions * UNREAD_PCT) {
        say(report, SEVERITY_OK, "%.0f %% of evicted items were never read", fmin(unread / evictions, 1) * 100);
    }
}

static void report_losses(struct report *report, const struct model *model) {
    char text[FORMAT_BYTES];
    double refused = model_mean(model, METRIC_NO_MEMORY, HEALTH_WINDOW_MS);
    if (refused > 0) {
        say(report, SEVERITY_BAD,
            "out of memory: %s sets/s refused; give pages to the class with OOM/s",
            format_count(text, refused));
    }
    double lost = model_mean(model, METRIC_LOST_BY_MOVES, HEALTH_WINDOW_MS);
    if (lost > 0) {
        say(report, SEVERITY_WATCH,
            "page moves drop %s live items/s, which no eviction counter shows",
            format_count(text, lost));
    }
}

/* Why memory is held beyond the limit, or what gives it back; returns the key that helps. */
static char against_held(const struct held *held, const struct snapshot *now, char what[NOTE_BYTES]) {
    if (held->is_by_classes) {
        snprintf(what, NOTE_BYTES, "each of %u classes keeps a page", held->classes);
        return now->is_slated ? '5' : '\0';
    }
    bool is_stuck = now->setting[SETTING_slab_reassign] == 0;
    snprintf(what, NOTE_BYTES, "%s", is_stuck           ? "none goes back without slab_reassign"
                                     : now->is_slated ? "pages go back by themselves"
                                                      : "the pool gives pages back");
    return is_stuck || now->is_slated ? '\0' : 'm';
}

bool health_holds_too_much(const struct model *model, char words[NOTE_BYTES]) {
    const struct snapshot *now = model_now(model);
    const struct held *held = brain_held(brain_of(model));
    char bytes[FORMAT_BYTES], limit[FORMAT_BYTES], what[NOTE_BYTES];
    if (held->is_much) {
        against_held(held, now, what);
        snprintf(words, NOTE_BYTES, "%s held, the limit is %s; %.120s", format_bytes(bytes, held->bytes),
                 format_bytes(limit, held->limit_bytes), what);
    }
    return held->is_much;
}

static void report_held(struct report *report, const struct model *model, const struct snapshot *now) {
    const struct held *held = brain_held(brain_of(model));
    char words[NOTE_BYTES], what[NOTE_BYTES];
    if (health_holds_too_much(model, words)) {
        say(report, held->is_falling ? SEVERITY_WATCH : SEVERITY_BAD, "%s", words);
        help_by(report, against_held(held, now, what));
    }
}

static void report_hits(struct report *report, const struct model *model) {
    char now_text[FORMAT_BYTES], then_text[FORMAT_BYTES];
    double now_ratio = model_mean(model, METRIC_HIT_RATIO, HEALTH_WINDOW_MS);
    double long_ratio = model_mean(model, METRIC_HIT_RATIO, LONG_WINDOW_MS);
    if (isnan(now_ratio)) {
        say(report, SEVERITY_OK, "no gets in the last 10 s: no hit ratio");
    } else if ((long_ratio - now_ratio) * 100 > HIT_DROP_PCT) {
        say(report, SEVERITY_WATCH, "hit ratio fell to %s %%, from %s %% over 100 s",
            format_percent(now_text, now_ratio), format_percent(then_text, long_ratio));
    } else {
        say(report, SEVERITY_OK, "hit ratio %s %% over 10 s, %s %% over 100 s",
            format_percent(now_text, now_ratio), format_percent(then_text, long_ratio));
    }
}

static void report_connections(struct report *report, const struct model *model,
                               const struct snapshot *now) {
    double open = stat_number(now->general[GENERAL_curr_connections]);
    double most = stat_number(now->general[GENERAL_max_connections]);
    if (isnan(most)) {
        most = stat_number(now->setting[SETTING_maxconns]);
    }
    char rate[FORMAT_BYTES];
    double refused = model_mean(model, METRIC_REFUSED, HEALTH_WINDOW_MS);
    if (refused > 0 || now->general[GENERAL_accepting_conns] == 0) {
        say(report, SEVERITY_BAD,
            "connections are refused or kept waiting (%s/s): %.0f of %.0f are open",
            format_count(rate, refused), open, most);
    } else if (open * 100 >= most * FULL_CONNECTIONS_PCT) {
        say(report, SEVERITY_WATCH,
            "%.0f of %.0f connections are open: new ones will soon be refused", open, most);
    } else if (!isnan(open) && !isnan(most)) {
        say(report, SEVERITY_OK, "%.0f of %.0f connections", open, most);
    }
}

static void report_automove(struct report *report, const struct model *model,
                            const struct snapshot *now) {
    uint64_t mode = now->setting[SETTING_slab_automove];
    const struct details *details = model_details(model);
    if (detail_is_known(details, INQUIRY_MOVES) && move_list_has_failed(&details->moves)) {
        say(report, SEVERITY_BAD, "an automove mode failed and is off: %.120s", details->moves.failed);
        help_by(report, 'x');
    }
    if (now->setting[SETTING_slab_reassign] == 0) {
        say(report, SEVERITY_WATCH,
            "slab_reassign is off: pages stay where they are until a restart");
    } else if (mode == 0 && brain_worst_class(brain_of(model)) >= 0) {
        say(report, SEVERITY_WATCH, "automove is off, nobody moves pages but you");
        help_by(report, 't');
    } else if (mode < AUTOMOVE_MODES) {
        say(report, SEVERITY_OK, "automove %s (%s)", automove_mode_word((unsigned)mode),
            automove_mode_name((unsigned)mode));
    } else if (now->automove[0] != '\0') {
        say(report, SEVERITY_OK, "automove %s", now->automove);
    }
    if (now->reply_ms > SLOW_REPLY_MS) {
        say(report, SEVERITY_WATCH, "the server took %.0f ms to answer", now->reply_ms);
    }
}

/* Worst first; among equals the order of reporting stays. */
static void sort_lines(struct health_line *lines, int count) {
    for (int i = 1; i < count; i++) {
        struct health_line line = lines[i];
        int at = i;
        for (; at > 0 && lines[at - 1].severity > line.severity; at--) {
            lines[at] = lines[at - 1];
        }
        lines[at] = line;
    }
}

int health_assess(const struct model *model, uint64_t now_ms, uint64_t interval_ms,
                  struct health_line out[HEALTH_LIMIT]) {
    struct report report = {out, 0};
    const struct snapshot *now = model_now(model);
    report_link(&report, model, now_ms, interval_ms);
    if (now != NULL && isnan(model_metric(model, METRIC_OPS)) &&
        isnan(model_mean(model, METRIC_OPS, HEALTH_WINDOW_MS))) {
        say(&report, SEVERITY_OK, "measuring: rates need a second sample");
    } else if (now != NULL) {
        report_evictions(&report, model, now);
        report_losses(&report, model);
        report_held(&report, model, now);
        report_hits(&report, model);
        report_connections(&report, model, now);
        report_automove(&report, model, now);
    }
    if (brain_failure(brain_of(model)) != NULL) {
        say(&report, SEVERITY_WATCH, "nothing is judged any more: %.150s", brain_failure(brain_of(model)));
    }
    sort_lines(out, report.count);
    if (report.count == 0) {
        say(&report, SEVERITY_OK, "nothing to report");
    }
    return report.count;
}
