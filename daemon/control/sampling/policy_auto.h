/* The policy `s3auto`: s3fifo that changes to another policy of its structure, and back, by the
 * miniature caches (sample/shadow.h). A pure function of the miniatures' counts.
 *
 * Another policy is chosen under three conditions. Since it was last no better than today's policy,
 * it missed less by AUTO_MARGIN_PCT of the misses of today's policy, and by two and a half standard
 * deviations between samples of the keys. In each of the last AUTO_AHEAD_WINDOWS windows, a
 * turnover of the cache, it missed less: in a loop of keys, each of two equal policies is ahead
 * while the keys pass that it happens to hold. And AUTO_HOLD_WINDOWS windows, half a turnover, have
 * ended since the last change. A change costs nothing, because the queues and ghosts stay as they
 * are.
 *
 * Where s3auto does not follow, the reason speaks of all policies, by the same figures as `stats
 * whatif`: the doubt has the error of the miniature of today's policy in it (prediction.h). */
#ifndef SLATE_CONTROL_SAMPLING_POLICY_AUTO_H
#define SLATE_CONTROL_SAMPLING_POLICY_AUTO_H
#include "sample/shadow.h"

enum {
    AUTO_MARGIN_PCT = 1,
    AUTO_HOLD_WINDOWS = 2,
    AUTO_AHEAD_WINDOWS = 4,
    AUTO_READS_MIN = 64,
    AUTO_WHY_BYTES = 160
};

/* Whether the policy setting `name` follows the miniatures. */
bool auto_follows(const char *name);

/* The policy that a cache uses when the setting is `name`. Any name but `s3auto` is the policy's
 * own. Under s3auto a cache stays with today's policy if that is of s3fifo's structure; another, or
 * a new one (`now` is NULL), begins with s3fifo. */
const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now);

/* NULL: today's policy stays. `why` gets the reason, a clause, in either case. `follow`: only the
 * policies of s3fifo's structure are compared, else all that evict. `since`: windows since the last
 * change. */
const struct evict_policy *auto_choose(const struct shadow *, bool follow, uint64_t since,
                                       char why[AUTO_WHY_BYTES]);
#endif
