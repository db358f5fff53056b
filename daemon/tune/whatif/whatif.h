/* What the sampled keys tell: takes the cache's stream of samples, keeps miss-ratio curves,
 * miniature caches and hot keys up to date, sets the rate of sampling, and follows the miniatures
 * when the policy is `auto`.
 *
 * The rate: at most what is set; lowered by a sixth while a miniature has no room for its share of
 * the keys, halved when there are more than WHATIF_RECORDS_A_S records in a second; doubled when
 * there is room for twice as many. So its work is bounded, to some 0.5 % of one processor, and so
 * is its memory, with what malloc adds to it: 1/200 of the cache's memory limit at the start, but
 * at least WHATIF_BYTES_MIN or, if that is less, a sixteenth of the limit, and what the rings of
 * many threads take in addition; taken when the rate first becomes more than 0. Threading:
 * whatif_tend from one thread, the tuner's; the others from any, no lock held. */
#ifndef SLATE_TUNE_WHATIF_WHATIF_H
#define SLATE_TUNE_WHATIF_WHATIF_H
#include "cache/cache.h"
#include "sample/hot.h"
#include "sample/shadow.h"
#include "tune/whatif/auto.h"
#include "tune/whatif/forecast.h"

enum {
    WHATIF_RECORDS_A_S = 2000, /* at 1800 instructions each; bench-sampling holds the sum to 1 % */
    WHATIF_BYTES_MIN = 2 << 20,
    WHATIF_POINTS = 17,
    WHATIF_CLASS_READS_MIN = 256
};

struct whatif;
/* For a cache that so many threads use, ours among them: the keys of others are not sampled. NULL:
 * out of memory. */
struct whatif *whatif_create(struct cache *, size_t limit_bytes, unsigned threads);
void           whatif_destroy(struct whatif **);

/* The greatest rate, 0 to 1 (0: off), and whether to follow the miniatures. */
void whatif_set(struct whatif *, double rate, bool follow);
/* Whether samples, curves and miniatures are to give their memory to others for as long; what they
 * knew is forgotten. Done at the next whatif_tend. */
void whatif_give_way(struct whatif *, bool);
/* Takes what there is. Returns in how many microseconds it is to be called again; UINT64_MAX: it is
 * off. */
uint64_t whatif_tend(struct whatif *);
/* likewise, by another clock than clock_mono_us */
uint64_t whatif_tend_at(struct whatif *, uint64_t now_us);

/* --- what it says --- */
struct whatif_policy {
    const struct evict_policy *policy;
    struct shadow_tally tally;
    double hit_ratio, difference, doubt; /* doubt: twice the standard error of the difference */
};
struct whatif_facts {
    bool     on, follows;
    double   rate;               /* now */
    double   hit_ratio;          /* the cache's own, of the same windows */
    uint64_t windows, keys;      /* windows that ended; keys in the miniature of today's policy */
    uint64_t records, dropped;
    uint64_t memory_bytes, memory_most_bytes, limit_bytes;
    const struct evict_policy *running;
    /* the cache's own over more windows, and what it would be at shadow_factor */
    double   hit_ratio_longer, at_size[SHADOW_SIZES];
    char     why[AUTO_WHY_BYTES];     /* what `auto` thought last */
    char     changed[AUTO_WHY_BYTES]; /* why it changed the policy last; empty: never */
    uint64_t changes;
};
void whatif_facts(struct whatif *, struct whatif_facts *);
/* Of the whole cache (SLAB_CLASS_NONE) or of the reads of a class. Returns how many there are; 0:
 * too few reads. */
unsigned whatif_policies(struct whatif *, unsigned class_id,
                         struct whatif_policy to[SHADOW_POLICIES_MAX]);

/* Under the LRU, at sizes from 1/8 to 8 times today's. */
struct whatif_curve {
    double   reads; /* sampled */
    uint64_t bytes; /* today */
    double   now;
    struct {
        uint64_t bytes;
        double   hit_ratio;
    } points[WHATIF_POINTS];
};
/* false: off, or too few reads */
bool whatif_curve(struct whatif *, unsigned class_id, struct whatif_curve *);

/* What is told of other sizes, and what came true of what was. */
void whatif_forecasts(struct whatif *, struct forecast_log *);

/* Requests with a key since sampling began, of which each minute with traffic halves what it finds;
 * and how many of them had their keys noted. */
struct whatif_asked {
    uint64_t requests, noted;
};
/* Copies at most `max` of the keys asked for most (sample/hot.h). Returns how many. */
unsigned whatif_hot(struct whatif *, struct hot_key *to, unsigned max, struct whatif_asked *);
#endif
