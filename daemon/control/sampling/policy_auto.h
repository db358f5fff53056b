/* The policies `auto` and `s3auto` choose the policy that does best in the miniature caches
 * (sample/shadow.h): `auto` of all policies, `s3auto` of those of s3fifo's structure. A pure
 * function of the miniatures' counts.
 *
 * Another policy is chosen under two conditions. Since it was last no better than today's policy,
 * it missed less by AUTO_MARGIN_PCT of the misses of today's policy, and by three and a half
 * standard deviations between samples of the keys; and AUTO_HOLD_WINDOWS windows, half a turnover
 * of the cache, have ended since the last change. If both policies are of one structure
 * (evict_same_structure), AUTO_ALIKE_PCT are enough: that change costs nothing, because the queues
 * and ghosts stay as they are. But then the other policy must have missed less in each of the last
 * AUTO_AHEAD_WINDOWS windows, a turnover: in a loop of keys, each of two equal policies is ahead
 * while the keys pass that it happens to hold. s3auto has three candidates, where auto has a dozen,
 * so chance has fewer tries: two and a half deviations are enough. `none` is never chosen. */
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
 * policy's own. Under these two, a new cache (`now` is NULL) begins with s3fifo. A cache stays with
 * today's policy if that is one of those that may be chosen and evicts at all: without evictions
 * the counts would never favour a change, because a store that a cache refuses is no miss. */
const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now);

/* NULL: today's policy stays. `why` gets the reason, a clause, in either case. AUTO_NONE has the
 * reasons of AUTO_ALL. `since`: windows since the last change. */
const struct evict_policy *auto_choose(const struct shadow *, enum auto_scope, uint64_t since,
                                       char why[AUTO_WHY_BYTES]);
#endif
