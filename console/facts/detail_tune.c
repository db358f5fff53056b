#include "facts/detail_tune.h"

#include "facts/stat_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- moves --- */

static void take_move_field(struct page_move *move, const char *field, const char *value) {
    const struct stat_slot slots[] = {{"time", &move->time_s},       {"pages", &move->pages},
                                 {"rescued", &move->rescued},   {"lost", &move->lost},
                                 {"duration_us", &move->duration_us}};
    STAT_LINE_TAKE(slots, field, value);
    double number = stat_line_number(value);
    unsigned class_id = number >= 0 && number < TUNE_CLASSES ? (unsigned)number : 0;
    if (stat_line_is(field, "from")) {
        move->from = class_id;
    } else if (stat_line_is(field, "to")) {
        move->to = class_id;
    } else if (stat_line_is(field, "mode")) {
        stat_line_copy(move->mode, sizeof move->mode, value);
    } else if (stat_line_is(field, "outcome")) {
        stat_line_copy(move->outcome, sizeof move->outcome, value);
    } else if (stat_line_is(field, "reason")) {
        stat_line_copy(move->reason, sizeof move->reason, value);
    }
}

/* The move of this number: the last one, or a new one behind it; of too many the oldest goes. */
static struct page_move *move_numbered(struct move_list *list, unsigned number) {
    if (list->count > 0 && list->moves[list->count - 1].number == number) {
        return &list->moves[list->count - 1];
    }
    if (list->count == MOVES_LIMIT) {
        memmove(&list->moves[0], &list->moves[1], (MOVES_LIMIT - 1) * sizeof *list->moves);
        list->count--;
    }
    struct page_move *move = &list->moves[list->count++];
    *move = (struct page_move){.number = number,
                               .time_s = NAN,
                               .pages = NAN,
                               .rescued = NAN,
                               .lost = NAN,
                               .duration_us = NAN};
    return move;
}

void move_list_parse(struct move_list *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(list, 0, sizeof *list);
    list->pages_moved = list->given_up = list->rescues = list->evicted = NAN;
    const struct stat_slot slots[] = {{"pages_moved", &list->pages_moved},
                                 {"given_up", &list->given_up},
                                 {"rescues", &list->rescues},
                                 {"evicted", &list->evicted}};
    const struct {
        const char *name;
        char *to;
        size_t bytes;
    } words[] = {{"mode", list->mode, sizeof list->mode},
                 {"why", list->why, sizeof list->why},
                 {"failed", list->failed, sizeof list->failed},
                 {"state", list->state, sizeof list->state},
                 {"last_busy", list->last_busy, sizeof list->last_busy}};
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned number;
        const char *field;
        if (stat_line_numbered(line.name, 1u << 31, &number, &field)) {
            take_move_field(move_numbered(list, number), field, line.value);
            continue;
        }
        STAT_LINE_TAKE(slots, line.name, line.value);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (stat_line_is(line.name, words[i].name)) {
                stat_line_copy(words[i].to, words[i].bytes, line.value);
            }
        }
    }
}

bool move_list_has_failed(const struct move_list *list) {
    return list->failed[0] != '\0' && !stat_line_is(list->failed, "none");
}

/* --- worth of pages --- */

void worth_list_parse(struct worth_list *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(list, 0, sizeof *list);
    for (unsigned id = 0; id < TUNE_CLASSES; id++) {
        list->classes[id] = (struct page_worth){NAN, NAN, NAN, NAN, NAN};
    }
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned id;
        const char *field;
        if (stat_line_numbered(line.name, TUNE_CLASSES, &id, &field)) {
            struct page_worth *worth = &list->classes[id];
            const struct stat_slot slots[] = {{"gain", &worth->gain},
                                         {"gain_doubt", &worth->gain_doubt},
                                         {"loss", &worth->loss},
                                         {"loss_doubt", &worth->loss_doubt},
                                         {"average", &worth->average}};
            STAT_LINE_TAKE(slots, field, line.value);
        } else if (stat_line_is(line.name, "mode")) {
            stat_line_copy(list->mode, sizeof list->mode, line.value);
        } else if (stat_line_is(line.name, "weighed")) {
            list->is_weighed = stat_line_is(line.value, "1");
        }
    }
}

/* --- policies --- */

void policy_list_parse(struct policy_list *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(list, 0, sizeof *list);
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned id;
        const char *field, *colon = strchr(line.name, ':');
        if (colon == NULL) {
            continue;
        }
        if (strncmp(line.name, "class:", 6) == 0) {
            if (stat_line_numbered(line.name + 6, TUNE_CLASSES, &id, &field) &&
                stat_line_is(field, "policy")) {
                stat_line_copy(list->of_class[id], sizeof list->of_class[id], line.value);
            }
        } else if (stat_line_is(colon, ":active") && stat_line_is(line.value, "yes")) {
            line.name[colon - line.name] = '\0';
            stat_line_copy(list->active, sizeof list->active, line.name);
        }
    }
}

/* --- geometry --- */

void geometry_state_parse(struct geometry_state *geometry, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(geometry, 0, sizeof *geometry);
    struct geometry_state *g = geometry;
    g->classes = g->classes_wanted = g->waste_before_pct = g->waste_predicted_pct = NAN;
    g->pages_old = g->pages_new = g->seconds = NAN;
    for (unsigned id = 0; id < TUNE_CLASSES; id++) {
        g->of_class[id] = (struct geometry_class){NAN, NAN, false};
    }
    const struct stat_slot slots[] = {
        {"classes", &g->classes},           {"classes_wanted", &g->classes_wanted},
        {"waste_before", &g->waste_before_pct}, {"waste_predicted", &g->waste_predicted_pct},
        {"pages_old", &g->pages_old},       {"pages_new", &g->pages_new},
        {"seconds", &g->seconds}};
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned id;
        const char *field;
        if (stat_line_numbered(line.name, TUNE_CLASSES, &id, &field)) {
            struct geometry_class *c = &g->of_class[id];
            const struct stat_slot of_class[] = {{"chunk_size", &c->chunk_bytes},
                                            {"total_pages", &c->pages}};
            STAT_LINE_TAKE(of_class, field, line.value);
            c->is_retired = c->is_retired || (stat_line_is(field, "class_state") &&
                                              stat_line_is(line.value, "retired"));
        } else if (stat_line_is(line.name, "state")) {
            stat_line_copy(g->state, sizeof g->state, line.value);
        } else if (stat_line_is(line.name, "why")) {
            stat_line_copy(g->why, sizeof g->why, line.value);
        } else {
            STAT_LINE_TAKE(slots, line.name, line.value);
        }
    }
}

/* --- ages of evicted items --- */

void eviction_ages_parse(struct eviction_ages *ages, const char *text, size_t text_bytes) {
    struct stat_line line;
    unsigned at_class = TUNE_CLASSES, step = 0;
    memset(ages, 0, sizeof *ages);
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned id;
        const char *field;
        double value = stat_line_number(line.value);
        if (!stat_line_numbered(line.name, TUNE_CLASSES, &id, &field) ||
            (strncmp(field, "under_", 6) != 0 && !stat_line_is(field, "older"))) {
            continue;
        }
        step = id == at_class ? step + 1 : 0;
        at_class = id;
        if (step < AGE_STEPS && value >= 0) {
            stat_line_copy(ages->names[step], sizeof ages->names[step], field);
            ages->of_class[id][step] = value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
            ages->known[id] = true;
        }
    }
}
