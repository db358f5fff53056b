/* Events that the cache reports to watchers (daemon/watch), and lookups for events of the rooms
 * above. Never called while nobody watches. */
#ifndef SLATE_CACHE_ADMIN_CACHE_EVENTS_H
#define SLATE_CACHE_ADMIN_CACHE_EVENTS_H
#include "cache/cache.h"
#include "watch/event.h"

/* The result that a lookup of the key would have now, without any effect. Fills the view for
 * EVENT_FOUND, else zeroes it. */
enum event_found cache_event_lookup(struct cache_thread *, const struct key *, struct cache_view *);

/* Reports that a live item is about to be dropped to free memory. For this folder; the caller holds
 * the item's partition. */
void cache_event_eviction(const struct cache_thread *, const struct item *, unsigned class_id);
#endif
