/* What a slab and its arena know beyond the memory file, written as a part of the image for the
 * next process (base/image.h). That process has the same file, and with it the page table. Nobody
 * changes the slab or the arena meanwhile. */
#ifndef SLATE_MEM_IMAGE_H
#define SLATE_MEM_IMAGE_H
#include "base/image.h"
#include "mem/slab.h"

void slab_put(struct image *, const struct slab *);
/* Reads that part into a slab of the same file, from which nothing was taken yet. The arena keeps
 * its own limit. False: the image is not whole, or is of another file. */
bool slab_get(struct image *, struct slab *);
uint64_t slab_layout(void); /* a hash of what both processes must have alike */
#endif
