/* Reads the cache's stream of sampled keys, and updates miss-ratio curves, miniature caches and hot
 * keys from it. Sets the rate of sampling, and the policy of the cache by the miniatures when the
 * setting is `s3auto`.
 *
 * The setting bounds the rate. The rate falls by a sixth while a miniature has no room for its
 * share of the keys, halves when there are more than WHATIF_RECORDS_A_S records in a second, and
 * doubles when there is room for twice as many. So the work is bounded, to some 0.5 % of one
 * processor. A cache of few, often read items would then have too few keys in its sample, and never
 * a prediction: it may have WHATIF_RECORDS_FEW_KEYS in a second, up to 1 % of a processor. The
 * memory, with malloc's own part, is bounded, too: to 1/200 of the cache's memory limit at the
 * start, but at least WHATIF_BYTES_MIN or, if that is less, a sixteenth of the limit; the rings may
 * take a quarter more, those of many threads more than that. The memory is allocated when the rate
 * first becomes more than 0. Where this thread is late, no record is lost: the workers note fewer
 * keys while their rings are more than half full, and the rate falls to those that are complete.
 * Threading: one thread, the tuner's, calls whatif_tend; any thread the others, no lock held. */
#ifndef SLATE_CONTROL_SAMPLING_WHATIF_H
#define SLATE_CONTROL_SAMPLING_WHATIF_H
#include "cache/cache.h"
#include "control/sampling/policy_auto.h"
#include "control/sampling/prediction.h"
#include "sample/hot.h"
#include "sample/shadow.h"

enum {
    WHATIF_RECORDS_A_S = 2000, /* 2400 instructions each; bench-sampling holds the sum to 1 % */
    WHATIF_RECORDS_FEW_KEYS = 2 * WHATIF_RECORDS_A_S,
    WHATIF_BYTES_MIN = 1 << 20,
    WHATIF_POINTS = 17,
    WHATIF_CLASS_READS_MIN = 256
};

struct whatif;
/* threads: how many use the cache, the tuner's included; keys of further threads are not sampled.
 * NULL: out of memory. */
struct whatif *whatif_create(struct cache *, size_t limit_bytes, unsigned threads);
void           whatif_destroy(struct whatif **);

/* `run` is called on the thread of whatif_tend, with no lock held, when the real hit ratio after a
 * change of memory or policy is known. `words` compare it with the predicted one
 * (prediction_change_words). To be called before the first whatif_tend. */
void whatif_on_prediction(struct whatif *, void (*run)(void *arg, const char *words), void *arg);

/* Sets the highest rate, 0 to 1 (0: off), and the policies to choose from by the miniatures. */
void whatif_set(struct whatif *, double rate, bool follow);
/* Processes the new records. Returns in how many microseconds to call it again; UINT64_MAX:
 * sampling is off. */
uint64_t whatif_tend(struct whatif *);
/* The same, by a clock other than clock_mono_us. */
uint64_t whatif_tend_at(struct whatif *, uint64_t now_us);

/* --- results --- */
struct whatif_policy {
    const struct evict_policy *policy;
    struct shadow_counts tally;
    double hit_ratio, difference, doubt; /* doubt: half of the band around the difference */
};
struct whatif_facts {
    bool     on;
    bool follows;
    double   rate;               /* the rate of today */
    /* the cache's own hit ratio in the same windows; NAN: none was counted since the policy, or
     * what it goes by, is as it is */
    double   hit_ratio;
    uint64_t windows, keys;      /* windows that ended; keys in the miniature of today's policy */
    uint64_t records, dropped;
    uint64_t memory_bytes, memory_most_bytes, limit_bytes;
    const struct evict_policy *running;
    double hit_ratio_longer;      /* over more windows */
    char why[AUTO_WHY_BYTES];     /* the reason of the last decision of s3auto */
    char changed[AUTO_WHY_BYTES]; /* why s3auto changed the policy last; empty: it never did */
    uint64_t changes;
};
void whatif_facts(struct whatif *, struct whatif_facts *);
/* Predicts each policy's hits of the whole cache (SLAB_CLASS_NONE), or of a class. Returns how many
 * policies there are; 0: there were too few reads. */
unsigned whatif_policies(struct whatif *, unsigned class_id,
                         struct whatif_policy to[SHADOW_POLICIES_MAX]);

/* In 19 of 20 cases the real hit ratio is at most `band` above or below hit_ratio. */
struct whatif_point {
    uint64_t bytes;
    double hit_ratio, band;
};
/* A curve under the LRU, of today's memory and at sizes from 1/8 to 8 times today's. The
 * curve of the whole cache is of its limit, and beyond it as sample/growth.h has it. */
struct whatif_curve {
    double reads, first_reads; /* sampled reads; those of new keys, or -1 (curve_first_reads) */
    double compulsory_ratio;   /* of all reads (curve_compulsory_ratio); NAN: not known */
    /* memory of today: of a class its pages, of the whole cache its limit; and pages with a class
     */
    uint64_t bytes, used_bytes;
    struct whatif_point now, points[WHATIF_POINTS];
};
/* False: sampling is off, or there were too few reads. */
bool whatif_curve(struct whatif *, unsigned class_id, struct whatif_curve *);

/* The predictions for other sizes, and the comparison of past ones. */
void whatif_predictions(struct whatif *, struct prediction_log *);

/* Copies at most `max` of the hot keys of the ten seconds up to now (sample/hot.h). Returns how
 * many. */
unsigned whatif_hot(struct whatif *, uint64_t now_us, struct hot_totals *, struct hot_key *to,
                    unsigned max);
#endif
