/* What more memory would bring.
 *
 * A cache that gets more memory gives its pages to the classes that take memory: for new keys, and
 * for keys that they evicted. So the classes do not grow alike, as they do when they shrink. Of the
 * cache's misses some are compulsory (curve_compulsory_ratio): no memory saves them. Of the others
 * the LRU's curves tell the share that the larger cache saves. This share holds for the running
 * policy, too: what is evicted too early under one policy is so under the other. Threading: the
 * owner of the curves. Cost: some dozen look-ups in every curve. */
#ifndef SLATE_SAMPLE_GROWTH_H
#define SLATE_SAMPLE_GROWTH_H
#include "sample/class_share.h"

/* The bytes of each class when all together have so many. With less than today all shrink alike,
 * but keep a page. */
void growth_divide(const struct curve *, const struct share_classes *, double bytes,
                   double to[CURVE_CLASSES]);

struct growth {
    double saved, error; /* of the misses that are not compulsory, and the standard error */
};
/* From so many bytes to more. */
struct growth growth_saved(const struct curve *, const struct share_classes *, double now_bytes,
                           double then_bytes);
/* The rise of the hit ratio of a cache that misses this share of its reads, and its standard
 * error. */
double growth_gain(const struct curve *, const struct growth *, double miss_ratio, double *error);
#endif
