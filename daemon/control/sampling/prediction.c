#include "control/sampling/prediction.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const double prediction_factor[PREDICTION_POINTS] = {0.5, 1, 2, 4};
enum { POINT_NOW = 1 };

/* 19 of 20 values of a normal distribution lie within so many deviations. */
#define BAND_DEVIATIONS 1.96

/* --- predictions --- */

double prediction_band(double deviation, double model_error, double size_error) {
    return BAND_DEVIATIONS *
           sqrt(deviation * deviation + model_error * model_error + size_error * size_error);
}

/* A miniature has no classes, no partitions and no page moves. The cache's own hits are sampled,
 * too: they show the error of the miniature of today's cache. Other miniatures may have the same
 * error. */
static double prediction_model_error(const struct shadow *s, double hit_ratio) {
    struct shadow_counts t = shadow_real(s);
    double off = shadow_hit_ratio(&t, hit_ratio) - hit_ratio, chance = shadow_error(&t, hit_ratio);
    return sqrt(off * off + chance * chance);
}

/* The memory that, for example, half the pages are to a cache of classes is computed from the LRU's
 * curves, as if all classes shrank by the same factor (sample/class_share.h). Pages will be divided
 * otherwise. So the result may be wrong by as much as this correction: by that many octaves of
 * memory, but at most one, and one octave is worth the difference between the predictions of this
 * size and of the next one towards today's. */
static double prediction_size_error(const struct shadow *s, unsigned size, double octave_worth) {
    return fmin(fabs(log2(shadow_share_factor(s, size))), 1) * fabs(octave_worth);
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
    return prediction_band(shadow_error(k, lately), prediction_model_error(s, lately), 0);
}

static void prediction_fill_policies(const struct shadow *s, double lately, struct prediction *t) {
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct shadow_counts k = shadow_policy(s, i);
        t->policy_hit_ratio[i] = shadow_hit_ratio(&k, lately);
        t->policy_band[i] = prediction_policy_band(s, &k, lately);
    }
}

void prediction_make(const struct shadow *s, double lately, double longer, struct prediction *t) {
    *t = (struct prediction){.reads = shadow_size(s, 0).reads};
    prediction_print_lack(t, t->reads, shadow_fill(s).nodes, shadow_windows(s));
    t->enough = t->lacks[0] == '\0';
    double off = prediction_model_error(s, longer);
    t->hit_ratio[POINT_NOW] = longer;
    for (unsigned size = 0; size < SHADOW_SIZES; size++) {
        unsigned point = size < POINT_NOW ? size : size + 1,
                 nearer = point < POINT_NOW ? point + 1 : point - 1;
        struct shadow_counts k = shadow_size(s, size);
        t->hit_ratio[point] = shadow_hit_ratio(&k, longer);
        t->band[point] = prediction_band(
            shadow_error(&k, longer), off,
            prediction_size_error(s, size, t->hit_ratio[point] - t->hit_ratio[nearer]));
    }
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

void prediction_log_changed(struct prediction_log *l, const struct prediction_change *change) {
    struct prediction_change c = *change;
    bool sizes = c.bytes_was != c.bytes_is, policies = c.policy_was != c.policy_is;
    c.before = l->made.hit_ratio[POINT_NOW];
    /* there is no prediction of both changes at once */
    l->waits = l->made.enough && sizes != policies &&
               (sizes ? prediction_find_size(&l->made, (double)c.bytes_is / (double)c.bytes_was,
                                             &c.expected, &c.band)
                      : prediction_find_policy(&l->made, c.policy_is, &c.expected, &c.band));
    l->change = c;
    l->windows = 0;
    l->hits = l->misses = 0;
    /* the predictions were about the cache before the change */
    l->made = (struct prediction){.lacks = "the cache changed a moment ago"};
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
