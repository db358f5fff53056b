/* The policy `auto`: which policy the miniature caches (sample/shadow.h) speak for. A pure function
 * of what was counted.
 *
 * Another policy is chosen when, since it was last no better than today's, it missed less by
 * AUTO_MARGIN_PCT of what today's missed and by three and a half times what another sample of the
 * keys is likely to make of it; and not within AUTO_HOLD_WINDOWS windows, half a turnover of the
 * cache, after a change. Where both are records of one structure (evict_alike), AUTO_ALIKE_PCT are
 * enough: that change costs nothing, for the queues and ghosts stay what they are. `none` is never
 * chosen. */
#ifndef SLATE_TUNE_WHATIF_AUTO_H
#define SLATE_TUNE_WHATIF_AUTO_H
#include "sample/shadow.h"

enum {
    AUTO_MARGIN_PCT = 2,
    AUTO_ALIKE_PCT = 1,
    AUTO_HOLD_WINDOWS = 2,
    AUTO_READS_MIN = 64,
    AUTO_WHY_BYTES = 160
};

/* The policy that a cache goes by when the setting is `name`: the one of that name. Under `auto` it
 * begins with s3fifo (`now` is NULL), and goes on from today's, unless nothing could be told of a
 * change from that: what a cache refuses that evicts nothing is no miss. */
const struct evict_policy *auto_policy(const char *name, const struct evict_policy *now);

/* NULL: today's stays. `why` is a clause either way. `since`: windows since the last change. */
const struct evict_policy *auto_choose(const struct shadow *, uint64_t since,
                                       char why[AUTO_WHY_BYTES]);
#endif
