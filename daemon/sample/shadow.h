/* Predictions for another policy or size of the cache: miniature caches of every policy at today's
 * size, of today's policy with half the memory, and miss-ratio curves, which tell what more memory
 * brings (sample/growth.h). The sampled keys feed all of them.
 *
 * Each miniature (sample/mini.h) has the sampling rate's share of the memory. The hits of one
 * miniature alone are as wrong as the sample is small, since a hot key is in the sample or is not.
 * So miniatures are compared, read by read, with `own`, the miniature of today's policy at today's
 * size: how many reads missed in own and hit in the other (better), and the other way round
 * (worse). Own's misses with these differences scale the hit ratio that the cache really has.
 * Counts are kept by windows of a quarter of a turnover of the cache. A window counts SHADOW_FADE
 * times as much as the next one, or SHADOW_SIZES_FADE times where sizes are compared. The
 * miniatures know no classes: sample/class_share.h computes the memory for items when every class
 * retains a page, and the classes for which the sample is too small. After a change of the rate all
 * counts are scaled as if the new rate had been from the start.
 *
 * Memory: shadow_memory, all of it taken at the start; only a policy's ghosts and sketch are
 * allocated when they are needed, but that sum includes them. Counts by class take an eighth of it;
 * if there are more classes than it holds, the classes with most reads have them (sample/curve.h).
 * Threading: one owner. Cost: a record takes a look-up in each miniature. */
#ifndef SLATE_SAMPLE_SHADOW_H
#define SLATE_SAMPLE_SHADOW_H
#include "sample/class_share.h"
#include "sample/curve.h"
#include "sample/mini.h"
#include "sample/mini_counts.h"
#include "sample/stream.h"

enum {
    SHADOW_NODES_MIN = 128,
    SHADOW_NODES_MAX = 16384,
};
#define SHADOW_FADE 0.7
/* The same for sizes, whose predictions are not urgent: some five turnovers. */
#define SHADOW_SIZES_FADE 0.95

struct shadow;
/* For as many keys at today's size as fit into `memory_bytes`, from SHADOW_NODES_MIN to
 * SHADOW_NODES_MAX. The shadow takes no more memory than that, but at least shadow_memory_least.
 * The caller owns the tuning, which must outlive the shadow. NULL: out of memory. */
struct shadow *shadow_create(const struct evict_policy *running, const struct evict_tuning *,
                             size_t memory_bytes);
void           shadow_destroy(struct shadow **);
size_t         shadow_memory(const struct shadow *);
size_t         shadow_memory_least(void);

/* Sets the cache's memory, how its classes divide it, its policy and the sampling rate: at first
 * and when they change. Keys that no longer fit are dropped. */
void shadow_set(struct shadow *, uint64_t cache_bytes, const struct share_classes *,
                const struct evict_policy *running, uint32_t below);
/* Whether the curves are of classes with these chunks: not at once after a change of the chunks. */
bool shadow_has_classes(const struct shadow *, const struct share_classes *);
const struct evict_policy *shadow_running(const struct shadow *);
/* Whether the tuning, which the policies use, changed since the last call. If it did, all counts
 * are forgotten, since they belong to the old tuning. */
bool shadow_note_tuning(struct shadow *);
/* To be called when the cache's memory has changed. Forgets the counts of other sizes of memory,
 * since these sizes were relative to the old memory. */
void shadow_forget_sizes(struct shadow *);

/* Prefetch for the record after the next one, and for the next one, while others are being
 * processed. */
void shadow_prefetch_later(const struct shadow *, uint64_t hash);
void shadow_prefetch_next(const struct shadow *, uint64_t hash);
void shadow_record(struct shadow *, const struct sample_record *, uint32_t now_s);

struct shadow_fill {
    uint32_t nodes, nodes_max; /* of the miniature `own` */
    uint64_t bytes;
    bool     crowded; /* a miniature has no node left: the sample is too large */
    bool     roomy;   /* own is filled, and twice the keys would have room in all miniatures */
};
struct shadow_fill shadow_fill(const struct shadow *);

/* Whether the window is over: a quarter of the keys that own holds were brought in anew, or many
 * were read. */
bool     shadow_window_due(const struct shadow *);
/* Ends the window, and begins the next one. class_hits: the cache's hits of all keys in it, by
 * class (curve_expect). */
void shadow_window_end(struct shadow *, const double class_hits[CURVE_CLASSES]);
uint64_t shadow_windows(const struct shadow *); /* windows that have ended */

/* The counts of a policy, by index in evict_policies, and of half the memory; as of the end of the
 * last window. */
struct shadow_counts shadow_policy(const struct shadow *, unsigned policy);
struct shadow_counts shadow_half(const struct shadow *);
/* The factor between that miniature's memory and half of own's: the effect of classes and idle
 * chunks (sample/class_share.h). */
double shadow_half_factor(const struct shadow *);
/* The same for the cache itself: the difference of own, which knows no classes, from the cache. */
struct shadow_counts shadow_real(const struct shadow *);
/* The counts of a policy since the last window in which it was no better than own: so a change of
 * the load shows here first. Source: the cumulative sum of E. S. Page, "Continuous Inspection
 * Schemes", Biometrika 1954, here fading. */
struct shadow_counts shadow_rising(const struct shadow *, unsigned policy);
/* In how many windows in a row, up to the last, the policy missed less than own. */
unsigned shadow_ahead(const struct shadow *, unsigned policy);
/* The same as shadow_policy, over the reads of one class. */
struct shadow_counts shadow_class_policy(const struct shadow *, unsigned class_id, unsigned policy);
const struct curve *shadow_curve(const struct shadow *);
#endif
