/* What a page more or less is worth to each class, in hits a second: as an automove that weighs pages
 * has measured it, else the slopes of the classes' curves at their size of now, weighed by how often
 * each is asked. Estimates from sampled keys. Pure functions. */
#ifndef CONSOLE_BRAIN_WORTH_H
#define CONSOLE_BRAIN_WORTH_H
#include "facts/model.h"

struct class_worth {
    unsigned class_id;
    double pages, hit_ratio, read_share; /* by its curve; its share of all sampled reads */
    double gain, loss; /* hits a second by a page more, and lost by a page less; NAN: unknown */
};

/* The classes of which something is known, those first that would gain most; returns how many. */
unsigned worth_of_classes(const struct model *model, struct class_worth out[CLASS_LIMIT]);
#endif
