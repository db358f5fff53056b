/* Changing the chunk sizes of a slab store: one thread at a time, and between two calls every turn
 * that was under way has ended. */
#ifndef SLATE_MEM_SLAB_SIZES_H
#define SLATE_MEM_SLAB_SIZES_H
#include "mem/slab_class.h"

/* Makes these sizes the geometry. A size that a living class has keeps it, or brings it back; the
 * others get ids of their own; classes whose size is not there are retired. False, and nothing
 * changed: there are not enough free ids. */
bool slab_set_sizes(struct slab *, const struct size_list *);
/* How many ids a change to these sizes needs beyond those that are free; 0: it can be made. */
unsigned slab_ids_wanting(const struct slab *, const struct size_list *);
/* Frees the ids of retired classes that have no page. Returns how many. */
unsigned slab_reap(struct slab *);
/* what a list of sizes must keep to */
void     slab_rules(const struct slab *, struct size_rules *);
/* The class of the next larger chunks; SLAB_CLASS_NONE: there are none. */
unsigned slab_next_class(const struct slab *, unsigned class_id);
#endif
