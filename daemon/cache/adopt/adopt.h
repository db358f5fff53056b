/* Adopting what a memory file holds: items are looked at, and those that are whole come back to
 * index, queues and sums; what else lies in chunks is freed. */
#ifndef SLATE_CACHE_ADOPT_H
#define SLATE_CACHE_ADOPT_H
#include "cache/partition.h"

/* Before anybody stores or reads; the partitions are empty. With a thread for each processor, and a
 * line in the log for each second. False: out of memory; the file is as good as before. Takes 20
 * bytes an item while it lasts, or what config.process_bytes leaves, and more time then. */
bool adopt_items(struct cache *);
#endif
