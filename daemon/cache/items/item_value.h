/* An item's class, bytes, view and value. */
#ifndef SLATE_CACHE_ITEMS_ITEM_VALUE_H
#define SLATE_CACHE_ITEMS_ITEM_VALUE_H
#include "cache/partition.h"

unsigned chained_item_class(const struct cache *, const struct item *);
/* The class of the item's queue: the class of its chunk or, if the item is chained, of its first
 * tail, because eviction is to free the tails' memory. */
static inline unsigned cache_item_class(const struct cache *c, const struct item *it) {
    return item_chained(it) ? chained_item_class(c, it)
                            : slab_page_class(c->slab, arena_page_of(c->arena, it));
}
/* True if the size alone gives an item's class and memory. */
static inline bool item_class_is_by_size(const struct cache *c, size_t total_bytes) {
    return total_bytes <= c->slab_bytes_most;
}
/* The class for an unchained item of which `value_bytes` are value. SLAB_CLASS_NONE: the item must
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
/* The part of a chained item's value in its head, from the item's layout. */
static inline uint32_t value_bytes_in_head(const struct cache *c, const struct item *it) {
    size_t offset = item_value_offset(item_flags(it), item_key_len(it), item_value_bytes(it));
    return item_chained(it) && offset < c->block_bytes ? c->block_bytes - (uint32_t)offset : 0;
}
/* Copies a small item's value. `to` has room for ITEM_COPY_MAX + 8 bytes. */
void item_value_copy_locked(const struct cache *, const struct item *, char *to);
uint64_t cache_item_requested_bytes(const struct cache *, const struct item *);
void     cache_view_item(const struct cache *, const struct item *, struct cache_view *);
/* Copies the key of a chunk with unknown contents, for a lookup. The buffer has KEY_BYTES_MAX + 14
 * bytes. False: the chunk is no item. */
bool     item_copy_key_guarded(const struct item *, char *bytes, struct key *);
/* True if a reference from a chunk with unknown contents points to a chunk of some class. */
bool     item_chunk_is_at(const struct cache *, uint32_t ref);
#endif
