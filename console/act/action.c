#include "act/action.h"

#include "facts/automove.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    if (!snapshot_has_slabs(now)) {
        return refuse(why, why_bytes, "pages that move need --store=slab; this server has %s", now->store);
    }
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

struct action action_move(unsigned from, unsigned to, unsigned pages) {
    return (struct action){.kind = ACTION_MOVE_PAGES, .from = from, .to = to, .pages = pages};
}

struct action action_set(const char *name, const char *value) {
    struct action action = {.kind = ACTION_SET};
    snprintf(action.name, sizeof action.name, "%s", name);
    snprintf(action.value, sizeof action.value, "%s", value);
    return action;
}

struct plan plan_of(struct action action) {
    struct plan plan = {.count = 1};
    plan.steps[0] = action;
    return plan;
}

static unsigned class_of_policy(const struct action *action) {
    const char *blank = strrchr(action->value, ' ');
    return blank != NULL ? (unsigned)strtoul(blank, NULL, 10) : 0;
}

static bool check_set(const struct action *action, const struct snapshot *now,
                      const struct answers *answers, char *why, size_t why_bytes) {
    struct tunable row = {.form = FORM_TEXT};
    snprintf(row.name, sizeof row.name, "%s", action->name);
    bool is_lru_tune = strcmp(action->name, "lru_tune") == 0;
    bool is_class_policy = strcmp(action->name, "class_policy") == 0;
    unsigned class_id = is_class_policy ? class_of_policy(action) : 0;
    if (!settings_find(now, answers, is_lru_tune ? "hot_lru_pct" : action->name, class_id, &row)) {
        return refuse(why, why_bytes, "there is no setting %s", action->name);
    }
    if (is_lru_tune && row.refusal[0] == '\0') {
        snprintf(row.name, sizeof row.name, "%s", action->name);
    }
    if (!setting_check(&row, action->value, why, why_bytes)) {
        return false;
    }
    if (is_class_policy && (class_id == 0 || class_id >= CLASS_LIMIT || !now->classes[class_id].present)) {
        return refuse(why, why_bytes, "this server has no class %u", class_id);
    }
    const char *shown = answer_text(answers, INQUIRY_SETTINGS);
    bool has_answer = strcmp(setting_probe(now->is_slated, action->name), "stats settings") == 0;
    if (has_answer && setting_shows(action->name, action->value, "", shown)) {
        return refuse(why, why_bytes, "%s is %s already: choose another value", setting_label(action->name),
                      action->value);
    }
    return true;
}

bool action_check(const struct action *action, const struct snapshot *now,
                  const struct answers *answers, char *why, size_t why_bytes) {
    if (now == NULL) {
        return refuse(why, why_bytes, "nothing is known about the server yet");
    }
    switch (action->kind) {
    case ACTION_MOVE_PAGES:
        return check_move(action, now, why, why_bytes);
    case ACTION_SET:
        return check_set(action, now, answers, why, why_bytes);
    }
    return false;
}

bool action_line(const struct action *action, const struct snapshot *now, unsigned index,
                 char line[SETTING_LINE_BYTES], unsigned *times) {
    *times = 1;
    if (action->kind == ACTION_SET) {
        return setting_line(action->name, action->value, index, line);
    }
    if (now->is_slated && action->pages > 1) {
        snprintf(line, SETTING_LINE_BYTES, "slabs reassign %u %u %u", action->from, action->to,
                 action->pages);
    } else {
        snprintf(line, SETTING_LINE_BYTES, "slabs reassign %u %u", action->from, action->to);
        *times = action->pages;
    }
    return index == 0;
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
    if (action->kind == ACTION_MOVE_PAGES) {
        snprintf(out, out_bytes, "move %u page%s from %s to %s", action->pages,
                 action->pages == 1 ? "" : "s", class_name(from, action->from),
                 class_name(to, action->to));
        return;
    }
    unsigned mode = strcmp(action->name, "slab_automove") == 0 ? automove_mode_of(action->value)
                                                               : AUTOMOVE_MODES;
    if (mode < AUTOMOVE_MODES) {
        snprintf(out, out_bytes, "set %s to %s (%s)", setting_label(action->name), action->value,
                 automove_mode_name(mode));
    } else if (strcmp(action->name, "class_policy") == 0) {
        snprintf(out, out_bytes, "set the policy of class %u to %.*s", class_of_policy(action),
                 (int)strcspn(action->value, " "), action->value);
    } else {
        snprintf(out, out_bytes, "set %s to %s", setting_label(action->name), action->value);
    }
}

void plan_title(const struct plan *plan, char *out, size_t out_bytes) {
    if (plan->count == 1) {
        action_title(&plan->steps[0], out, out_bytes);
    } else {
        snprintf(out, out_bytes, "%u changes", plan->count);
    }
}

void action_undo_note(const struct action *action, char *out, size_t out_bytes) {
    const char *note = "u sets the old value again";
    if (action->kind == ACTION_MOVE_PAGES) {
        note = "u moves the pages back, but not the items that were lost";
    } else if (strcmp(action->name, "slab_automove") == 0) {
        note = "u sets the old mode again; pages it has moved stay where they are";
    } else if (strcmp(action->name, "maxbytes") == 0) {
        note = "u sets the old limit again; items evicted for a lower one are gone";
    } else if (strcmp(action->name, "geometry") == 0) {
        note = "u reverts to the sizes before; items evicted on the way are gone";
    } else if (strcmp(action->name, "policy") == 0 || strcmp(action->name, "class_policy") == 0) {
        note = "u sets the old policy again; what was evicted meanwhile is gone";
    }
    snprintf(out, out_bytes, "%s", note);
}

static void warn_of_move(const struct action *action, const struct model *model, char *out,
                         size_t out_bytes) {
    double evicts = model_class_metric(model, action->from, CLASS_METRIC_EVICTIONS);
    double taker = action->to == POOL_CLASS ? 0 : model_class_metric(model, action->to, CLASS_METRIC_EVICTIONS);
    const struct class_stats *from = &model_now(model)->classes[action->from];
    const struct class_stats *to = &model_now(model)->classes[action->to];
    double free_pages = class_free_pages(from), from_age = stat_number(class_tail_age(from));
    double to_age = action->to == POOL_CLASS ? NAN : stat_number(class_tail_age(to));
    bool costs_items = !(floor(free_pages) >= action->pages);
    if (action->pages + 1 >= pages_of(model_now(model), action->from) && costs_items) {
        snprintf(out, out_bytes, "class %u is left with one page: it will evict nearly all it has", action->from);
    } else if (evicts > 0 && !(evicts < taker)) {
        snprintf(out, out_bytes, "class %u starves itself: it evicts %.0f/s, %s", action->from, evicts,
                 action->to == POOL_CLASS ? "and the pool needs nothing" : "no less than the class that gets the pages");
    } else if (costs_items && from_age < to_age) {
        snprintf(out, out_bytes, "class %u would starve: its oldest items (%.0f s) are younger than those of class %u (%.0f s)",
                 action->from, from_age, action->to, to_age);
    } else if (evicts > 0 && costs_items) {
        snprintf(out, out_bytes, "class %u evicts too, %.0f/s: it will evict more", action->from, evicts);
    }
}

void action_warning(const struct action *action, const struct model *model, char *out, size_t out_bytes) {
    const struct snapshot *now = model_now(model);
    out[0] = '\0';
    if (now == NULL) {
        return;
    }
    if (action->kind == ACTION_MOVE_PAGES) {
        if (action->from < CLASS_LIMIT && action->to < CLASS_LIMIT) {
            warn_of_move(action, model, out, out_bytes);
        }
    } else if (strcmp(action->name, "slab_automove") == 0 && automove_mode_of(action->value) == 2) {
        snprintf(out, out_bytes, "mode 2 moves a page at every eviction: for minutes, so make it a trial");
    } else if (strcmp(action->name, "slab_automove") == 0 && automove_mode_of(action->value) == 0) {
        snprintf(out, out_bytes, "with automove off, only you move pages");
    } else if (strcmp(action->name, "maxbytes") == 0) {
        double was = stat_number(now->general[GENERAL_limit_maxbytes]);
        if (strtod(action->value, NULL) * 1048576 < was) {
            snprintf(out, out_bytes, "a lower limit evicts%s", now->is_slated ? " until it is met" : ", and gives no memory back at once");
        } else if (fmod(was, 1048576) != 0) {
            snprintf(out, out_bytes, "the limit is no whole number of MiB: undo sets it rounded down");
        }
    } else if (strcmp(action->name, "policy") == 0 && strcmp(action->value, "none") == 0) {
        snprintf(out, out_bytes, "without eviction a full cache refuses stores");
    }
}
