/* What other amounts of memory are forecast to hit, each with its band, and what came true.
 *
 * A forecast is the shadow's (sample/shadow.h), told once the sample has enough. Its band is where
 * it is meant to come true four times of five: as wide as another sample of the keys would differ,
 * and as the miniature of today's cache is off from that. When the memory limit or the policy
 * changes, what was told of that is kept; the hits that the cache then really has, once it has
 * settled, are what came true. A further change meanwhile overtakes it. Threading: one owner.
 * Memory: some 2 KiB. */
#ifndef SLATE_TUNE_WHATIF_FORECAST_H
#define SLATE_TUNE_WHATIF_FORECAST_H
#include "sample/shadow.h"

enum {
    FORECAST_READS_MIN = 1000, /* sampled, those of long ago counting less */
    FORECAST_KEYS_MIN = 64,
    FORECAST_WINDOWS_MIN = 4,  /* of a quarter of a turnover each (sample/shadow.h) */
    FORECAST_SETTLE = 8,       /* windows after a change, before hits are counted … */
    FORECAST_MEASURE = 8,      /* … for as many */
    FORECAST_POINTS = SHADOW_SIZES + 1,
    FORECAST_KEPT = 16,
    FORECAST_LACKS_BYTES = 128,
};
/* of the memory of now, ascending; 1 is the memory of now */
extern const double forecast_factor[FORECAST_POINTS];

struct forecast_told {
    bool   enough;
    char   lacks[FORECAST_LACKS_BYTES]; /* of what there is not enough; empty: of nothing */
    double reads;                       /* sampled, behind it */
    double hit_ratio[FORECAST_POINTS];
    double band[FORECAST_POINTS];       /* half of its width */
    double policy_hit_ratio[SHADOW_POLICIES_MAX], policy_band[SHADOW_POLICIES_MAX];
};
/* lately, longer: the real hit ratio of the windows that policies, and sizes, are counted over. */
void forecast_tell(const struct shadow *, double lately, double longer, struct forecast_told *);

enum forecast_state { FORECAST_WAITS, FORECAST_CAME, FORECAST_OVERTAKEN };
struct forecast {
    enum forecast_state state;
    int64_t  unix_s;
    uint64_t bytes_was, bytes_is;
    const struct evict_policy *policy_was, *policy_is;
    double   before, expected, band; /* hit ratios */
    double   came;                   /* of FORECAST_CAME */
};

struct forecast_log {
    struct forecast_told told;       /* as of the last window */
    struct forecast      kept[FORECAST_KEPT]; /* the last ones, oldest first */
    unsigned             count;
    uint64_t             made, came, within; /* of all: within its band */
    unsigned             windows;    /* since the last one was made */
    double               hits, misses; /* of the windows that count */
};
void forecast_log_told(struct forecast_log *, const struct forecast_told *);
/* The cache is another now. Keeps what was told of such a one, if anything was. */
void forecast_log_changed(struct forecast_log *, const struct forecast *change);
/* A window is over, in which the cache had so many reads. */
void forecast_log_window(struct forecast_log *, uint64_t hits, uint64_t misses);
#endif
