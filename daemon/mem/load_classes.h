/* Brings a memory file's classes and pages back to a slab store, before any store or read. The
 * cache checks the contents of the pages (cache/persist/).
 *
 * A page belongs to the class that its entry in the file's table names, if the entry has that
 * class's chunk size. The last store of a page's hand-over to a class makes this true; the first
 * store of the page's withdrawal ends it. */
#ifndef SLATE_MEM_LOAD_CLASSES_H
#define SLATE_MEM_LOAD_CLASSES_H
#include "mem/slab.h"

/* Loads the classes, with their former ids, of a file that is not new, into a new slab. False: the
 * file's classes are no geometry. */
bool load_classes(struct slab *);

struct load_result {
    uint32_t pages;      /* pages that classes have */
    /* pages whose entry names no class, or another chunk size: they go to the pool */
    uint32_t torn_pages;
    uint32_t *list;      /* their numbers, oldest first; the caller frees it */
};
/* Gives every page to its class, with no free chunk in it yet, and the other pages to the pool.
 * False: out of memory. */
bool load_pages(struct slab *, struct load_result *);
/* Gives a page its list of free chunks, which are FREE and linked through node.next. Any thread. */
void load_free_chunks(struct slab *, uint32_t page, uint32_t free_head, uint32_t free_count);
#endif
