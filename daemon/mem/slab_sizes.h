/* Changes the chunk sizes of a slab store. One thread at a time calls; between two calls every turn
 * that was under way has ended. */
#ifndef SLATE_MEM_SLAB_SIZES_H
#define SLATE_MEM_SLAB_SIZES_H
#include "mem/slab_class.h"

/* Makes these sizes the geometry. A living class of one of the sizes stays, or is active again; the
 * other sizes get new ids; classes of no such size are retired. False, with no change: there are
 * too few free ids. */
bool slab_set_sizes(struct slab *, const struct size_list *);
/* How many ids a change to these sizes lacks; 0: the change can be made. */
unsigned slab_ids_missing(const struct slab *, const struct size_list *);
/* Frees the ids of retired classes that have no page, but for those that are `named`: a new
 * class with such an id would be taken for the old one. Returns the freed ids. */
struct class_set slab_reap(struct slab *, const struct class_set *named);
/* The rules that a list of sizes must keep. */
void     slab_rules(const struct slab *, struct size_rules *);
/* The class of the next larger chunks; SLAB_CLASS_NONE: there is none. */
unsigned slab_next_class(const struct slab *, unsigned class_id);
#endif
