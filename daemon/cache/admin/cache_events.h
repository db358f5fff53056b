/* What the cache tells those who watch (daemon/watch), and what it answers to the rooms above for
 * the same end. Never called while nobody watches. */
#ifndef SLATE_CACHE_ADMIN_CACHE_EVENTS_H
#define SLATE_CACHE_ADMIN_CACHE_EVENTS_H
#include "cache/cache.h"
#include "watch/event.h"

/* What a lookup of the key would find now, without any effect. The view is filled when it is
 * EVENT_FOUND, else zero. */
enum event_found cache_event_lookup(struct cache_thread *, const struct key *, struct cache_view *);

/* Tells that a live item is about to be dropped to make room. For this folder; the caller holds the
 * item's partition. */
void cache_event_eviction(const struct cache_thread *, const struct item *, unsigned class_id);
#endif
