/* Bringing a memory file's classes and pages back to a slab store, before anybody stores or reads.
 * What lies in the pages is for the cache to look at (cache/adopt/).
 *
 * A page is the class's that its entry in the file's table names, if the entry tells the size of
 * that class's chunks: it is made so with the last store of a page's coming, and unmade with the
 * first of its going. */
#ifndef SLATE_MEM_RECALL_H
#define SLATE_MEM_RECALL_H
#include "mem/slab.h"

/* Of a new slab of a memory file that is not new: its classes, with the ids they had. False: what
 * the file says is no geometry. */
bool recall_classes(struct slab *);

struct recall {
    uint32_t pages;      /* that classes have */
    uint32_t torn_pages; /* whose entry names no class, or another size: they go to the pool */
    uint32_t *list;      /* their numbers, oldest first; the caller's to free */
};
/* Gives every page to its class, with no free chunk in it yet, and the others to the pool. False:
 * out of memory. */
bool recall_pages(struct slab *, struct recall *);
/* The chunks of a page that are free, linked through node.next; they are FREE. Any thread. */
void recall_free_chunks(struct slab *, uint32_t page, uint32_t free_head, uint32_t free_count);
#endif
