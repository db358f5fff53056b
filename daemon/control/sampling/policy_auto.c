#include "control/sampling/policy_auto.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "control/sampling/prediction.h"

/* 2.25 to 3 have the same gain (BENCHMARKS.md). */
#define AUTO_DEVIATIONS 2.5

bool auto_follows(const char *name) {
    return strcmp(name, "s3auto") == 0;
}

static bool auto_may_take(bool follow, const struct evict_policy *policy) {
    return policy->victim != NULL && (!follow || evict_same_structure(policy, &evict_s3fifo));
}

const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now) {
    const struct evict_policy *named = evict_find(name);
    return named != NULL ? named : now != NULL && auto_may_take(true, now) ? now : &evict_s3fifo;
}

static double auto_fewer_misses(const struct shadow_counts *t) { return t->better - t->worse; }
static double auto_fewer_pct(const struct shadow_counts *t) {
    return t->own_misses > 0 ? 100 * auto_fewer_misses(t) / t->own_misses : 0;
}

struct choice {
    const struct evict_policy *policy; /* NULL: no policy misses less than today's */
    struct shadow_counts tally;
    double doubt; /* of its fewer misses */
    bool ahead;   /* it missed less in each of enough windows */
    bool sure;
};

/* Policies of one structure share the error of their miniatures, so the sample alone is in doubt.
 */
static double auto_doubt(const struct shadow *s, bool follow, const struct shadow_counts *t) {
    double own_hit_ratio = 1 - t->own_misses / fmax(t->reads, 1);
    return follow ? AUTO_DEVIATIONS * t->deviation
                  : t->reads * prediction_policy_band(s, t, own_hit_ratio);
}

static struct choice auto_choice_of(const struct shadow *s, bool follow, unsigned policy) {
    struct choice c = {.policy = evict_policies[policy],
                       .tally = follow ? shadow_rising(s, policy) : shadow_policy(s, policy)};
    const struct shadow_counts *t = &c.tally;
    c.doubt = auto_doubt(s, follow, t);
    c.ahead = shadow_ahead(s, policy) >= AUTO_AHEAD_WINDOWS;
    c.sure = c.ahead && t->reads >= AUTO_READS_MIN && auto_fewer_pct(t) >= AUTO_MARGIN_PCT &&
             auto_fewer_misses(t) > c.doubt;
    return c;
}

/* A sure choice is better than an unsure one; of equals, the policy with fewer misses. */
static struct choice auto_best_choice(const struct shadow *s, bool follow) {
    struct choice best = {.policy = NULL};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct choice c = auto_choice_of(s, follow, i);
        bool better = c.sure != best.sure
                          ? c.sure
                          : auto_fewer_misses(&c.tally) > auto_fewer_misses(&best.tally);
        if (better && auto_may_take(follow, c.policy)) {
            best = c;
        }
    }
    return best;
}

const struct evict_policy *auto_choose(const struct shadow *s, bool follow, uint64_t since,
                                       char why[AUTO_WHY_BYTES]) {
    const char *now = shadow_running(s)->name;
    struct choice best = auto_best_choice(s, follow);
    if (best.policy == NULL) {
        snprintf(why, AUTO_WHY_BYTES, "no %s would miss less than %s",
                 follow ? "record of s3fifo's structure" : "policy", now);
        return NULL;
    }
    double own = best.tally.own_misses, doubt_pct = own > 0 ? 100 * best.doubt / own : 0;
    char but[64] = "";
    if (since < AUTO_HOLD_WINDOWS) {
        snprintf(but, sizeof but, ", but the last change is too short ago");
    } else if (!best.sure && auto_fewer_pct(&best.tally) < AUTO_MARGIN_PCT) {
        snprintf(but, sizeof but, ", which is less than the %d %% that a change requires",
                 AUTO_MARGIN_PCT);
    } else if (!best.sure && !best.ahead) {
        snprintf(but, sizeof but, ", but not for a whole turnover yet");
    } else if (!best.sure) {
        snprintf(but, sizeof but, ", which is not sure enough");
    }
    snprintf(why, AUTO_WHY_BYTES, "%s would miss %.1f %% less than %s, give or take %.1f%s",
             best.policy->name, auto_fewer_pct(&best.tally), now, doubt_pct, but);
    return best.sure && since >= AUTO_HOLD_WINDOWS ? best.policy : NULL;
}
