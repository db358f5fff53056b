/* The memory for items if the cache had another size.
 *
 * Half the pages are not half the memory of every class. A class in use retains a page, so where
 * pages are few, the classes with many pages lose nearly all of them. The curves of the classes
 * show the cost (sample/curve.h). A miniature, which knows no classes, then gets the part of its
 * memory whose loss costs as much when all classes shrink by one factor. The curves are the LRU's,
 * but the result is a size, which holds for other policies too. Threading: the owner of the
 * curves. */
#ifndef SLATE_SAMPLE_CLASS_SHARE_H
#define SLATE_SAMPLE_CLASS_SHARE_H
#include "sample/curve.h"

/* By class: bytes of its pages; bytes of its free chunks; and bytes of an item's chunk, 0 if items
 * differ. */
struct share_classes {
    double bytes[CURVE_CLASSES], idle[CURVE_CLASSES], chunk_bytes[CURVE_CLASSES];
    double page_bytes;
};

/* A class stands apart if its items are so large that a sample at this rate has less than two of
 * the class's items. A few of its keys are then in the sample, or none. In a miniature they would
 * take as much memory from all other classes as hundreds of small keys, which they cannot do in the
 * cache. */
bool share_apart(const struct share_classes *, unsigned class_id, double rate);

double share_sum(const double bytes[CURVE_CLASSES]);
/* The bytes of each class when all together have so many, at most as today; a page each if that
 * would be less. */
void share_divide(const struct share_classes *, double bytes, double to[CURVE_CLASSES]);

/* Bytes that items, without those of classes that stand apart, would have in `factor` times so many
 * bytes of cache. Classes may hold more than that: a page each. Free chunks of today stay free at
 * any larger size. But if free chunks leave less than half for items, they are not expected to
 * stay. Cost: some hundred look-ups in every curve when factor is below 1. */
double share_at(const struct curve *, const struct share_classes *, double cache_bytes,
                double factor, double rate);
#endif
