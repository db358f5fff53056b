/* Results of the sampled keys for statistics. Threading: any thread. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "control/sampling/whatif_internal.h"

enum { READS_MIN = 64 }; /* sampled reads before a curve is shown */

void whatif_facts(struct whatif *w, struct whatif_facts *f) {
    struct cache_sample_facts samples;
    cache_sample_facts(w->cache, &samples);
    *f = (struct whatif_facts){.hit_ratio = NAN,
                               .records = samples.written,
                               .dropped = samples.dropped,
                               .memory_most_bytes = whatif_memory_most(w),
                               .limit_bytes = whatif_cache_bytes(w)};
    lock_take(&w->lock);
    f->on = w->rate > 0 && w->shadow != NULL;
    f->follows = w->follow;
    f->running = w->running;
    if (w->rate > 0) {
        memcpy(f->why, w->why, sizeof f->why);
    } else {
        snprintf(f->why, sizeof f->why, "nothing is sampled: sample_rate is 0%s",
                 w->follow ? ", and s3auto keeps the policy there is" : "");
    }
    memcpy(f->changed, w->changed, sizeof f->changed);
    f->changes = w->changes;
    f->memory_bytes = samples.ring_bytes;
    if (w->shadow != NULL) {
        f->rate = f->on ? sample_rate(w->below) : 0;
        f->hit_ratio =
            w->lately.hits + w->lately.misses > 0 ? reads_hit_ratio(&w->lately) : (double)NAN;
        f->hit_ratio_longer = reads_hit_ratio(&w->longer);
        f->windows = shadow_windows(w->shadow);
        f->keys = shadow_fill(w->shadow).nodes;
        f->memory_bytes =
            sizeof *w + sizeof *w->hot + samples.ring_bytes + shadow_memory(w->shadow);
    }
    lock_release(&w->lock);
}

unsigned whatif_policies(struct whatif *w, unsigned class_id,
                         struct whatif_policy to[SHADOW_POLICIES_MAX]) {
    unsigned n = 0;
    lock_take(&w->lock);
    for (; w->shadow != NULL && n < SHADOW_POLICIES_MAX && evict_policies[n] != NULL; n++) {
        bool whole = class_id == SLAB_CLASS_NONE;
        to[n].policy = evict_policies[n];
        to[n].tally =
            whole ? shadow_policy(w->shadow, n) : shadow_class_policy(w->shadow, class_id, n);
        if (to[n].tally.reads < (whole ? 1 : WHATIF_CLASS_READS_MIN)) {
            n = 0;
            break;
        }
        /* the cache's misses are not counted by class; the misses of `own` stand for them */
        double real = whole ? reads_hit_ratio(&w->lately)
                            : 1 - to[n].tally.own_misses / to[n].tally.reads;
        to[n].hit_ratio = shadow_hit_ratio(&to[n].tally, real);
        to[n].difference = to[n].hit_ratio - real;
        to[n].doubt = to[n].policy == w->running ? 0
                      : whole ? prediction_policy_band(w->shadow, &to[n].tally, real)
                              : prediction_band(shadow_error(&to[n].tally, real), 0, 0);
    }
    lock_release(&w->lock);
    return n;
}

/* A point of the whole cache's curve. The cache's own misses are counted, so the misses of the
 * sample are scaled to them. */
static struct whatif_point whatif_point_of_all(const struct whatif *w,
                                               const struct share_classes *k, double now_bytes,
                                               double factor) {
    const struct curve *c = shadow_curve(w->shadow);
    double smaller[CURVE_CLASSES], gain_error = 0;
    double sampled = curve_miss_ratio(c), missed = 1 - reads_hit_ratio(&w->lately),
           scale = sampled > 0 && w->lately.misses > 0 ? missed / sampled : 1;
    growth_divide(c, k, now_bytes * fmin(factor, 1), smaller);
    double miss_ratio = fmin(scale * (1 - curve_all_hit_ratio(c, smaller, 1)), 1);
    if (factor > 1) {
        struct growth g = growth_saved(c, k, now_bytes, now_bytes * factor);
        double error, compulsory = missed * curve_compulsory_ratio(c, &error);
        growth_gain(c, &g, missed, &gain_error);
        miss_ratio -= g.saved * fmax(miss_ratio - compulsory, 0);
    }
    return (struct whatif_point){.hit_ratio = 1 - miss_ratio,
                                 .band = hypot(curve_all_error(c, smaller, 1), gain_error)};
}

bool whatif_curve(struct whatif *w, unsigned class_id, struct whatif_curve *c) {
    struct share_classes classes;
    bool all = class_id == SLAB_CLASS_NONE;
    double used = 0;
    whatif_classes_bytes(w, &classes);
    for (unsigned i = 1; i < CURVE_CLASSES; i++) {
        used += all || class_id == i ? classes.bytes[i] : 0;
    }
    double now = all ? (double)whatif_cache_bytes(w) : used;
    *c = (struct whatif_curve){.bytes = (uint64_t)now, .used_bytes = (uint64_t)used};
    lock_take(&w->lock);
    const struct curve *curve = w->shadow != NULL ? shadow_curve(w->shadow) : NULL;
    c->reads = curve != NULL ? curve_reads(curve, class_id) : 0;
    c->first_reads = curve != NULL ? curve_first_reads(curve, class_id) : -1;
    bool known = c->reads >= READS_MIN && used > 0 && shadow_has_classes(w->shadow, &classes);
    double error, missed = 1 - reads_hit_ratio(&w->lately);
    c->compulsory_ratio = known ? missed * curve_compulsory_ratio(curve, &error) : NAN;
    for (int i = -1; known && i < WHATIF_POINTS; i++) {
        double factor = i < 0 ? 1 : exp2((i - WHATIF_POINTS / 2) * 3.0 / (WHATIF_POINTS / 2));
        struct whatif_point *to = i < 0 ? &c->now : &c->points[i];
        *to =
            all ? whatif_point_of_all(w, &classes, now, factor)
                : (struct whatif_point){.hit_ratio = curve_hit_ratio(curve, class_id, now * factor),
                                        .band = curve_error(curve, class_id, now, factor)};
        to->bytes = (uint64_t)(now * factor);
        to->band = prediction_band(to->band, 0, 0);
    }
    lock_release(&w->lock);
    return known;
}

void whatif_predictions(struct whatif *w, struct prediction_log *to) {
    lock_take(&w->lock);
    *to = w->predictions;
    bool on = w->rate > 0 && w->shadow != NULL;
    /* the change will be noted when the window ends */
    if (on && to->made.enough &&
        (cache_policy(w->cache) != w->running || whatif_is_resized(w))) {
        prediction_forget(&to->made);
    }
    lock_release(&w->lock);
    if (!on) {
        to->made = (struct prediction){.enough = false};
        snprintf(to->made.lacks, sizeof to->made.lacks, "nothing is sampled");
    } else if (!to->made.enough && to->made.lacks[0] == '\0') {
        snprintf(to->made.lacks, sizeof to->made.lacks, "no quarter of a turnover was seen yet");
    }
}

unsigned whatif_hot(struct whatif *w, uint64_t now_us, struct hot_totals *totals,
                    struct hot_key *to, unsigned max) {
    unsigned n = 0;
    *totals = (struct hot_totals){0};
    lock_take(&w->lock);
    if (w->hot != NULL) {
        n = hot_sorted(w->hot, now_us, totals, to, max);
    }
    lock_release(&w->lock);
    return n;
}
