/* What the cache keeps by class. */
#ifndef SLATE_CACHE_GEOMETRY_H
#define SLATE_CACHE_GEOMETRY_H
#include "cache/partition.h"

/* What partitions may keep at hand of each class, by its chunks' size; nothing of classes that are
 * retired. */
void geometry_set_stocks(struct cache *);
void geometry_note_classes(struct cache *);
#endif
