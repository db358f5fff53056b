/* Takes up the items of a memory file. It looks at each chunk, puts the items that are whole back
 * into index, queues and sums, and frees all other chunks. */
#ifndef SLATE_CACHE_PERSIST_RECOVER_H
#define SLATE_CACHE_PERSIST_RECOVER_H
#include "cache/partition.h"

/* Called before anybody stores or reads, while the partitions are empty. Uses a thread for each
 * processor, and logs a line each second. False: out of memory; the file is as good as before. It
 * needs 20 bytes an item while it lasts. If config.process_bytes leaves less, it needs less and
 * takes longer. */
bool recover_items(struct cache *);
#endif
