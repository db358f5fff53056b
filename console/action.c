#include "action.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const char *const automove_names[AUTOMOVE_MODES] = {"off", "by age, gently",
                                                           "at every eviction"};

__attribute__((format(printf, 3, 4))) static bool refuse(char *why, size_t why_bytes,
                                                         const char *format, ...) {
    va_list ap;
    va_start(ap, format);
    vsnprintf(why, why_bytes, format, ap);
    va_end(ap);
    return false;
}

static uint64_t pages_of(const struct snapshot *now, unsigned class_id) {
    uint64_t pages =
        class_id < CLASS_LIMIT ? now->classes[class_id].value[CLASS_total_pages] : STAT_ABSENT;
    return pages == STAT_ABSENT ? 0 : pages;
}

/* Class ids are checked against the classes the server lists, on every server: some versions crash
 * on a class id that they have not used yet. */
static bool check_move(const struct action *action, const struct snapshot *now, char *why,
                       size_t why_bytes) {
    uint64_t have = pages_of(now, action->from);
    if (now->setting[SETTING_slab_reassign] == 0) {
        return refuse(why, why_bytes,
                      "this server runs with slab_reassign off: start it with -o slab_reassign");
    }
    if (action->from == POOL_CLASS) {
        return refuse(why, why_bytes, "choose a class to take pages from");
    }
    if (have == 0) {
        return refuse(why, why_bytes, "class %u has no pages", action->from);
    }
    if (action->from == action->to) {
        return refuse(why, why_bytes, "source and destination are the same class");
    }
    if (action->to == POOL_CLASS && now->general[GENERAL_slab_global_page_pool] == STAT_ABSENT) {
        return refuse(why, why_bytes, "this server has no global page pool: choose a class");
    }
    if (action->to != POOL_CLASS && pages_of(now, action->to) == 0) {
        return refuse(why, why_bytes,
                      "class %u has no pages yet, and some servers crash on such a move",
                      action->to);
    }
    if (have < 2) {
        return refuse(why, why_bytes, "class %u has one page, and a class keeps its last one",
                      action->from);
    }
    if (action->pages < 1 || action->pages > have - 1) {
        return refuse(why, why_bytes, "class %u can give 1 to %lu pages", action->from,
                      (unsigned long)(have - 1));
    }
    return true;
}

bool action_check(const struct action *action, const struct snapshot *now, char *why,
                  size_t why_bytes) {
    if (now == NULL) {
        return refuse(why, why_bytes, "nothing is known about the server yet");
    }
    switch (action->kind) {
    case ACTION_MOVE_PAGES:
        return check_move(action, now, why, why_bytes);
    case ACTION_AUTOMOVE:
        if (now->setting[SETTING_slab_automove] == STAT_ABSENT && now->automove[0] == '\0') {
            return refuse(why, why_bytes, "this server does not report an automove setting");
        }
        if (now->setting[SETTING_slab_reassign] == 0) {
            return refuse(
                why, why_bytes,
                "this server runs with slab_reassign off: start it with -o slab_reassign");
        }
        if (action->automove >= AUTOMOVE_MODES) {
            return refuse(why, why_bytes, "automove modes are 0, 1 and 2");
        }
        if (action->automove == now->setting[SETTING_slab_automove]) {
            return refuse(why, why_bytes, "automove is %u already: choose another mode",
                          action->automove);
        }
        return true;
    }
    return false;
}

unsigned action_command(const struct action *action, const struct snapshot *now, char *line,
                        size_t line_bytes) {
    if (action->kind == ACTION_AUTOMOVE) {
        snprintf(line, line_bytes, "slabs automove %u", action->automove);
        return 1;
    }
    if (now->is_slated && action->pages > 1) {
        snprintf(line, line_bytes, "slabs reassign %u %u %u", action->from, action->to,
                 action->pages);
        return 1;
    }
    snprintf(line, line_bytes, "slabs reassign %u %u", action->from, action->to);
    return action->pages;
}

static const char *class_name(char out[24], unsigned class_id) {
    if (class_id == POOL_CLASS) {
        return "the pool";
    }
    snprintf(out, 24, "class %u", class_id);
    return out;
}

void action_title(const struct action *action, char *out, size_t out_bytes) {
    char from[24], to[24];
    if (action->kind == ACTION_AUTOMOVE) {
        snprintf(out, out_bytes, "set automove to %u (%s)", action->automove,
                 automove_mode_name(action->automove));
        return;
    }
    snprintf(out, out_bytes, "move %u page%s from %s to %s", action->pages,
             action->pages == 1 ? "" : "s", class_name(from, action->from),
             class_name(to, action->to));
}

int action_suggest_source(const struct model *model, unsigned to, double *pages_free) {
    const struct snapshot *now = model_now(model);
    int best = -1;
    double best_free = 0, best_age = -1;
    double taker_evicts = model_class_metric(model, to, CLASS_METRIC_EVICTIONS);
    *pages_free = 0;
    for (unsigned id = 1; now != NULL && id < CLASS_LIMIT; id++) {
        const struct class_stats *stats = &now->classes[id];
        double evicts = model_class_metric(model, id, CLASS_METRIC_EVICTIONS);
        bool evicts_more = evicts > 0 && !(evicts < taker_evicts);
        bool has_grown = model_page_change(model, id, GROWTH_WINDOW_MS) > 0;
        if (id == to || pages_of(now, id) < 2 || evicts_more || has_grown) {
            continue;
        }
        double free_pages = class_free_pages(stats);
        double whole =
            isnan(free_pages) ? 0 : fmin(floor(free_pages), (double)pages_of(now, id) - 1);
        uint64_t tail = class_tail_age(stats);
        double age = tail == STAT_ABSENT ? 0 : (double)tail;
        if (best < 0 || whole > best_free || (whole == best_free && age > best_age)) {
            best = (int)id;
            best_free = whole;
            best_age = age;
        }
    }
    *pages_free = best_free;
    return best;
}

const char *automove_mode_name(unsigned mode) {
    return mode < AUTOMOVE_MODES ? automove_names[mode] : "a mode of its own";
}
