/* What an item is, and its value. */
#ifndef SLATE_CACHE_VALUE_H
#define SLATE_CACHE_VALUE_H
#include "cache/partition.h"

unsigned chained_item_class(const struct cache *, const struct item *);
/* The class whose queue an item is in: its chunk's, or that of its first tail when it is chained,
 * for that is the memory its eviction frees. */
static inline unsigned cache_item_class(const struct cache *c, const struct item *it) {
    return item_chained(it) ? chained_item_class(c, it)
                            : slab_page_class(c->slab, arena_page_of(c->arena, it));
}
/* The class for an unchained item; SLAB_CLASS_NONE: it must be chained. The block store chains what
 * does not fit a block, unless not even the key does: that takes one of the larger chunks made for
 * such heads. */
static inline unsigned whole_item_class(const struct cache *c, uint8_t flags, uint8_t key_len,
                                        uint32_t value_bytes) {
    size_t total = item_total_bytes(flags, key_len, value_bytes);
    if (total <= c->slab_bytes_most) {
        return slab_class_of(c->slab, total);
    }
    if (c->heap != NULL) {
        return HEAP_CLASS;
    }
    return total - value_bytes <= c->block_bytes ? SLAB_CLASS_NONE : slab_class_of(c->slab, total);
}
/* How much of a chained item's value lies in its head. It follows from the layout alone. */
static inline uint32_t value_bytes_in_head(const struct cache *c, const struct item *it) {
    size_t offset = item_value_offset(item_flags(it), item_key_len(it), item_value_bytes(it));
    return item_chained(it) && offset < c->block_bytes ? c->block_bytes - (uint32_t)offset : 0;
}
/* A small item's whole value; `to` has room for ITEM_COPY_MAX + 8. */
void value_copy_locked(const struct cache *, const struct item *, char *to);
uint64_t cache_item_requested_bytes(const struct cache *, const struct item *);
void     cache_view_item(const struct cache *, const struct item *, struct cache_view *);
/* Whether a reference read from a chunk that may be anything lies on a chunk of some class. */
bool     chunk_is_at(const struct cache *, uint32_t ref);
#endif
