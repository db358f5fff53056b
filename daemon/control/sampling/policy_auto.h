/* The policies `auto` and `s3auto`: they choose the policy that does best in the miniature caches
 * (sample/shadow.h), `auto` of all, `s3auto` of those of s3fifo's structure. A pure function of the
 * miniatures' counts.
 *
 * Another policy is chosen if, since it was last no better than today's, it missed less by
 * AUTO_MARGIN_PCT of what today's missed, and by three and a half standard deviations between
 * samples of the keys; and if AUTO_HOLD_WINDOWS windows, half a turnover of the cache, have ended
 * since the last change. If both policies are of one structure (evict_same_structure),
 * AUTO_ALIKE_PCT are enough: that change costs nothing, for the queues and ghosts stay as they are.
 * But it must have missed less in each of the last AUTO_AHEAD_WINDOWS windows, a turnover: in a
 * loop each of two equal policies is ahead while the keys pass that it happens to keep. s3auto has
 * two candidates, where auto has a dozen, so that chance has fewer tries: two and a half deviations
 * are enough for it. `none` is never chosen. */
#ifndef SLATE_CONTROL_SAMPLING_POLICY_AUTO_H
#define SLATE_CONTROL_SAMPLING_POLICY_AUTO_H
#include "sample/shadow.h"

enum {
    AUTO_MARGIN_PCT = 2,
    AUTO_ALIKE_PCT = 1,
    AUTO_HOLD_WINDOWS = 2,
    AUTO_AHEAD_WINDOWS = 4,
    AUTO_READS_MIN = 64,
    AUTO_WHY_BYTES = 160
};

/* Which policies a cache may change to by itself. */
enum auto_scope { AUTO_NONE, AUTO_RECORDS, AUTO_ALL };
/* The scope of the policy setting `name`. */
enum auto_scope auto_scope(const char *name);

/* The policy that a cache uses when the setting is `name`. Any name but `auto` and `s3auto` is the
 * policy's own. Under these the cache begins with s3fifo (`now` is NULL), or goes on with today's
 * policy, if it is one of those that may be chosen. It does not go on with a policy that evicts
 * nothing: a store that such a cache refuses is no miss, so the counts would never speak for a
 * change. */
const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now);

/* NULL: today's policy stays. `why` is a clause in either case. AUTO_NONE thinks as AUTO_ALL does.
 * `since`: windows since the last change. */
const struct evict_policy *auto_choose(const struct shadow *, enum auto_scope, uint64_t since,
                                       char why[AUTO_WHY_BYTES]);
#endif
