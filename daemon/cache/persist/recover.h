/* Recovers the items of a memory file: reads each chunk, links complete items into index, queues
 * and sums, and frees all other chunks. */
#ifndef SLATE_CACHE_PERSIST_RECOVER_H
#define SLATE_CACHE_PERSIST_RECOVER_H
#include "cache/partition.h"

/* Call before any store or read, while the partitions are empty. Uses a thread for each processor,
 * and logs a line each second. False: out of memory; the file stays valid. Takes 20 bytes an item
 * meanwhile; less, and more time, if config.process_bytes requires. */
bool recover_items(struct cache *);
#endif
