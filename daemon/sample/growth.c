#include "sample/growth.h"

#include <math.h>

/* Memory grows in steps of this part, since what classes take changes on the way. */
enum { STEPS_A_DOUBLING = 8 };

static void growth_add(const struct curve *c, const struct share_classes *k, double held,
                       double more, double to[CURVE_CLASSES]) {
    double taking[CURVE_CLASSES], sum = 0;
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        taking[i] = curve_taking(c, i, to[i]) * fmax(k->chunk_bytes[i], 1);
        sum += taking[i];
    }
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        to[i] += more * (sum > 0 ? taking[i] / sum : to[i] / held);
    }
}

void growth_divide(const struct curve *c, const struct share_classes *k, double bytes,
                   double to[CURVE_CLASSES]) {
    double held = share_sum(k->bytes);
    share_divide(k, fmin(bytes, held), to);
    while (held > 0 && held < bytes) {
        double more = fmin(held / STEPS_A_DOUBLING, bytes - held);
        growth_add(c, k, held, more, to);
        held += more;
    }
}

static double growth_hits_beyond(const struct curve *c, const double bytes[CURVE_CLASSES],
                                 double factor, double base, double savable) {
    return fmin(fmax((curve_all_hits(c, bytes, factor) - base) / savable, 0), 1);
}

struct growth growth_saved(const struct curve *c, const struct share_classes *k, double now_bytes,
                           double then_bytes) {
    double now[CURVE_CLASSES], then[CURVE_CLASSES], all[CURVE_CLASSES];
    growth_divide(c, k, now_bytes, now);
    growth_divide(c, k, then_bytes, then);
    for (unsigned i = 0; i < CURVE_CLASSES; i++) {
        all[i] = CURVE_UNBOUNDED;
    }
    double base = curve_all_hits(c, now, 1), savable = curve_all_hits(c, all, 1) - base;
    if (savable < 1) { /* the LRU would save all with today's memory */
        return (struct growth){.saved = 1, .error = 0.5};
    }
    double saved = growth_hits_beyond(c, then, 1, base, savable),
           alike = growth_hits_beyond(c, k->bytes, then_bytes / share_sum(k->bytes), base, savable),
           off = 1 + curve_distance_error(c, then),
           distances = (growth_hits_beyond(c, then, off, base, savable) -
                        growth_hits_beyond(c, then, 1 / off, base, savable)) /
                       2,
           chance =
               curve_reads_a_key(c, CURVE_ALL) * fmax(saved * (1 - saved), 1 / savable) / savable;
    /* pages may also be divided otherwise: somewhere between these two ways */
    double division = (saved - alike) / 2;
    return (struct growth){.saved = saved,
                           .error = sqrt(chance + distances * distances + division * division)};
}

double growth_gain(const struct curve *c, const struct growth *g, double miss_ratio,
                   double *error) {
    double compulsory_error, compulsory = curve_compulsory_ratio(c, &compulsory_error);
    *error = miss_ratio * hypot(g->saved * compulsory_error, (1 - compulsory) * g->error);
    return miss_ratio * (1 - compulsory) * g->saved;
}
