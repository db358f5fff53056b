/* Adds up the counts of miniatures, and computes their errors. */
#include "sample/mini_counts.h"

#include <math.h>

void mini_counts_scale(struct mini_counts *t, double by) {
    t->reads *= by;
    t->own_misses *= by;
    t->better *= by;
    t->worse *= by;
    t->older_lead *= by;
    t->older_reads *= by;
    for (unsigned g = 0; g < MINI_COUNTS_GROUPS; g++) {
        t->lead[g] *= by;
    }
}

void mini_class_counts_scale(struct mini_class_counts *k, double by) {
    k->reads *= (float)by;
    k->own_misses *= (float)by;
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX; i++) {
        k->policy[i].better *= (float)by;
        k->policy[i].worse *= (float)by;
    }
}

void mini_counts_add(struct mini_counts *past, const struct mini_counts *now, double factor) {
    mini_counts_scale(past, factor);
    past->reads += now->reads;
    past->own_misses += now->own_misses;
    past->better += now->better;
    past->worse += now->worse;
    past->older_lead += past->better - past->worse;
    past->older_reads += past->reads;
    for (unsigned g = 0; g < MINI_COUNTS_GROUPS; g++) {
        past->lead[g] += now->lead[g];
    }
}

/* Where today's miniature has less than half of the cache's misses, the other misses have causes
 * that no policy changes, such as pages in the wrong classes: then a difference counts for no more
 * than twice the sampled one. */
#define SCALE_MOST 2.0

double shadow_scale(const struct shadow_counts *t, double real_hit_ratio) {
    if (t->reads <= 0) {
        return 0;
    }
    double times = t->own_misses > 0 ? (1 - real_hit_ratio) * t->reads / t->own_misses : 1;
    return (times < SCALE_MOST ? times : SCALE_MOST) / t->reads;
}

double shadow_hit_ratio(const struct shadow_counts *t, double real_hit_ratio) {
    if (t->reads <= 0 || !(t->worse > t->better || t->worse < t->better)) {
        /* returned unchanged: the formula below could round it */
        return real_hit_ratio;
    }
    double hit_ratio = real_hit_ratio + (t->better - t->worse) * shadow_scale(t, real_hit_ratio);
    return fmin(fmax(hit_ratio, 0), 1);
}

double shadow_error(const struct shadow_counts *t, double real_hit_ratio) {
    /* if none of the reads differed, the next one may */
    return fmax(t->deviation, 1) * shadow_scale(t, real_hit_ratio);
}

double shadow_lag(const struct shadow_counts *t, double real_hit_ratio) {
    return fabs(t->trend) * shadow_scale(t, real_hit_ratio);
}

/* The variance of better - worse, estimated from the differences between groups of keys; at least
 * the variance of independent reads. */
static double mini_counts_variance(const struct mini_counts *t) {
    double mean = (t->better - t->worse) / MINI_COUNTS_GROUPS, sum = 0;
    for (unsigned g = 0; g < MINI_COUNTS_GROUPS; g++) {
        sum += (t->lead[g] - mean) * (t->lead[g] - mean);
    }
    sum *= (double)MINI_COUNTS_GROUPS / (MINI_COUNTS_GROUPS - 1);
    return sum > t->better + t->worse ? sum : t->better + t->worse;
}

struct shadow_counts mini_counts_result(const struct mini_counts *t) {
    double before = t->older_reads > 0 ? t->older_lead / t->older_reads * t->reads : 0;
    return (struct shadow_counts){t->reads,
                                  t->own_misses,
                                  t->better,
                                  t->worse,
                                  sqrt(mini_counts_variance(t)),
                                  t->better - t->worse - before};
}

struct shadow_counts mini_class_counts_result(const struct mini_class_counts *k, unsigned policy) {
    struct shadow_counts t = {.reads = (double)k->reads,
                              .own_misses = (double)k->own_misses,
                              .better = (double)k->policy[policy].better,
                              .worse = (double)k->policy[policy].worse};
    t.deviation = sqrt(t.better + t.worse); /* a class's counts are not kept by groups */
    return t;
}
