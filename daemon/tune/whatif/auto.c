#include "tune/whatif/auto.h"

#include <stdio.h>

/* Of ten policies, looked at window after window and each since it was last behind, one is two
 * deviations ahead by chance every few windows. Of 48 traces and sizes auto came to leave the best
 * policy for a worse one on twelve with three deviations, by up to 6.8 % more misses; on three with
 * three and a half, by up to 2.5 %; on none with four, which follow later. */
#define AUTO_DEVIATIONS 3.5

const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now) {
    const struct evict_policy *named = evict_find(name);
    bool can_go_on = now != NULL && now->victim != NULL;
    return named != NULL ? named : can_go_on ? now : &evict_s3fifo;
}

static double fewer_misses(const struct shadow_tally *t) { return t->better - t->worse; }

/* The policy with the fewest misses of those that can be chosen; NULL: none misses less than
 * today's. */
static const struct evict_policy *best_policy(const struct shadow *s, struct shadow_tally *best) {
    const struct evict_policy *policy = NULL;
    *best = (struct shadow_tally){0};
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct shadow_tally t = shadow_rising(s, i);
        if (evict_policies[i]->victim != NULL && fewer_misses(&t) > fewer_misses(best)) {
            policy = evict_policies[i];
            *best = t;
        }
    }
    return policy;
}

const struct evict_policy *auto_choose(const struct shadow *s, uint64_t since,
                                       char why[AUTO_WHY_BYTES]) {
    struct shadow_tally t;
    const char *now = shadow_running(s)->name;
    const struct evict_policy *best = best_policy(s, &t);
    if (best == NULL) {
        snprintf(why, AUTO_WHY_BYTES, "no policy would miss less than %s", now);
        return NULL;
    }
    double fewer = fewer_misses(&t), doubt = AUTO_DEVIATIONS * t.deviation;
    double share_pct = t.own_misses > 0 ? 100 * fewer / t.own_misses : 0,
           doubt_pct = t.own_misses > 0 ? 100 * doubt / t.own_misses : 0;
    bool sure = t.reads >= AUTO_READS_MIN && share_pct >= AUTO_MARGIN_PCT && fewer > doubt;
    const char *but = since < AUTO_HOLD_WINDOWS ? ", but the last change is too short ago"
                      : sure                    ? ""
                                                : ", which is not sure enough";
    snprintf(why, AUTO_WHY_BYTES, "%s would miss %.1f %% less than %s, give or take %.1f%s",
             best->name, share_pct, now, doubt_pct, but);
    return sure && since >= AUTO_HOLD_WINDOWS ? best : NULL;
}
