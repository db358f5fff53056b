/* Sets that help the mover: while pages are on their way to a class, whoever stores into it and
 * finds nothing free empties a part of one. So pages come as fast as memory is wanted, whichever
 * thread the scheduler lets run. */
#ifndef SLATE_CACHE_HELP_H
#define SLATE_CACHE_HELP_H
#include "cache/partition.h"

/* A part of the work, for one chunk of the class that is wanted. No lock held, and no reference:
 * its turn ends, and another begins. */
void help_with_pages(struct cache_thread *, unsigned class_id);
#endif
