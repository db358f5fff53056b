#include "control/sampling/prediction.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const double prediction_factor[PREDICTION_POINTS] = {0.125, 0.25, 0.5, 1, 2, 4, 8};

/* 19 of 20 values of a normal distribution lie within so many deviations. */
#define BAND_DEVIATIONS 1.96

/* --- predictions --- */

double prediction_band(double deviation, double model_error, double apart_error) {
    return BAND_DEVIATIONS *
           sqrt(deviation * deviation + model_error * model_error + apart_error * apart_error);
}

/* A miniature has no classes, no partitions and no page moves. The cache's own hits are sampled,
 * too: they show the error of the miniature of today's cache. Other miniatures may have the same
 * error. */
static double prediction_model_error(const struct shadow *s, double hit_ratio) {
    struct shadow_counts t = shadow_real(s);
    double off = shadow_hit_ratio(&t, hit_ratio) - hit_ratio, chance = shadow_error(&t, hit_ratio);
    return sqrt(off * off + chance * chance);
}

/* Half the memory, by its miniature. The memory that half the pages are to a cache of classes is
 * computed from the LRU's curves, as if all classes shrank by the same factor
 * (sample/class_share.h). Pages will be divided otherwise. So the result may be wrong by as much as
 * this correction: by that many octaves of memory, but at most one, and one octave is worth the
 * difference to today. */
static void prediction_fill_half(const struct shadow *s, double longer, struct prediction *t) {
    struct shadow_counts k = shadow_half(s);
    double hit_ratio = shadow_hit_ratio(&k, longer),
           octaves = fmin(fabs(log2(shadow_half_factor(s))), 1);
    t->hit_ratio[PREDICTION_HALF] = hit_ratio;
    t->band[PREDICTION_HALF] =
        prediction_band(shadow_error(&k, longer), prediction_model_error(s, longer),
                        octaves * fabs(longer - hit_ratio));
}

/* Still less memory: as much less as the LRU's curves lose. */
static void prediction_fill_less(const struct shadow *s, const struct share_classes *classes,
                                 double cache_bytes, struct prediction *t) {
    const struct curve *c = shadow_curve(s);
    double half = t->hit_ratio[PREDICTION_HALF], band = t->band[PREDICTION_HALF], by_lru = 0;
    for (unsigned point = PREDICTION_HALF + 1; point-- > 0;) {
        double then[CURVE_CLASSES];
        growth_divide(c, classes, cache_bytes * prediction_factor[point], then);
        double hit_ratio = curve_all_hit_ratio(c, then, 1);
        if (point == PREDICTION_HALF) {
            by_lru = hit_ratio;
            continue;
        }
        t->hit_ratio[point] = fmin(fmax(half + hit_ratio - by_lru, 0), half);
        t->band[point] = hypot(band, prediction_band(curve_all_error(c, then, 1), 0, 0));
    }
}

/* More memory: of the misses that some memory would have saved, the policy saves the share that the
 * LRU saves. So the lead that one of both has over the other shrinks by this share. It may also be
 * gone, or twice as large. */
static void prediction_fill_more(const struct shadow *s, const struct share_classes *classes,
                                 double cache_bytes, double lately, struct prediction *t) {
    double now[CURVE_CLASSES];
    growth_divide(shadow_curve(s), classes, cache_bytes, now);
    double lead = fabs(lately - curve_all_hit_ratio(shadow_curve(s), now, 1));
    for (unsigned point = PREDICTION_NOW + 1; point < PREDICTION_POINTS; point++) {
        double error, then_bytes = cache_bytes * prediction_factor[point];
        struct growth g = growth_saved(shadow_curve(s), classes, cache_bytes, then_bytes);
        double gain = growth_gain(shadow_curve(s), &g, 1 - lately, &error);
        t->hit_ratio[point] = fmin(t->hit_ratio[PREDICTION_NOW] + gain, 1);
        t->band[point] = prediction_band(error, lead * (1 - g.saved), 0);
    }
}

static void prediction_print_lack(struct prediction *t, double reads, uint32_t keys,
                                  uint64_t windows) {
    if (windows < PREDICTION_WINDOWS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%llu of %d quarters of a turnover were seen",
                 (unsigned long long)windows, PREDICTION_WINDOWS_MIN);
    } else if (reads < PREDICTION_READS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%.0f of %d sampled reads were seen", reads,
                 PREDICTION_READS_MIN);
    } else if (keys < PREDICTION_KEYS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%u of %d keys are in the sample", (unsigned)keys,
                 PREDICTION_KEYS_MIN);
    }
}

double prediction_policy_band(const struct shadow *s, const struct shadow_counts *k,
                              double lately) {
    return prediction_band(shadow_error(k, lately), prediction_model_error(s, lately),
                           shadow_lag(k, lately));
}

static void prediction_fill_policies(const struct shadow *s, double lately, struct prediction *t) {
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct shadow_counts k = shadow_policy(s, i);
        t->policy_hit_ratio[i] = shadow_hit_ratio(&k, lately);
        t->policy_band[i] = prediction_policy_band(s, &k, lately);
    }
}

void prediction_make(const struct shadow *s, const struct share_classes *classes,
                     double cache_bytes, double lately, double longer, struct prediction *t) {
    *t = (struct prediction){.reads = shadow_half(s).reads};
    prediction_print_lack(t, t->reads, shadow_fill(s).nodes, shadow_windows(s));
    t->enough = t->lacks[0] == '\0';
    t->hit_ratio[PREDICTION_NOW] = longer;
    prediction_fill_half(s, longer, t);
    prediction_fill_less(s, classes, cache_bytes, t);
    prediction_fill_more(s, classes, cache_bytes, lately, t);
    prediction_fill_policies(s, lately, t);
}

/* --- real hit ratios --- */

/* The hit ratio between two sizes with predictions, by the logarithm of the size. False: the size
 * lies beyond them. */
static bool prediction_find_size(const struct prediction *t, double factor, double *hit_ratio,
                                 double *band) {
    for (unsigned i = 1; i < PREDICTION_POINTS; i++) {
        double low = prediction_factor[i - 1], high = prediction_factor[i];
        if (factor >= low && factor <= high) {
            double share = log2(factor / low) / log2(high / low);
            *hit_ratio = t->hit_ratio[i - 1] + (t->hit_ratio[i] - t->hit_ratio[i - 1]) * share;
            *band = t->band[i - 1] + (t->band[i] - t->band[i - 1]) * share;
            return true;
        }
    }
    return false;
}

static bool prediction_find_policy(const struct prediction *t, const struct evict_policy *policy,
                                   double *hit_ratio, double *band) {
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        if (evict_policies[i] == policy) {
            *hit_ratio = t->policy_hit_ratio[i];
            *band = t->policy_band[i];
            return true;
        }
    }
    return false;
}

void prediction_forget(struct prediction *t) {
    *t = (struct prediction){.lacks = "no quarter of a turnover was seen since the last change"};
}

void prediction_log_changed(struct prediction_log *l, const struct prediction_change *change) {
    struct prediction_change c = *change;
    bool sizes = c.bytes_was != c.bytes_is, policies = c.policy_was != c.policy_is;
    c.before = l->made.hit_ratio[PREDICTION_NOW];
    /* there is no prediction of both changes at once */
    l->waits = l->made.enough && sizes != policies &&
               (sizes ? prediction_find_size(&l->made, (double)c.bytes_is / (double)c.bytes_was,
                                             &c.expected, &c.band)
                      : prediction_find_policy(&l->made, c.policy_is, &c.expected, &c.band));
    l->change = c;
    l->windows = 0;
    l->hits = l->misses = 0;
    prediction_forget(&l->made);
}

bool prediction_log_overtaken(struct prediction_log *l) {
    struct prediction_change *c = &l->change;
    if (!l->waits || l->hits + l->misses == 0) {
        return false;
    }
    c->came = l->hits / (l->hits + l->misses);
    l->waits = false;
    l->came++;
    l->within += fabs(c->came - c->expected) <= c->band;
    return true;
}

bool prediction_log_window(struct prediction_log *l, uint64_t hits, uint64_t misses) {
    unsigned settle =
        l->change.bytes_is < l->change.bytes_was ? PREDICTION_SETTLE_SMALLER : PREDICTION_SETTLE;
    if (l->windows++ >= settle) {
        l->hits += (double)hits;
        l->misses += (double)misses;
    }
    return l->windows >= settle + PREDICTION_MEASURE && prediction_log_overtaken(l);
}

void prediction_change_words(const struct prediction_change *c, char to[PREDICTION_WORDS_BYTES]) {
    char what[64];
    if (c->bytes_was != c->bytes_is) {
        snprintf(what, sizeof what, "maxbytes %" PRIu64 " to %" PRIu64, c->bytes_was, c->bytes_is);
    } else {
        snprintf(what, sizeof what, "policy %s to %s", c->policy_was->name, c->policy_is->name);
    }
    int n = snprintf(to, PREDICTION_WORDS_BYTES,
                     "%s: %.4f expected with a band of %.4f, %.4f before, %.4f came: %s", what,
                     c->expected, c->band, c->before, c->came,
                     fabs(c->came - c->expected) <= c->band ? "within" : "beyond");
    if (n < 0) {
        to[0] = '\0';
    }
}
