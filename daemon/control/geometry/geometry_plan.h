/* How one list of sizes becomes another, one class at a time, without having both lists at once.
 *
 * Each size of the old list stands for a range of items. A step converts one range: its size goes,
 * unless the new list has that size too, and the new sizes that serve the range come. Every list on
 * the way serves items of every size. The ranges that save most come first, so that later steps
 * have the room that early ones saved. No locks, no cache. Cost: O(sizes squared). */
#ifndef SLATE_CONTROL_GEOMETRY_GEOMETRY_PLAN_H
#define SLATE_CONTROL_GEOMETRY_GEOMETRY_PLAN_H
#include <stdbool.h>

#include "mem/fit.h"

struct geometry_plan {
    struct size_list from, to; /* both lists belong to one arena, so their last sizes are equal */
    unsigned order[CLASS_SIZES_MAX]; /* places in `from`, in the order of conversion */
    unsigned done;
};

void geometry_plan_make(struct geometry_plan *, const struct size_list *from,
                        const struct size_list *to, const struct fit_histogram *);
/* Converts ranges until the list differs; false: all are converted, and *now is `to`. */
bool geometry_plan_step(struct geometry_plan *, struct size_list *now);
/* Joins all sizes of both lists. False: there are more than a list holds, and *both is cut off. */
bool geometry_plan_union(const struct size_list *, const struct size_list *,
                         struct size_list *both);
#endif
