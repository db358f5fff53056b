#include "tune/whatif/forecast.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const double forecast_factor[FORECAST_POINTS] = {0.5, 1, 2, 4};
enum { POINT_NOW = 1 };

/* Four fifths of a normal distribution lie within so many deviations. */
#define BAND_DEVIATIONS 1.2816

/* --- what is forecast --- */

/* Half the width of the band, from three standard errors: that of the sample, that of the
 * miniatures themselves, and that of the size which a miniature stands for. */
static double band_of(double deviation, double model_error, double size_error) {
    return BAND_DEVIATIONS * sqrt(deviation * deviation + model_error * model_error +
                                  size_error * size_error);
}

/* A miniature knows no classes, no partitions and no page moves. The cache's own hits are sampled,
 * too, so it is known how far a miniature of today's cache is off; one of another cache may be off
 * as far. */
static double model_error(const struct shadow *s, double hit_ratio) {
    struct shadow_tally t = shadow_real(s);
    double off = shadow_hit_ratio(&t, hit_ratio) - hit_ratio, chance = shadow_error(&t, hit_ratio);
    return sqrt(off * off + chance * chance);
}

/* How much memory half the pages are to a cache of classes is reckoned from the LRU's curves, and
 * as if all classes shrank alike (sample/share.h). Pages will be divided otherwise. So the
 * reckoning may be wrong by as much as it corrects: that many octaves of memory, but no more than
 * one, which is worth what lies between this size and the next one towards today's. */
static double size_error(const struct shadow *s, unsigned size, double octave_worth) {
    return fmin(fabs(log2(shadow_share_factor(s, size))), 1) * fabs(octave_worth);
}

static void say_lack(struct forecast_told *t, double reads, uint32_t keys, uint64_t windows) {
    if (windows < FORECAST_WINDOWS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%llu of %d quarters of a turnover were seen",
                 (unsigned long long)windows, FORECAST_WINDOWS_MIN);
    } else if (reads < FORECAST_READS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%.0f of %d sampled reads were seen", reads,
                 FORECAST_READS_MIN);
    } else if (keys < FORECAST_KEYS_MIN) {
        snprintf(t->lacks, sizeof t->lacks, "%u of %d keys are in the sample", (unsigned)keys,
                 FORECAST_KEYS_MIN);
    }
}

static void tell_policies(const struct shadow *s, double lately, struct forecast_told *t) {
    double off = model_error(s, lately);
    for (unsigned i = 0; i < SHADOW_POLICIES_MAX && evict_policies[i] != NULL; i++) {
        struct shadow_tally k = shadow_policy(s, i);
        t->policy_hit_ratio[i] = shadow_hit_ratio(&k, lately);
        t->policy_band[i] = band_of(shadow_error(&k, lately), off, 0);
    }
}

void forecast_tell(const struct shadow *s, double lately, double longer,
                   struct forecast_told *t) {
    *t = (struct forecast_told){.reads = shadow_size(s, 0).reads};
    say_lack(t, t->reads, shadow_fill(s).nodes, shadow_windows(s));
    t->enough = t->lacks[0] == '\0';
    double off = model_error(s, longer);
    t->hit_ratio[POINT_NOW] = longer;
    for (unsigned size = 0; size < SHADOW_SIZES; size++) {
        unsigned point = size < POINT_NOW ? size : size + 1,
                 nearer = point < POINT_NOW ? point + 1 : point - 1;
        struct shadow_tally k = shadow_size(s, size);
        t->hit_ratio[point] = shadow_hit_ratio(&k, longer);
        t->band[point] =
            band_of(shadow_error(&k, longer), off,
                    size_error(s, size, t->hit_ratio[point] - t->hit_ratio[nearer]));
    }
    tell_policies(s, lately, t);
}

/* --- what came true --- */

/* The hit ratio between two sizes with forecasts, by the logarithm of the size. False: the size
 * lies beyond them. */
static bool find_size(const struct forecast_told *t, double factor, double *hit_ratio,
                      double *band) {
    for (unsigned i = 1; i < FORECAST_POINTS; i++) {
        double low = forecast_factor[i - 1], high = forecast_factor[i];
        if (factor >= low && factor <= high) {
            double share = log2(factor / low) / log2(high / low);
            *hit_ratio = t->hit_ratio[i - 1] + (t->hit_ratio[i] - t->hit_ratio[i - 1]) * share;
            *band = t->band[i - 1] + (t->band[i] - t->band[i - 1]) * share;
            return true;
        }
    }
    return false;
}

static bool find_policy(const struct forecast_told *t, const struct evict_policy *policy,
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

void forecast_log_told(struct forecast_log *l, const struct forecast_told *t) { l->told = *t; }

static struct forecast *last_waiting(struct forecast_log *l) {
    struct forecast *last = l->count > 0 ? &l->kept[l->count - 1] : NULL;
    return last != NULL && last->state == FORECAST_WAITS ? last : NULL;
}

static void keep(struct forecast_log *l, const struct forecast *f) {
    if (l->count == FORECAST_KEPT) {
        memmove(l->kept, l->kept + 1, sizeof l->kept - sizeof *l->kept);
        l->count--;
    }
    l->kept[l->count++] = *f;
    l->made++;
    l->windows = 0;
    l->hits = l->misses = 0;
}

void forecast_log_changed(struct forecast_log *l, const struct forecast *change) {
    struct forecast f = *change, *before = last_waiting(l);
    bool sizes = f.bytes_was != f.bytes_is, policies = f.policy_was != f.policy_is;
    if (before != NULL) {
        before->state = FORECAST_OVERTAKEN;
    }
    /* there is no forecast for both changes at once */
    bool told = l->told.enough && sizes != policies &&
                (sizes ? find_size(&l->told, (double)f.bytes_is / (double)f.bytes_was, &f.expected,
                                   &f.band)
                       : find_policy(&l->told, f.policy_is, &f.expected, &f.band));
    if (told) {
        f.state = FORECAST_WAITS;
        f.before = l->told.hit_ratio[POINT_NOW];
        keep(l, &f);
    }
    /* the forecasts were about the cache before the change */
    l->told = (struct forecast_told){.enough = false};
    snprintf(l->told.lacks, sizeof l->told.lacks, "the cache changed a moment ago");
}

void forecast_log_window(struct forecast_log *l, uint64_t hits, uint64_t misses) {
    struct forecast *f = last_waiting(l);
    if (f == NULL) {
        return;
    }
    if (l->windows++ >= FORECAST_SETTLE) {
        l->hits += (double)hits;
        l->misses += (double)misses;
    }
    if (l->windows == FORECAST_SETTLE + FORECAST_MEASURE && l->hits + l->misses > 0) {
        f->came = l->hits / (l->hits + l->misses);
        f->state = FORECAST_CAME;
        l->came++;
        l->within += fabs(f->came - f->expected) <= f->band;
    }
}
