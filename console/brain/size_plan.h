/* Lists of chunk sizes, and how much of the memory of items of known sizes they waste.
 *
 * Pure functions. Sizes are bytes, ascending; the last one is the largest chunk there is. */
#ifndef CONSOLE_BRAIN_SIZE_PLAN_H
#define CONSOLE_BRAIN_SIZE_PLAN_H
#include "facts/model.h"

enum { PLAN_SIZES = 256, SIZE_GAIN_LEAST_PCT = 2 /* under it slated refuses a change */ };

struct size_plan {
    unsigned count;
    double bytes[PLAN_SIZES];
    bool is_guess; /* some sizes are reckoned from the settings: the server lists classes in use only */
};

/* The sizes of now: as slated lists them, else from the settings, with those in use as they are. */
void size_plan_now(const struct model *model, struct size_plan *plan);

/* As memcached makes them: from first_bytes on, each `factor` times the one before, to most_bytes. */
void size_plan_by_factor(double first_bytes, double factor, double most_bytes,
                         struct size_plan *plan);

/* The first size and the largest as the server has them; NAN when it does not say. */
double size_plan_first(const struct snapshot *now);
double size_plan_most(const struct snapshot *now);

/* Share of their pages' bytes that the items do not fill, ends of pages included; NAN without items. Within a bin, sizes are
 * taken as evenly spread. Items larger than every chunk are left out. */
double size_plan_waste(const struct size_plan *plan, const struct size_bins *sizes);

/* Items of these sizes that so many whole pages hold, where each class that has any takes one page at
 * least: what one more class costs. NAN without items or pages. */
double size_plan_items(const struct size_plan *plan, const struct size_bins *sizes, double pages);

/* Items made up from each class's mean, for servers that do not tell sizes: a rough picture. */
void size_bins_by_class(const struct snapshot *now, struct size_bins *sizes);
#endif
