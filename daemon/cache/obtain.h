/* A chunk by any means. */
#ifndef SLATE_CACHE_OBTAIN_H
#define SLATE_CACHE_OBTAIN_H
#include "cache/partition.h"

/* A free chunk of the class by any means, evicting or taking a page if need be; 0: there is none to
 * be had. `large`: of a value that readers may hold, see pinned.h. No lock held. The class is one of
 * this turn's geometry; when that changes meanwhile, the chunk is of another class, and not smaller.
 * The heap store goes by `bytes`, the others by the class. */
uint32_t chunk_obtain(struct cache_thread *, struct partition *, unsigned class_id, size_t bytes,
                      bool large);
#endif
