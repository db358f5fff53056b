#include "facts/details/details.h"

#include "facts/stat_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct details *details_create(void) {
    return calloc(1, sizeof(struct details));
}

void details_destroy(struct details **details) {
    if (*details != NULL) {
        page_list_fini(&(*details)->pages);
        inquiry_fini(&(*details)->answers);
        free(*details);
        *details = NULL;
    }
}

void details_forget(struct details *details) {
    unsigned class_id = details->focus.class_id;
    page_list_fini(&details->pages);
    inquiry_fini(&details->answers);
    memset(details, 0, sizeof *details);
    details->focus.class_id = class_id;
}

void details_focus(struct details *details, unsigned class_id) {
    if (details->focus.class_id != class_id) {
        details->focus = (struct class_detail){.class_id = class_id};
        details->answers.of[INQUIRY_CLASS].state = ANSWER_NONE;
    }
}

void details_forget_class(struct details *details, unsigned class_id) {
    details->class_curves[class_id] = (struct curve){0};
    if (details->focus.class_id == class_id) {
        details_focus(details, 0);
        details_focus(details, class_id);
    }
}

static void details_parse_text(struct details *details, enum inquiry inquiry, unsigned class_id,
                               const char *text, size_t text_bytes) {
    switch (inquiry) {
    case INQUIRY_MOVES:
        move_list_parse(&details->moves, text, text_bytes);
        break;
    case INQUIRY_AUTOMOVE:
        worth_list_parse(&details->worth, text, text_bytes);
        break;
    case INQUIRY_POLICIES:
        policy_list_parse(&details->policies, text, text_bytes);
        break;
    case INQUIRY_EVICTIONS:
        eviction_ages_parse(&details->ages, text, text_bytes);
        break;
    case INQUIRY_PAGES:
        page_list_parse(&details->pages, text, text_bytes);
        break;
    case INQUIRY_SIZEHIST:
    case INQUIRY_STOCK_SIZES:
        size_bins_parse(&details->sizes, text, text_bytes);
        break;
    case INQUIRY_GEOMETRY:
        geometry_state_parse(&details->geometry, text, text_bytes);
        break;
    case INQUIRY_CURVE:
        curve_parse(&details->curve, text, text_bytes);
        break;
    case INQUIRY_CLASS_CURVES:
        curve_parse(&details->class_curves[class_id % CLASS_LIMIT], text, text_bytes);
        break;
    case INQUIRY_WHATIF:
        whatif_parse(&details->whatif, text, text_bytes);
        break;
    case INQUIRY_HOTKEYS:
        hot_keys_parse(&details->hot, text, text_bytes);
        break;
    case INQUIRY_CLASS: /* parsed by details_take_group */
    case INQUIRY_SETTINGS:
    case INQUIRY_MEMORY: /* stored as text, for the judgement */
    case INQUIRY_CONFIG:
    case INQUIRY_PREDICTIONS: /* a line, taken by prediction_take */
    case INQUIRY_COUNT:
        break;
    }
}

void details_take(struct details *details, enum inquiry inquiry, unsigned class_id,
                  const char *text, size_t text_bytes, bool is_stats, uint64_t now_ms) {
    if (is_stats) {
        details_parse_text(details, inquiry, class_id, text, text_bytes);
    }
    inquiry_take(&details->answers, inquiry, text, text_bytes, is_stats, now_ms);
}

/* The stat of this name, appended when it is new; NULL when there is no room. */
static struct named_stat *detail_stat_named(struct class_detail *focus, const char *name) {
    for (unsigned i = 0; i < focus->count; i++) {
        if (strcmp(focus->stats[i].name, name) == 0) {
            return &focus->stats[i];
        }
    }
    if (focus->count == NAMED_STATS) {
        return NULL;
    }
    struct named_stat *stat = &focus->stats[focus->count++];
    *stat = (struct named_stat){.now = NAN, .before = NAN};
    stat_line_copy(stat->name, sizeof stat->name, name);
    return stat;
}

static void details_take_class(struct details *details, enum stats_group group, const char *text,
                               size_t text_bytes, uint64_t now_ms) {
    struct class_detail *focus = &details->focus;
    struct stat_line line;
    if (focus->class_id == 0 || (group != GROUP_ITEMS && group != GROUP_SLABS)) {
        return;
    }
    for (const char *at = text; stat_line_next(&at, text + text_bytes, &line);) {
        const char *name = line.name, *field;
        unsigned id;
        if (group == GROUP_ITEMS) {
            if (strncmp(name, "items:", 6) != 0) {
                continue;
            }
            name += 6;
        }
        if (!stat_line_numbered(name, CLASS_LIMIT, &id, &field) || id != focus->class_id) {
            continue;
        }
        struct named_stat *stat = detail_stat_named(focus, field);
        if (stat != NULL) {
            stat_line_copy(stat->value, sizeof stat->value, line.value);
            stat->before = stat->now;
            stat->now = stat_line_number(line.value);
        }
    }
    if (group == GROUP_SLABS) { /* stats slabs comes after stats items */
        focus->before_ms = focus->at_ms;
        focus->at_ms = now_ms;
        details->answers.of[INQUIRY_CLASS].state = ANSWER_KNOWN;
        details->answers.of[INQUIRY_CLASS].at_ms = now_ms;
    }
}

void details_take_group(struct details *details, enum stats_group group, const char *text,
                        size_t text_bytes, bool is_stats, uint64_t now_ms) {
    if (group == GROUP_SETTINGS) {
        details_take(details, INQUIRY_SETTINGS, 0, text, text_bytes, is_stats, now_ms);
    } else if (is_stats) {
        details_take_class(details, group, text, text_bytes, now_ms);
    }
}

bool detail_is_known(const struct details *details, enum inquiry inquiry) {
    return details != NULL && details->answers.of[inquiry].state == ANSWER_KNOWN;
}
