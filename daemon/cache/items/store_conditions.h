/* What every store obeys. */
#ifndef SLATE_CACHE_ITEMS_STORE_CONDITIONS_H
#define SLATE_CACHE_ITEMS_STORE_CONDITIONS_H
#include "cache/partition.h"

uint8_t store_item_flags(const struct cache *, uint32_t client_flags, bool binary_key);
/* The condition of a store against the item that is there (or NULL). */
enum cache_status store_condition_of(const struct cache_store *, const struct item *old);
static inline enum cache_status store_condition(const struct cache_store *s,
                                                const struct item *old) {
    return s->mode == CACHE_SET && !s->compare ? CACHE_OK : store_condition_of(s, old);
}
/* Whether a store of meta I has a lower CAS than the item that it replaces: its client was
 * overtaken by another. */
bool store_marks_stale(const struct cache_store *, const struct item *old);
/* The marks that a comparing store leaves: a store that comes late makes the new item stale. */
uint8_t store_marks(const struct cache_store *, const struct item *old);
/* Removes the old item of a set that failed, so that its value does not stay behind. */
void store_remove_old(struct cache_thread *, const struct key *, const struct cache_store *);
/* Ends every store: counts what became of it, and removes the old item of a set that failed for its
 * size or for lack of memory. `class_id` is the class of the item that was stored, or of the old
 * item that refused the store. Returns the status. Takes the partition's lock. */
enum cache_status store_end(struct cache_thread *, const struct key *, const struct cache_store *,
                            enum cache_status, unsigned class_id);
#endif
