/* Distributions of sizes, written as a letter and numbers, as on mcperf's command line:
 *   100 or d100      always 100
 *   u50,500          uniform, both ends included
 *   o16,21           one or the other, equally often
 *   l300,1.0         log-normal, median and sigma (of the logarithm)
 *   v30.8,8.2,0.08   generalised extreme value, location, scale, shape
 *   etc              value sizes of the ETC pool (see dist.c for the source)
 * A struct dist is a value: copy it freely; drawing does not change it. */
#ifndef LOAD_DIST_H
#define LOAD_DIST_H
#include <stdbool.h>
#include <stdint.h>

#include "random.h"

#define DIST_TEXT_BYTES 48

enum dist_kind {
    DIST_FIXED,
    DIST_UNIFORM,
    DIST_EITHER,
    DIST_LOGNORMAL,
    DIST_GEV,
    DIST_ETC
};

struct dist {
    enum dist_kind kind;
    double a, b, c;             /* parameters, in the order in which they are written */
    char text[DIST_TEXT_BYTES]; /* as written, for reports */
};

/* False when the text is not one of the forms above or a number is out of its range. */
bool dist_parse(const char *text, struct dist *out);

/* One draw, not rounded and not bounded. */
double dist_draw(const struct dist *d, struct rng *r);

/* One draw, rounded to the nearest whole number and brought into low..high. */
uint64_t dist_draw_within(const struct dist *d, struct rng *r, uint64_t low, uint64_t high);
#endif
