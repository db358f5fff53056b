/* Rules of every store. */
#ifndef SLATE_CACHE_ITEMS_STORE_CONDITIONS_H
#define SLATE_CACHE_ITEMS_STORE_CONDITIONS_H
#include "cache/partition.h"

uint8_t store_item_flags(const struct cache *, uint32_t client_flags, bool binary_key);
/* Checks a store's condition against the current item, which may be NULL. */
enum cache_status store_condition_of(const struct cache_store *, const struct item *old);
static inline enum cache_status store_condition(const struct cache_store *s,
                                                const struct item *old) {
    return s->mode == CACHE_SET && !s->compare ? CACHE_OK : store_condition_of(s, old);
}
/* True for a store of meta I with a lower CAS than the item that it replaces: another client
 * overtook this one. */
bool store_marks_stale(const struct cache_store *, const struct item *old);
/* The marks of the new item: a comparing store that comes too late leaves a stale item. */
uint8_t store_marks(const struct cache_store *, const struct item *old);
/* Removes the old item of a set that failed, so that the old value does not stay. */
void store_remove_old(struct cache_thread *, const struct key *, const struct cache_store *);
/* Ends every store: counts the result, and removes the old item of a set that failed by size or
 * lack of memory. `class_id` is the class of the stored item, or of the old item that refused the
 * store. Returns the status. Takes the partition's lock. */
enum cache_status store_end(struct cache_thread *, const struct key *, const struct cache_store *,
                            enum cache_status, unsigned class_id);
#endif
