/* Predictions of the hit ratio with other amounts of memory and under other policies, each with its
 * band; and the real hit ratio after a change, compared with the prediction.
 *
 * A prediction comes from the shadow (sample/shadow.h), once the sample is large enough. 19 of 20
 * real hit ratios should lie within the band. The band is wide enough for the difference between
 * samples of the keys, for the error of the miniature of today's cache, and for the doubt that
 * classes add to another size. When the memory limit or the policy changes, the prediction of that
 * change is stored. Once the cache has settled, its real hit ratio is compared with the stored one.
 * Another change before the cache has settled replaces the stored prediction. Threading: one owner.
 * Memory: some 1 KiB. */
#ifndef SLATE_CONTROL_SAMPLING_PREDICTION_H
#define SLATE_CONTROL_SAMPLING_PREDICTION_H
#include "sample/growth.h"
#include "sample/shadow.h"

enum {
    PREDICTION_READS_MIN = 1000, /* sampled reads; older ones count less */
    PREDICTION_KEYS_MIN = 64,
    PREDICTION_WINDOWS_MIN = 4,    /* a window is a quarter of a turnover (sample/shadow.h) */
    PREDICTION_SETTLE = 8,         /* windows after a change before hits are counted */
    PREDICTION_SETTLE_SMALLER = 4, /* the same after memory was taken: one turnover */
    PREDICTION_MEASURE = 8,        /* windows over which hits are counted */
    PREDICTION_POINTS = 7,
    PREDICTION_HALF = 2, /* the points of half the memory and of today's */
    PREDICTION_NOW = 3,
    PREDICTION_WORDS_BYTES = 128,
};
/* Parts of today's memory, ascending; 1 is today's memory. */
extern const double prediction_factor[PREDICTION_POINTS];

struct prediction {
    bool   enough;
    /* the missing part of the sample, in words; empty: none */
    char   lacks[PREDICTION_WORDS_BYTES];
    double reads;                       /* sampled reads behind the predictions */
    double hit_ratio[PREDICTION_POINTS];
    double band[PREDICTION_POINTS];     /* half the width of the band */
    double policy_hit_ratio[SHADOW_POLICIES_MAX], policy_band[SHADOW_POLICIES_MAX];
};
/* cache_bytes: the limit, of which classes have some. lately, longer: the real hit ratio of the
 * windows over which policies, and sizes, are counted. */
void prediction_make(const struct shadow *, const struct share_classes *, double cache_bytes,
                     double lately, double longer, struct prediction *);
/* Forgets predictions: they are about the cache before a change. */
void prediction_forget(struct prediction *);
/* Half the width of a band, from three standard errors: of the sample, of the miniatures themselves
 * and of the size or the time that a miniature is apart from. */
double prediction_band(double deviation, double model_error, double apart_error);
/* The same for the difference of a policy (shadow_policy) from today's. */
double prediction_policy_band(const struct shadow *, const struct shadow_counts *, double lately);

/* A change of the cache. */
struct prediction_change {
    uint64_t bytes_was, bytes_is;
    const struct evict_policy *policy_was, *policy_is;
    double   before, expected, band; /* hit ratios */
    double   came;                   /* the real one, once it is known */
};

struct prediction_log {
    struct prediction        made;   /* as of the last window's end */
    struct prediction_change change; /* the last change that had a prediction */
    bool     waits;                  /* the change has not been compared with a hit ratio yet */
    uint64_t came, within; /* changes that were compared since the start; within: in the band */
    unsigned windows;      /* windows since the change */
    double   hits, misses; /* of the windows that are counted */
};
/* The cache is about to change again. True: enough of the last change was seen, and log->change has
 * just been compared. */
bool prediction_log_overtaken(struct prediction_log *);
/* The cache has changed: fills in `before`, `expected` and `band` from the last predictions. */
void prediction_log_changed(struct prediction_log *, const struct prediction_change *);
/* A window has ended; hits and misses are the cache's in that window. True: log->change has just
 * been compared. */
bool prediction_log_window(struct prediction_log *, uint64_t hits, uint64_t misses);
/* Writes the prediction of a change and the real hit ratio in words. */
void prediction_change_words(const struct prediction_change *, char to[PREDICTION_WORDS_BYTES]);
#endif
