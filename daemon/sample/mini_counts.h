/* Counts of a miniature cache against own (sample/shadow.h): in all, and by class. */
#ifndef SLATE_SAMPLE_MINI_COUNTS_H
#define SLATE_SAMPLE_MINI_COUNTS_H
#include "sample/shadow.h"

/* The keys are divided into so many groups by their hash. The differences between groups tell how
 * far to trust their sum: a key that is asked for often causes many of the reads at which two
 * policies differ, and it is in the sample or is not. */
enum { MINI_COUNTS_GROUPS = 16 };
struct mini_counts {
    double reads, own_misses, better, worse;
    double lead[MINI_COUNTS_GROUPS]; /* better less worse */
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
/* Adds new counts to past ones; the past ones are first multiplied by `keep`. */
void mini_counts_add(struct mini_counts *past, const struct mini_counts *now, double factor);
struct shadow_counts mini_counts_result(const struct mini_counts *);
struct shadow_counts mini_class_counts_result(const struct mini_class_counts *, unsigned policy);
#endif
