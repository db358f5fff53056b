/* Items in and out of index and queues. */
#ifndef SLATE_CACHE_ITEMS_LINK_H
#define SLATE_CACHE_ITEMS_LINK_H
#include "cache/partition.h"

/* Finds the live item of a key. A dead item is unlinked and counted on the way. The spot, which may
 * be zeroes, becomes that of the item, for index_change_begin. */
struct item *link_find_locked(struct cache_thread *, struct partition *, const struct key *);
struct item *link_find_from_locked(struct cache_thread *, struct partition *, const struct key *,
                                   struct index_hint *);
/* Makes a filled draft visible, in place of `old` if that is not NULL. False: the index has no
 * room, and no rival may be evicted. */
bool link_insert_locked(struct cache_thread *, struct partition *, const struct key *,
                        struct item *taken, struct item *old, uint64_t cas);
void link_remove_locked(struct cache_thread *, struct partition *, uint64_t hash, struct item *);
/* The item got a new value where it lies and takes `more_bytes` more (modulo 2^64: it may be
 * fewer). The sums and the queue follow. */
void link_renew_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id,
                       uint64_t more_bytes);
/* Brackets a change in place that a lock-free reader, or a store that joins with what it read, must
 * not see half done. */
void link_touch_locked(struct partition *, const struct key *, struct item *, uint32_t exptime_s);
void link_mark_hit_locked(struct cache_thread *, struct partition *, struct item *);
/* An add found this item in its way. The policy keeps the item as if it had been read, but it does
 * not count as read. */
void link_mark_wanted_locked(struct cache_thread *, struct partition *, struct item *);
/* Unlinks an item of the class because others need its memory. */
void link_evict_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id);
/* Unlinks a dead item, and counts it as reclaimed. */
void link_reclaim_locked(struct cache_thread *, struct partition *, struct item *,
                         unsigned class_id, uint64_t hash);
void link_count_eviction(struct cache_thread *, const struct item *, unsigned class_id,
                         uint64_t hash);
/* Writes the header of a new item into a chunk that the caller owns. Returns where the value of an
 * unchained item goes; the value itself is not written. */
char *link_init_item(struct cache_thread *, struct item *, uint8_t flags, const struct key *,
                     uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
static inline uint64_t link_next_cas_locked(struct partition *p, uint64_t wanted) {
    return wanted != 0 ? wanted : (p->cas += p->cas_step);
}
#endif
