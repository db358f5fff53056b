#include "control/sampling/policy_auto.h"

#include <stdio.h>
#include <string.h>

/* A dozen policies are compared window after window, each since it was last behind. By chance one
 * of them is two deviations ahead every few windows. On 48 traces and sizes auto left the best
 * policy for a worse one on twelve with three deviations (up to 6.8 % more misses), on three with
 * three and a half (up to 2.5 %), and on none with four, which reacts later. */
#define AUTO_DEVIATIONS 3.5
/* For s3auto, which has three candidates. 2.25 to 3 have the same gain (BENCHMARKS.md). */
#define AUTO_RECORDS_DEVIATIONS 2.5

enum auto_scope auto_scope(const char *name) {
    return strcmp(name, "auto") == 0     ? AUTO_ALL
           : strcmp(name, "s3auto") == 0 ? AUTO_RECORDS
                                         : AUTO_NONE;
}

static bool auto_may_take(enum auto_scope scope, const struct evict_policy *policy) {
    return policy->victim != NULL &&
           (scope != AUTO_RECORDS || evict_same_structure(policy, &evict_s3fifo));
}

const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now) {
    const struct evict_policy *named = evict_find(name);
    bool can_go_on = now != NULL && auto_may_take(auto_scope(name), now);
    return named != NULL ? named : can_go_on ? now : &evict_s3fifo;
}

static double auto_fewer_misses(const struct shadow_counts *t) { return t->better - t->worse; }
static double auto_fewer_pct(const struct shadow_counts *t) {
    return t->own_misses > 0 ? 100 * auto_fewer_misses(t) / t->own_misses : 0;
}

struct choice {
    const struct evict_policy *policy; /* NULL: no policy misses less than today's */
    struct shadow_counts tally;
    double margin_pct; /* by how much less it must miss */
    double deviations; /* and by how many deviations */
    bool   ahead;      /* it missed less in each of enough windows */
    bool   sure;
};

static struct choice auto_choice_of(const struct shadow *s, enum auto_scope scope,
                                    unsigned policy) {
    struct choice c = {.policy = evict_policies[policy], .tally = shadow_rising(s, policy)};
    const struct shadow_counts *t = &c.tally;
    bool is_alike = evict_same_structure(c.policy, shadow_running(s));
    c.margin_pct = is_alike ? AUTO_ALIKE_PCT : AUTO_MARGIN_PCT;
    c.deviations = scope == AUTO_RECORDS ? AUTO_RECORDS_DEVIATIONS : AUTO_DEVIATIONS;
    c.ahead = !is_alike || shadow_ahead(s, policy) >= AUTO_AHEAD_WINDOWS;
    c.sure = c.ahead && t->reads >= AUTO_READS_MIN && auto_fewer_pct(t) >= c.margin_pct &&
             auto_fewer_misses(t) > c.deviations * t->deviation;
    return c;
}

/* A sure choice is better than an unsure one; of equals, the policy with fewer misses. */
static struct choice auto_best_choice(const struct shadow *s, enum auto_scope scope) {
    struct choice best = {.policy = NULL};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct choice c = auto_choice_of(s, scope, i);
        bool better = c.sure != best.sure
                          ? c.sure
                          : auto_fewer_misses(&c.tally) > auto_fewer_misses(&best.tally);
        if (better && auto_may_take(scope, c.policy)) {
            best = c;
        }
    }
    return best;
}

const struct evict_policy *auto_choose(const struct shadow *s, enum auto_scope scope,
                                       uint64_t since, char why[AUTO_WHY_BYTES]) {
    const char *now = shadow_running(s)->name;
    struct choice best = auto_best_choice(s, scope);
    if (best.policy == NULL) {
        snprintf(why, AUTO_WHY_BYTES, "no %s would miss less than %s",
                 scope == AUTO_RECORDS ? "record of s3fifo's structure" : "policy", now);
        return NULL;
    }
    double own = best.tally.own_misses,
           doubt_pct = own > 0 ? 100 * best.deviations * best.tally.deviation / own : 0;
    char but[64] = "";
    if (since < AUTO_HOLD_WINDOWS) {
        snprintf(but, sizeof but, ", but the last change is too short ago");
    } else if (!best.sure && auto_fewer_pct(&best.tally) < best.margin_pct) {
        snprintf(but, sizeof but, ", which is less than the %g %% that a change requires",
                 best.margin_pct);
    } else if (!best.sure && !best.ahead) {
        snprintf(but, sizeof but, ", but not for a whole turnover yet");
    } else if (!best.sure) {
        snprintf(but, sizeof but, ", which is not sure enough");
    }
    snprintf(why, AUTO_WHY_BYTES, "%s would miss %.1f %% less than %s, give or take %.1f%s",
             best.policy->name, auto_fewer_pct(&best.tally), now, doubt_pct, but);
    return best.sure && since >= AUTO_HOLD_WINDOWS ? best.policy : NULL;
}
