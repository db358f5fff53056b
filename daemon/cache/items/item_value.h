/* What an item is, and its value. */
#ifndef SLATE_CACHE_ITEMS_ITEM_VALUE_H
#define SLATE_CACHE_ITEMS_ITEM_VALUE_H
#include "cache/partition.h"

unsigned chained_item_class(const struct cache *, const struct item *);
/* The class whose queue an item is in: that of its chunk or, if it is chained, that of its first
 * tail, because eviction frees the tails' memory. */
static inline unsigned cache_item_class(const struct cache *c, const struct item *it) {
    return item_chained(it) ? chained_item_class(c, it)
                            : slab_page_class(c->slab, arena_page_of(c->arena, it));
}
/* Whether a size of so many bytes alone tells the class, and the memory that an item takes. */
static inline bool item_class_is_by_size(const struct cache *c, size_t total_bytes) {
    return total_bytes <= c->slab_bytes_most;
}
/* The class for an unchained item of which `value_bytes` are value; SLAB_CLASS_NONE: the item must
 * be chained. */
static inline unsigned item_unchained_class(const struct cache *c, size_t total_bytes,
                                            uint32_t value_bytes) {
    return item_class_is_by_size(c, total_bytes)
               ? slab_class_of(c->slab, total_bytes)
               : c->store->class_of(c, total_bytes, total_bytes - value_bytes);
}
static inline uint32_t item_first_tail(const struct item *chained) {
    return item_load32(item_chain((struct item *)(uintptr_t)chained));
}
/* How much of a chained item's value lies in its head. The item's layout alone tells. */
static inline uint32_t value_bytes_in_head(const struct cache *c, const struct item *it) {
    size_t offset = item_value_offset(item_flags(it), item_key_len(it), item_value_bytes(it));
    return item_chained(it) && offset < c->block_bytes ? c->block_bytes - (uint32_t)offset : 0;
}
/* Copies a small item's whole value. `to` has room for ITEM_COPY_MAX + 8 bytes. */
void item_value_copy_locked(const struct cache *, const struct item *, char *to);
uint64_t cache_item_requested_bytes(const struct cache *, const struct item *);
void     cache_view_item(const struct cache *, const struct item *, struct cache_view *);
/* Copies the key of a chunk that may be anything by now, so that it can be looked up; the buffer
 * has KEY_BYTES_MAX + 14 bytes. False: the chunk cannot be an item. */
bool     item_copy_key_guarded(const struct item *, char *bytes, struct key *);
/* Whether a reference that was read from a chunk that may be anything points to a chunk of some
 * class. */
bool     item_chunk_is_at(const struct cache *, uint32_t ref);
#endif
