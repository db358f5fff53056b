#include "details.h"

#include "stat_line.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct details *details_create(void) {
    struct details *details = calloc(1, sizeof *details);
    if (details != NULL) {
        page_list_init(&details->pages);
    }
    return details;
}

void details_destroy(struct details **details) {
    if (*details != NULL) {
        page_list_fini(&(*details)->pages);
        free(*details);
        *details = NULL;
    }
}

void details_forget(struct details *details) {
    unsigned class_id = details->focus.class_id;
    page_list_fini(&details->pages);
    memset(details, 0, sizeof *details);
    page_list_init(&details->pages);
    details->focus.class_id = class_id;
}

void details_focus(struct details *details, unsigned class_id) {
    if (details->focus.class_id != class_id) {
        details->focus = (struct class_detail){.class_id = class_id};
        details->groups[DETAIL_CLASS].state = DETAIL_UNASKED;
    }
}

static void refuse(struct details *details, enum detail_group group, const char *text,
                   size_t text_bytes) {
    char *out = details->groups[group].refusal;
    size_t room = sizeof details->groups[group].refusal, n = 0;
    for (; n < text_bytes && n + 1 < room && text[n] >= ' '; n++) {
        out[n] = text[n] <= '~' ? text[n] : '?';
    }
    out[n] = '\0';
    details->groups[group].state = DETAIL_REFUSED;
}

static void take_hot_keys(struct details *details, const char *text, size_t text_bytes) {
    if (details->groups[DETAIL_HOTKEYS].state == DETAIL_KNOWN) {
        details->hot_before = details->hot;
        details->hot_before_ms = details->groups[DETAIL_HOTKEYS].at_ms;
    }
    hot_keys_parse(&details->hot, text, text_bytes);
}

void details_take(struct details *details, enum detail_group group, unsigned class_id,
                  const char *text, size_t text_bytes, bool is_stats, uint64_t now_ms) {
    if (!is_stats) {
        refuse(details, group, text, text_bytes);
        return;
    }
    switch (group) {
    case DETAIL_MOVES:
        move_list_parse(&details->moves, text, text_bytes);
        break;
    case DETAIL_AUTOMOVE:
        worth_list_parse(&details->worth, text, text_bytes);
        break;
    case DETAIL_POLICIES:
        policy_list_parse(&details->policies, text, text_bytes);
        break;
    case DETAIL_EVICTIONS:
        eviction_ages_parse(&details->ages, text, text_bytes);
        break;
    case DETAIL_PAGES:
        page_list_parse(&details->pages, text, text_bytes);
        break;
    case DETAIL_SIZEHIST:
    case DETAIL_STOCK_SIZES:
        size_bins_parse(&details->sizes, text, text_bytes);
        break;
    case DETAIL_GEOMETRY:
        geometry_state_parse(&details->geometry, text, text_bytes);
        break;
    case DETAIL_CURVE:
        curve_parse(&details->curve, text, text_bytes);
        break;
    case DETAIL_CLASS_CURVES:
        curve_parse(&details->class_curves[class_id % CLASS_LIMIT], text, text_bytes);
        break;
    case DETAIL_WHATIF:
        whatif_parse(&details->whatif, text, text_bytes);
        break;
    case DETAIL_HOTKEYS:
        take_hot_keys(details, text, text_bytes);
        break;
    case DETAIL_CLASS:
    case DETAIL_COUNT:
        return;
    }
    details->groups[group].state = DETAIL_KNOWN;
    details->groups[group].at_ms = now_ms;
}

/* The stat of this name, a new one behind the others when there is none; NULL when there is no
 * room. */
static struct named_stat *stat_named(struct class_detail *focus, const char *name) {
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

void details_take_class(struct details *details, enum stats_group group, const char *text,
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
        struct named_stat *stat = stat_named(focus, field);
        if (stat != NULL) {
            stat_line_copy(stat->value, sizeof stat->value, line.value);
            stat->before = stat->now;
            stat->now = stat_line_number(line.value);
        }
    }
    if (group == GROUP_SLABS) { /* it is asked for after stats items */
        focus->before_ms = focus->at_ms;
        focus->at_ms = now_ms;
        details->groups[DETAIL_CLASS].state = DETAIL_KNOWN;
        details->groups[DETAIL_CLASS].at_ms = now_ms;
    }
}

bool detail_is_offered(enum detail_group group, const struct snapshot *now, const char **why_not) {
    *why_not = "";
    if (now == NULL) {
        *why_not = "nothing is known about the server yet";
        return false;
    }
    if (group == DETAIL_CLASS) {
        return true;
    }
    if (group == DETAIL_STOCK_SIZES) {
        *why_not = now->is_slated ? "slated has stats sizehist instead"
                                  : "the server does not track sizes: start it with -o track_sizes";
        return !now->is_slated && now->setting[SETTING_track_sizes] == 1;
    }
    *why_not = now->is_slated ? "" : "needs slated: memcached does not tell";
    return now->is_slated;
}

bool detail_is_known(const struct details *details, enum detail_group group) {
    return details != NULL && details->groups[group].state == DETAIL_KNOWN;
}
