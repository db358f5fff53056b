/* Counts of a miniature cache against own (sample/shadow.h): in all, and by class. */
#ifndef SLATE_SAMPLE_MINI_COUNTS_H
#define SLATE_SAMPLE_MINI_COUNTS_H
#include "sample/shadow.h"

/* The keys are divided into so many groups by their hash. The differences between groups tell how
 * far to trust their sum: a key that is asked for often causes many of the reads at which two
 * policies differ, and it is in the sample or is not. */
enum { TALLY_GROUPS = 16 };
struct tally {
    double reads, own_misses, better, worse;
    double lead[TALLY_GROUPS]; /* better less worse */
};
/* Floats, since there is one for each class. */
struct class_tally {
    unsigned class_id;
    float reads, own_misses;
    struct {
        float better, worse;
    } policy[SHADOW_POLICIES_MAX];
};

static inline void tally_count(struct tally *t, uint64_t hash, bool own, bool other) {
    t->reads += 1;
    t->own_misses += !own;
    t->better += other && !own;
    t->worse += own && !other;
    t->lead[sample_slot(hash, TALLY_GROUPS)] += (other && !own) - (own && !other);
}

void tally_scale(struct tally *, double by);
void class_tally_scale(struct class_tally *, double by);
/* Adds new counts to past ones; the past ones are first multiplied by `keep`. */
void tally_add(struct tally *past, const struct tally *now, double keep);
struct shadow_tally tally_told(const struct tally *);
struct shadow_tally class_tally_told(const struct class_tally *, unsigned policy);
#endif
