/* ratio (mode 1): equal ages, as in memcached (slab_automove.c of 1.6).
 *
 * A decision comes once a second, ten times as often at first and after (a). (a) Once all pages
 * have been in use: each class whose free chunks make more than 2.5 pages, and which neither
 * evicted nor got a page within the window, gives the pages beyond 2.5 to the pool, at once. Else,
 * when memory is used up, (b): the class with the oldest tail and more than two pages gives one.
 * The class with the youngest tail among those that evict (in more than half of the window's
 * samples, or more than a quarter of all evictions) gets this page, if it evicted in the latest
 * sample and its age is below `ratio` of the oldest tail's. Ages are means over the window. Both
 * (a) and (b) wait until the window has filled once. Cost: classes times the window. */
#ifndef SLATE_CONTROL_AUTOMOVE_RATIO_H
#define SLATE_CONTROL_AUTOMOVE_RATIO_H
#include "control/automove/automove.h"

struct automove_sample {
    uint32_t age_s;
    uint32_t evicted;
    bool     dirty; /* the class evicted, ran out of memory or got a page */
};
struct automove_ratio {
    double   ratio;    /* 0.01..1 */
    unsigned window;   /* samples, AUTOMOVE_WINDOW_MIN..MAX */
    unsigned seen;     /* samples so far, up to window */
    unsigned at;       /* of the latest */
    unsigned quick;    /* so many of the next decisions follow soon */
    bool     goes_on;  /* the latest sample is open: its decision had no room for all moves */
    bool     full;     /* all pages have been in use once */
    struct automove_sample *samples; /* window of them a class */
};
/* false: out of memory */
bool automove_ratio_init(struct automove_ratio *, double ratio, unsigned window);
void automove_ratio_fini(void *automove_ratio);
/* Starts the window again with another length. False: out of memory; the old window stays. */
bool automove_ratio_resize(struct automove_ratio *, unsigned window);
bool automove_ratio_decide(void *automove_ratio, const struct snapshot *before,
                           const struct snapshot *after, struct decision *);
#endif
