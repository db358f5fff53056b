/* What the cache keeps by class. */
#ifndef SLATE_CACHE_ADMIN_SIZING_H
#define SLATE_CACHE_ADMIN_SIZING_H
#include "cache/partition.h"

/* Sets how many chunks partitions may keep at hand of each class, by the size of its chunks. Of
 * retired classes they keep none. */
void sizing_set_magazines(struct cache *);
void sizing_note_classes(struct cache *);
#endif
