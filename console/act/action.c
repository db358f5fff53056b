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
    bool is_class_policy = strcmp(action->name, "class_policy") == 0;
    unsigned class_id = is_class_policy ? class_of_policy(action) : 0;
    if (!setting_check(now, answers, action->name, action->value, why, why_bytes)) {
        return false;
    }
    if (is_class_policy && (class_id == 0 || class_id >= CLASS_LIMIT || !now->classes[class_id].present)) {
        return refuse(why, why_bytes, "this server has no class %u", class_id);
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
        return setting_line(now->is_slated, action->name, action->value, index, line);
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
