#include "control/geometry/geometry_plan.h"

#include <math.h>
#include <string.h>

static uint32_t plan_size_before(const struct size_list *l, unsigned place) {
    return place > 0 ? l->bytes[place - 1] : 0;
}

/* Ranges without items come first: nothing has to be emptied for them. */
static double plan_saving(const struct geometry_plan *p, unsigned place,
                          const struct fit_histogram *h) {
    uint32_t above = plan_size_before(&p->from, place), most = p->from.bytes[place];
    double takes = fit_memory(h, &p->from, above, most);
    return takes > 0 ? takes - fit_memory(h, &p->to, above, most) : INFINITY;
}

void geometry_plan_make(struct geometry_plan *p, const struct size_list *from,
                        const struct size_list *to, const struct fit_histogram *h) {
    double saving[CLASS_SIZES_MAX];
    *p = (struct geometry_plan){.from = *from, .to = *to};
    for (unsigned i = 0; i < from->count; i++) {
        double of_this = plan_saving(p, i, h);
        unsigned at = i;
        for (; at > 0 && saving[at - 1] < of_this; at--) {
            saving[at] = saving[at - 1];
            p->order[at] = p->order[at - 1];
        }
        saving[at] = of_this;
        p->order[at] = i;
    }
}

bool geometry_plan_union(const struct size_list *a, const struct size_list *b,
                         struct size_list *both) {
    unsigned i = 0, j = 0;
    both->count = 0;
    while (i < a->count || j < b->count) {
        uint32_t next = j == b->count || (i < a->count && a->bytes[i] <= b->bytes[j]) ? a->bytes[i]
                                                                                      : b->bytes[j];
        i += i < a->count && a->bytes[i] == next;
        j += j < b->count && b->bytes[j] == next;
        if (both->count == CLASS_SIZES_MAX) {
            return false;
        }
        both->bytes[both->count++] = next;
    }
    return true;
}

/* The new sizes that serve a range: those within the range, and the first at or above its end. */
static void plan_take_range(const struct geometry_plan *p, unsigned place, bool *taken) {
    uint32_t above = plan_size_before(&p->from, place), most = p->from.bytes[place];
    for (unsigned i = 0; i < p->to.count; i++) {
        taken[i] |= p->to.bytes[i] > above && p->to.bytes[i] <= most;
        taken[i] |= p->to.bytes[i] >= most && plan_size_before(&p->to, i) < most;
    }
}

/* Writes the list as it is when `done` ranges are converted. */
static void plan_sizes_now(const struct geometry_plan *p, struct size_list *now) {
    bool taken[CLASS_SIZES_MAX] = {false}, converted[CLASS_SIZES_MAX] = {false};
    struct size_list old = {.count = 0}, new = {.count = 0};
    for (unsigned i = 0; i < p->done; i++) {
        converted[p->order[i]] = true;
        plan_take_range(p, p->order[i], taken);
    }
    for (unsigned i = 0; i < p->from.count; i++) {
        if (!converted[i]) {
            old.bytes[old.count++] = p->from.bytes[i];
        }
    }
    for (unsigned i = 0; i < p->to.count; i++) {
        if (taken[i]) {
            new.bytes[new.count++] = p->to.bytes[i];
        }
    }
    geometry_plan_union(&old, &new, now);
}

bool geometry_plan_step(struct geometry_plan *p, struct size_list *now) {
    struct size_list before;
    plan_sizes_now(p, &before);
    while (p->done < p->from.count) {
        p->done++;
        plan_sizes_now(p, now);
        if (!size_list_same(&before, now)) {
            return true;
        }
    }
    *now = p->to;
    return false;
}
