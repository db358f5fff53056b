#include "sample/class_share.h"

#include <math.h>

enum {
    HALVINGS = 12,  /* how often an interval is halved to find a factor */
    READS_MIN = 64, /* sampled reads from which on the curves are asked */
    ITEMS_MIN = 2,
};

static double sum_of(const double bytes[CURVE_CLASSES]) {
    double sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        sum += bytes[i];
    }
    return sum;
}

/* Gives every class `factor` times its pages, but at least one. Returns their sum. */
static double shrink(const struct share_classes *k, double factor, double to[CURVE_CLASSES]) {
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        to[i] = fmax(k->bytes[i] * factor, fmin(k->bytes[i], k->page_bytes));
    }
    return sum_of(to);
}

/* What each class has when all of them together have so many bytes. If that is less than a page
 * each, each has a page. */
static void divide(const struct share_classes *k, double bytes, double to[CURVE_CLASSES]) {
    double low = 0, high = 1;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2;
        *(shrink(k, middle, to) > bytes ? &high : &low) = middle;
    }
    shrink(k, low, to);
}

/* The factor at which all classes, shrinking alike, have as many hits as with `then`; of several
 * the nearest to `factor`. */
static double alike(const struct curve *c, const struct share_classes *k,
                    const double then[CURVE_CLASSES], double factor) {
    double wanted = curve_whole_hits(c, then, 1), low = 0, high = 1;
    bool   less = curve_whole_hits(c, k->bytes, factor) > wanted;
    *(less ? &high : &low) = factor;
    for (unsigned i = 0; i < HALVINGS; i++) {
        double middle = (low + high) / 2, hits = curve_whole_hits(c, k->bytes, middle);
        *((less ? hits > wanted : hits >= wanted) ? &high : &low) = middle;
    }
    return less ? low : high;
}

static double in_use(const struct share_classes *k, double factor, double rate) {
    double sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        sum += share_apart(k, i, rate) ? 0 : fmin(k->bytes[i] * factor, k->bytes[i] - k->idle[i]);
    }
    return sum;
}

/* Bytes for items of all classes that do not stand apart, without what lies idle. */
static double grown(const struct share_classes *k, double cache_bytes, double factor, double rate) {
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
    double then[CURVE_CLASSES], all = cache_bytes * factor, held = sum_of(k->bytes);
    if (factor < 1 && held > all && curve_reads(c, CURVE_WHOLE) >= READS_MIN) {
        divide(k, all, then);
        return in_use(k, alike(c, k, then, all / held), rate);
    }
    return grown(k, cache_bytes, factor, rate);
}
