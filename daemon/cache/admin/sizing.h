/* Data of the cache by class. */
#ifndef SLATE_CACHE_ADMIN_SIZING_H
#define SLATE_CACHE_ADMIN_SIZING_H
#include "cache/partition.h"

/* Sets the size of each class's magazines, by the size of its chunks. Retired classes have none. */
void sizing_set_magazines(struct cache *);
void sizing_note_classes(struct cache *);
#endif
