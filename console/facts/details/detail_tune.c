#include "facts/details/detail_tune.h"

#include "facts/stat_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- moves --- */

static void detail_take_move_field(struct page_move *move, const char *field, const char *value) {
    const struct stat_slot slots[] = {
        STAT_NUMBER("time", move->time_s),   STAT_NUMBER("pages", move->pages),
        STAT_NUMBER("lost", move->lost),     STAT_TEXT("mode", move->mode),
        STAT_TEXT("outcome", move->outcome), STAT_TEXT("reason", move->reason)};
    STAT_LINE_TAKE(slots, field, value);
    double number = stat_line_number(value);
    unsigned class_id = number >= 0 && number < TUNE_CLASSES ? (unsigned)number : 0;
    if (stat_line_is(field, "from")) {
        move->from = class_id;
    } else if (stat_line_is(field, "to")) {
        move->to = class_id;
    }
}

/* The move of this number: the last one, or a new one after it. A full list drops the oldest. */
static struct page_move *detail_move_numbered(struct move_list *list, unsigned number) {
    if (list->count > 0 && list->moves[list->count - 1].number == number) {
        return &list->moves[list->count - 1];
    }
    if (list->count == MOVES_LIMIT) {
        memmove(&list->moves[0], &list->moves[1], (MOVES_LIMIT - 1) * sizeof *list->moves);
        list->count--;
    }
    struct page_move *move = &list->moves[list->count++];
    *move = (struct page_move){.number = number, .time_s = NAN, .pages = NAN, .lost = NAN};
    return move;
}

void move_list_parse(struct move_list *list, const char *text, size_t text_bytes) {
    struct stat_line line;
    memset(list, 0, sizeof *list);
    const struct stat_slot slots[] = {STAT_TEXT("mode", list->mode), STAT_TEXT("why", list->why),
                                      STAT_TEXT("failed", list->failed)};
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        unsigned number;
        const char *field;
        if (stat_line_numbered(line.name, 1u << 31, &number, &field)) {
            detail_take_move_field(detail_move_numbered(list, number), field, line.value);
        } else {
            STAT_LINE_TAKE(slots, line.name, line.value);
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
            const struct stat_slot slots[] = {
                STAT_NUMBER("gain", worth->gain), STAT_NUMBER("gain_doubt", worth->gain_doubt),
                STAT_NUMBER("loss", worth->loss), STAT_NUMBER("loss_doubt", worth->loss_doubt),
                STAT_NUMBER("average", worth->average)};
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
    *geometry = (struct geometry_state){.waste_before_pct = NAN, .waste_predicted_pct = NAN};
    const struct stat_slot slots[] = {STAT_NUMBER("waste_before", geometry->waste_before_pct),
                                      STAT_NUMBER("waste_predicted", geometry->waste_predicted_pct),
                                      STAT_TEXT("state", geometry->state),
                                      STAT_TEXT("why", geometry->why)};
    struct stat_line line;
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        STAT_LINE_TAKE(slots, line.name, line.value);
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
