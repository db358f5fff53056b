/* What would be, were the cache another: miniature caches of every policy at today's size and of
 * today's policy at other sizes, and miss-ratio curves, all of them fed with the sampled keys.
 *
 * Each miniature (sample/mini.h) has the sampling rate's share of the memory; that of four times
 * the size runs at half the rate, so that none has more than twice the keys of the one of today's
 * size. What one of them says alone is as wrong as the sample is small, for a hot key is in it or
 * not. So they are compared key by key with `own`, the miniature of today's policy at today's size:
 * how many reads it missed that the other had (better), how many the other way round (worse). Own's
 * misses, with these added, scale the hit ratio that the cache really has. Counts are kept by
 * windows of a quarter of a turnover of the cache, of which each counts SHADOW_KEEPS times the
 * next, or SHADOW_SIZES_KEEP times where sizes are compared. The miniatures know no classes: what
 * half the memory is to items when every class keeps a page says sample/share.h, and which classes
 * the sample is too small for. After a change of the rate all counts are as if it had been so from
 * the start.
 *
 * Source: Waldspurger and others, "Cache Modeling and Optimization using Miniature Simulations",
 * USENIX ATC 2017. Memory: shadow_memory, all of it taken at the start; a policy's ghosts and
 * sketch when they are needed, but they are in it. What is counted by class takes an eighth, and is
 * of the classes that have most reads when there are more than that holds (sample/curve.h).
 * Threading: one owner. Cost: a record takes a look at each miniature. */
#ifndef SLATE_SAMPLE_SHADOW_H
#define SLATE_SAMPLE_SHADOW_H
#include "sample/curve.h"
#include "sample/mini.h"
#include "sample/share.h"
#include "sample/stream.h"

enum {
    SHADOW_POLICIES_MAX = 15,
    SHADOW_SIZES = 3, /* half, twice and four times the memory */
    SHADOW_NODES_MIN = 128,
    SHADOW_NODES_MAX = 16384,
};
#define SHADOW_KEEPS 0.7
/* likewise, for sizes, of which nobody wants to know at once: some five turnovers */
#define SHADOW_SIZES_KEEP 0.95
extern const double shadow_factor[SHADOW_SIZES];

/* What was counted of one miniature against own, of reads that both saw, those of long ago counting
 * less. */
struct shadow_tally {
    double reads, own_misses, better, worse;
    /* standard, of better less worse, as another sample of the keys would have it */
    double deviation;
};
/* The hit ratio to expect, given the real one of today. */
double shadow_hit_ratio(const struct shadow_tally *, double real_hit_ratio);
/* its standard error, as far as the sample of the keys makes it */
double shadow_error(const struct shadow_tally *, double real_hit_ratio);

struct shadow;
/* For as many keys at today's size as fit `memory_bytes`, from SHADOW_NODES_MIN to
 * SHADOW_NODES_MAX: it takes no more, unless they are less than shadow_memory_least. The tuning is
 * the caller's and outlives it. NULL: out of memory. */
struct shadow *shadow_create(const struct evict_policy *running, const struct evict_tuning *,
                             size_t memory_bytes);
void           shadow_destroy(struct shadow **);
size_t         shadow_memory(const struct shadow *);
size_t         shadow_memory_least(void);

/* The cache's memory and how its classes divide it, its policy and the rate of sampling; at first
 * and when they change. What does not fit is dropped. */
void shadow_set(struct shadow *, uint64_t cache_bytes, const struct share_classes *,
                const struct evict_policy *running, uint32_t below);
const struct evict_policy *shadow_running(const struct shadow *);
/* Whether what the policies go by, the caller's tuning, is another than when this was asked last.
 * Then what was counted is forgotten: it was of caches that went by something else. */
bool shadow_note_tuning(struct shadow *);
/* The cache's memory is another, so what was counted of other sizes is of sizes it never was. */
void shadow_forget_sizes(struct shadow *);

/* For the record after the next, and for the next: what they touch is on its way while others are
 * worked on. */
void shadow_prefetch_later(const struct shadow *, uint64_t hash);
void shadow_prefetch_next(const struct shadow *, uint64_t hash);
void shadow_record(struct shadow *, const struct sample_record *, uint32_t now_s);

struct shadow_fill {
    uint32_t nodes, nodes_max; /* of own */
    uint64_t bytes;
    bool     crowded; /* one of them has no node left: the sample is too large */
    bool     roomy;   /* own is filled, and twice the keys would have room in all */
};
struct shadow_fill shadow_fill(const struct shadow *);

/* The window is over: a quarter of the keys that own holds were brought in anew, or many were read.
 * The next one begins. */
bool     shadow_window_due(const struct shadow *);
/* reads that the cache had in it, of all keys */
void     shadow_window_end(struct shadow *, double reads);
uint64_t shadow_windows(const struct shadow *); /* that have ended */

/* By index in evict_policies, and by index in shadow_factor; as of the last window's end. */
struct shadow_tally shadow_policy(const struct shadow *, unsigned policy);
struct shadow_tally shadow_size(const struct shadow *, unsigned size);
/* Likewise, of the cache itself: by how much own, which knows no classes, is not what it stands
 * for. */
struct shadow_tally shadow_real(const struct shadow *);
/* The same, of a policy, since it was last no better than own: what it was before that does not
 * count against it. A workload that changes shows here first. Source: the cumulative sum of E. S.
 * Page, "Continuous Inspection Schemes", Biometrika 1954, here fading. */
struct shadow_tally shadow_rising(const struct shadow *, unsigned policy);
/* The same as shadow_policy, of the reads of one class. */
struct shadow_tally shadow_class_policy(const struct shadow *, unsigned class_id, unsigned policy);
const struct curve *shadow_curve(const struct shadow *);
#endif
