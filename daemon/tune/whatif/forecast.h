/* Forecasts of the hit ratio with other amounts of memory, each with its band, and how they came
 * true.
 *
 * A forecast comes from the shadow (sample/shadow.h), once the sample is large enough. It is meant
 * to come true within its band four times of five. The band is as wide as other samples of the keys
 * would differ, as far as the miniature of today's cache is off, and as the classes make another
 * size uncertain. When the memory limit or the policy changes, the forecast for that change is
 * kept. Once the cache has settled, its real hit ratio is compared with it. Another change before
 * that overtakes the forecast. Threading: one owner. Memory: some 2 KiB. */
#ifndef SLATE_TUNE_WHATIF_FORECAST_H
#define SLATE_TUNE_WHATIF_FORECAST_H
#include "sample/shadow.h"

enum {
    FORECAST_READS_MIN = 1000, /* sampled reads; older ones count less */
    FORECAST_KEYS_MIN = 64,
    FORECAST_WINDOWS_MIN = 4,  /* a window is a quarter of a turnover (sample/shadow.h) */
    FORECAST_SETTLE = 8,       /* windows after a change before hits are counted */
    FORECAST_MEASURE = 8,      /* windows over which they are counted */
    FORECAST_POINTS = SHADOW_SIZES + 1,
    FORECAST_KEPT = 16,
    FORECAST_LACKS_BYTES = 128,
};
/* Parts of today's memory, ascending; 1 is today's memory. */
extern const double forecast_factor[FORECAST_POINTS];

struct forecast_told {
    bool   enough;
    /* what there is not enough of; empty: there is enough of all */
    char   lacks[FORECAST_LACKS_BYTES];
    double reads;                       /* sampled reads behind the forecasts */
    double hit_ratio[FORECAST_POINTS];
    double band[FORECAST_POINTS];       /* half the width of the band */
    double policy_hit_ratio[SHADOW_POLICIES_MAX], policy_band[SHADOW_POLICIES_MAX];
};
/* lately, longer: the real hit ratio of the windows over which policies, and sizes, are counted. */
void forecast_tell(const struct shadow *, double lately, double longer, struct forecast_told *);

enum forecast_state { FORECAST_WAITS, FORECAST_CAME, FORECAST_OVERTAKEN };
struct forecast {
    enum forecast_state state;
    int64_t  unix_s;
    uint64_t bytes_was, bytes_is;
    const struct evict_policy *policy_was, *policy_is;
    double   before, expected, band; /* hit ratios */
    double   came;                   /* with FORECAST_CAME: the real hit ratio */
};

struct forecast_log {
    struct forecast_told told;       /* as of the last window's end */
    struct forecast      kept[FORECAST_KEPT]; /* the last ones, oldest first */
    unsigned             count;
    uint64_t             made, came, within; /* counts since the start; within: in its band */
    unsigned             windows;    /* windows since the last forecast was kept */
    double               hits, misses; /* of the windows that are counted */
};
void forecast_log_told(struct forecast_log *, const struct forecast_told *);
/* The cache has changed. Keeps the forecast for that change, if there was one. */
void forecast_log_changed(struct forecast_log *, const struct forecast *change);
/* A window has ended; hits and misses are the cache's in it. */
void forecast_log_window(struct forecast_log *, uint64_t hits, uint64_t misses);
#endif
