/* Items in the index and the queues. */
#ifndef SLATE_CACHE_ITEMS_LINK_H
#define SLATE_CACHE_ITEMS_LINK_H
#include "cache/partition.h"

/* Finds the live item of a key; unlinks and counts a dead item. The hint, which may be zeroes,
 * becomes the item's, for index_change_begin. */
struct item *link_find_locked(struct cache_thread *, struct partition *, const struct key *);
struct item *link_find_from_locked(struct cache_thread *, struct partition *, const struct key *,
                                   struct index_hint *);
/* Makes a filled item visible, in place of `old` unless that is NULL. False: the index has no room,
 * and no item in the way may be evicted. */
bool link_insert_locked(struct cache_thread *, struct partition *, const struct key *,
                        struct item *taken, struct item *old, uint64_t cas);
void link_remove_locked(struct cache_thread *, struct partition *, uint64_t hash, struct item *);
/* After a new value was written in place: the sums and the queue follow. `more_bytes` is the
 * growth, modulo 2^64. */
void link_renew_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id,
                       uint64_t more_bytes);
/* Brackets the change, so that no lock-free reader, and no store that joins old data, sees half of
 * it. */
void link_touch_locked(struct partition *, const struct key *, struct item *, uint32_t exptime_s);
void link_mark_hit_locked(struct cache_thread *, struct partition *, struct item *);
/* For an add that found this item. The policy treats the item as read; the item does not count as
 * fetched. */
void link_mark_wanted_locked(struct cache_thread *, struct partition *, struct item *);
/* Unlinks an item of the class, because others need its memory. */
void link_evict_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id);
/* Unlinks a dead item, and counts the item as reclaimed. */
void link_reclaim_locked(struct cache_thread *, struct partition *, struct item *,
                         unsigned class_id, uint64_t hash);
void link_count_eviction(struct cache_thread *, const struct item *, unsigned class_id,
                         uint64_t hash);
/* Writes the header of a new item into a chunk that the caller owns. Returns the place for the
 * value of an unchained item; the caller writes the value. */
char *link_init_item(struct cache_thread *, struct item *, uint8_t flags, const struct key *,
                     uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
static inline uint64_t link_next_cas_locked(struct partition *p, uint64_t wanted) {
    return wanted != 0 ? wanted : (p->cas += p->cas_step);
}
#endif
