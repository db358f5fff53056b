/* How much memory items would have, were the cache of another size.
 *
 * Half the pages are not half the memory of every class. A class that is in use keeps a page, so
 * where pages are few the classes that have many lose nearly all of them. What that costs, the
 * curves of the classes tell (sample/curve.h); a miniature, which knows no classes, is then given
 * that part of its memory that costs as much when all classes shrink alike. The curves are the
 * LRU's, but what is asked of them is a size, which holds for other policies too. A class that
 * grows needs no such care. Threading: whoever owns the curves. */
#ifndef SLATE_SAMPLE_SHARE_H
#define SLATE_SAMPLE_SHARE_H
#include "sample/curve.h"

/* By class: what its pages hold, what of it lies in free chunks, and what an item takes, 0 where
 * items differ. */
struct share_classes {
    double bytes[CURVE_CLASSES], idle[CURVE_CLASSES], chunk_bytes[CURVE_CLASSES];
    double page_bytes;
};

/* A class of so large items that a sample at this rate has less than two of those it holds stands
 * apart: a few of its keys are in the sample or none, and would take as much memory there from all
 * others as hundreds of small ones, which they cannot in the cache. */
bool share_apart(const struct share_classes *, unsigned class_id, double rate);

/* Bytes that items, but not those of classes that stand apart, would have in `factor` times so many
 * bytes of cache. What lies in free chunks today lies there at any larger size, but as much of it
 * that less than half would be left may not be meant to stay. Cost: some hundred looks at every
 * curve when factor is below 1. */
double share_at(const struct curve *, const struct share_classes *, double cache_bytes,
                double factor, double rate);
#endif
