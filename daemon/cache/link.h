/* Items in and out of index and queues. */
#ifndef SLATE_CACHE_LINK_H
#define SLATE_CACHE_LINK_H
#include "cache/partition.h"

/* The live item of a key; a dead one is unlinked and counted on the way. */
struct item *find_live_locked(struct cache_thread *, struct partition *, const struct key *);
struct item *find_live_from_locked(struct cache_thread *, struct partition *, const struct key *,
                                   struct index_spot);
/* Makes a filled draft visible, in place of `old` when there is one. False: the index has no room
 * and nothing in the way may be evicted. */
bool link_locked(struct cache_thread *, struct partition *, const struct key *, struct item *taken,
                 struct item *old, uint64_t cas);
void unlink_locked(struct cache_thread *, struct partition *, uint64_t hash, struct item *);
/* An item of `class_id` got a new value where it lies, with which it takes `more_bytes` (modulo
 * 2^64, for it may be less): sums and queue follow. */
void renewed_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id,
                    uint64_t more_bytes);
/* Changes in place what a lock-free reader, or a store that joins with what it read, must not see
 * half: between these. */
void touch_locked(struct partition *, const struct key *, struct item *, uint32_t exptime_s);
void mark_hit_locked(struct cache_thread *, struct partition *, struct item *);
/* The item is in the way of an add: the policy keeps it as if it had been read, but it counts as
 * not read. */
void mark_wanted_locked(struct cache_thread *, struct partition *, struct item *);
/* Unlinks an item of a class because others need its room. */
void evict_item_locked(struct cache_thread *, struct partition *, struct item *, unsigned class_id);
/* Unlinks a dead item, which counts as reclaimed. */
void reclaim_item_locked(struct cache_thread *, struct partition *, struct item *,
                         unsigned class_id, uint64_t hash);
void count_eviction(struct cache_thread *, const struct item *, unsigned class_id, uint64_t hash);
/* Header of a new item in a chunk that is the caller's. Returns where an unchained one's value
 * goes, which is not written. */
char *item_init(struct cache_thread *, struct item *, uint8_t flags, const struct key *,
                uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s);
static inline uint64_t next_cas_locked(struct partition *p, uint64_t wanted) {
    return wanted != 0 ? wanted : (p->cas += p->cas_step);
}
#endif
