/* Sets that assist the mover. While pages are on their way to a class, a set of that class that
 * finds no free chunk empties a part of such a page. So pages come as fast as memory is wanted,
 * whichever thread the scheduler runs. */
#ifndef SLATE_CACHE_PAGES_ASSIST_H
#define SLATE_CACHE_PAGES_ASSIST_H
#include "cache/partition.h"

/* Does a set's part of the work, for one chunk of the class. The caller holds no lock and no
 * reference: its turn ends here, and another begins. */
void assist_pages(struct cache_thread *, unsigned class_id);
/* Adds the classes of the sets' decision, and the receivers of pages on the move. False: a set
 * works on a page at this moment. From the mover's thread. */
bool assist_add_classes(struct cache *, struct class_set *);
#endif
