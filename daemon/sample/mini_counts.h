/* Counts of a miniature cache against own (sample/shadow.h): in all, and by class. */
#ifndef SLATE_SAMPLE_MINI_COUNTS_H
#define SLATE_SAMPLE_MINI_COUNTS_H
#include "sample/stream.h"

enum { SHADOW_POLICIES_MAX = 15 };

/* Counts of one miniature against own, over reads that both saw; older reads count less. */
struct shadow_counts {
    double reads, own_misses, better, worse;
    /* standard deviation of better less worse, as other samples of the keys would give it */
    double deviation;
    /* better less worse, less what the mean of earlier times would have it */
    double trend;
};
/* How much of the hit ratio a sampled read stands for, given today's real one. */
double shadow_scale(const struct shadow_counts *, double real_hit_ratio);
/* The hit ratio to expect, from today's real one. */
double shadow_hit_ratio(const struct shadow_counts *, double real_hit_ratio);
/* The standard error of shadow_hit_ratio, as far as it comes from the sample of the keys. */
double shadow_error(const struct shadow_counts *, double real_hit_ratio);
/* How far shadow_hit_ratio lags behind a difference that grows or shrinks evenly. */
double shadow_lag(const struct shadow_counts *, double real_hit_ratio);

/* The keys are divided into so many groups by their hash. The error of the sum follows from the
 * differences between groups: a hot key causes many of the reads at which two policies differ, and
 * is either in the sample or not. */
enum { MINI_COUNTS_GROUPS = 16 };
struct mini_counts {
    double reads, own_misses, better, worse;
    double lead[MINI_COUNTS_GROUPS]; /* better less worse */
    /* Sums of better less worse, and of reads, as of the end of each window: the mean of the means,
     * which is older (R. G. Brown, Smoothing, Forecasting and Prediction, 1963). */
    double older_lead, older_reads;
};
/* Floats, since there is one for each class. */
struct mini_class_counts {
    unsigned class_id;
    float reads, own_misses;
    struct {
        float better, worse;
    } policy[SHADOW_POLICIES_MAX];
};

static inline void mini_counts_note(struct mini_counts *t, uint64_t hash, bool own, bool other) {
    t->reads += 1;
    t->own_misses += !own;
    t->better += other && !own;
    t->worse += own && !other;
    t->lead[sample_slot(hash, MINI_COUNTS_GROUPS)] += (other && !own) - (own && !other);
}

void mini_counts_scale(struct mini_counts *, double by);
void mini_class_counts_scale(struct mini_class_counts *, double by);
/* Adds new counts to past ones; the past ones are first multiplied by `factor`. */
void mini_counts_add(struct mini_counts *past, const struct mini_counts *now, double factor);
struct shadow_counts mini_counts_result(const struct mini_counts *);
struct shadow_counts mini_class_counts_result(const struct mini_class_counts *, unsigned policy);
#endif
