/* What a slab and its arena know beside the memory file, as a part of an image for the next process
 * (base/image.h): that has the same file, in which the page table lies. Nobody changes anything
 * meanwhile. */
#ifndef SLATE_MEM_IMAGE_H
#define SLATE_MEM_IMAGE_H
#include "base/image.h"
#include "mem/slab.h"

void slab_put(struct image *, const struct slab *);
/* Into a slab of the same file, of which nothing was taken. The limit of the arena stays its own.
 * False: the image is not whole, or of another file. */
bool slab_get(struct image *, struct slab *);
uint64_t slab_layout(void); /* what both must have alike */
#endif
