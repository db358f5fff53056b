#include "sample/class_share.h"

#include <math.h>

enum {
    HALVINGS = 12,  /* how often an interval is halved to find a factor */
    READS_MIN = 64, /* sampled reads from which on the curves count */
    ITEMS_MIN = 2,
};

double share_sum(const double bytes[CURVE_CLASSES]) {
    double sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        sum += bytes[i];
    }
    return sum;
}

/* Gives every class `factor` times its pages, but at least one. Returns their sum. */
static double share_shrink(const struct share_classes *k, double factor, double to[CURVE_CLASSES]) {
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        to[i] = fmax(k->bytes[i] * factor, fmin(k->bytes[i], k->page_bytes));
    }
    return share_sum(to);
}

void share_divide(const struct share_classes *k, double bytes, double to[CURVE_CLASSES]) {
    double low = 0, high = 1;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(share_shrink(k, middle, to) > bytes ? &high : &low) = middle;
    }
    share_shrink(k, low, to);
}

/* The factor by which all classes may shrink to have as many hits as with `then`; of several the
 * nearest to `factor`. */
static double share_equal_factor(const struct curve *c, const struct share_classes *k,
                                 const double then[CURVE_CLASSES], double factor) {
    double wanted = curve_all_hits(c, then, 1), low = 0, high = 1;
    bool   less = curve_all_hits(c, k->bytes, factor) > wanted;
    *(less ? &high : &low) = factor;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2, hits = curve_all_hits(c, k->bytes, middle);
        *((less ? hits > wanted : hits >= wanted) ? &high : &low) = middle;
    }
    return less ? low : high;
}

static double share_used_bytes(const struct share_classes *k, double factor, double rate) {
    double sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        sum += share_apart(k, i, rate) ? 0 : fmin(k->bytes[i] * factor, k->bytes[i] - k->idle[i]);
    }
    return sum;
}

/* Bytes for items in `factor` times the memory, without idle chunks or classes that stand apart. */
static double share_grown_bytes(const struct share_classes *k, double cache_bytes, double factor,
                                double rate) {
    double all = cache_bytes, idle = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        bool apart = share_apart(k, i, rate);
        all -= apart ? k->bytes[i] : 0;
        idle += apart ? 0 : k->idle[i];
    }
    all *= factor;
    return fmax(all - idle, all / 2);
}

bool share_apart(const struct share_classes *k, unsigned class_id, double rate) {
    return k->bytes[class_id] > 0 &&
           k->bytes[class_id] * rate < ITEMS_MIN * k->chunk_bytes[class_id];
}

double share_at(const struct curve *c, const struct share_classes *k, double cache_bytes,
                double factor, double rate) {
    double then[CURVE_CLASSES], all = cache_bytes * factor, held = share_sum(k->bytes);
    if (factor < 1 && held > all && curve_reads(c, CURVE_ALL) >= READS_MIN) {
        share_divide(k, all, then);
        return share_used_bytes(k, share_equal_factor(c, k, then, all / held), rate);
    }
    return share_grown_bytes(k, fmax(cache_bytes, held), factor, rate);
}
