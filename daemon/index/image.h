/* All indexes of a cache as an image for the next process (base/image.h): what the pool holds, and
 * for each index where its parts lie in the pool. The image holds no address. The next process must
 * have the same kind, the same secret of key hashes and the same layout of items. Nobody reads or
 * writes the indexes meanwhile. */
#ifndef SLATE_INDEX_IMAGE_H
#define SLATE_INDEX_IMAGE_H
#include "base/image.h"
#include "index/index.h"

/* the pool comes first */
void index_pool_put(struct image *, const struct index_pool *);
void index_put(struct image *, struct index *);

/* The pool must be new: not more may be taken from it than was taken from the other. False: it is
 * smaller, or the image is not whole. */
bool index_pool_get(struct image *, struct index_pool *);
/* Makes an index that was not initialised. False: memory is out, or the image is not whole;
 * index_fini may be called either way. */
bool index_get(struct image *, struct index *, const struct index_kind *, struct index_pool *,
               const struct node_space *);
/* a hash of what both processes must have alike */
uint64_t index_layout(void);
#endif
