#include "cache/admin/cache_events.h"

#include "cache/items/item_value.h"
#include "cache/partition.h"

enum event_found cache_event_lookup(struct cache_thread *ct, const struct key *key,
                                    struct cache_view *v) {
    const struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    enum event_found found = EVENT_NOT_FOUND;
    *v = (struct cache_view){0};
    lock_take(&p->lock);
    uint32_t ref = index_find(&p->index, key);
    if (ref != 0) {
        const struct item *it = item_at(c, ref);
        if (cache_item_flushed(c, it)) {
            found = EVENT_FLUSHED;
        } else if (cache_item_expired(it, ct->now_s)) {
            found = EVENT_EXPIRED;
        } else {
            found = EVENT_FOUND;
            cache_view_item(c, it, v);
        }
    }
    lock_release(&p->lock);
    return found;
}

void cache_event_eviction(const struct cache_thread *ct, const struct item *it, unsigned class_id) {
    char key[KEY_BYTES_MAX + 14];
    uint8_t key_bytes = item_copy_key(it, key);
    uint32_t exptime_s = item_exptime_s(it), used_s = node_used_s(&it->node),
             now_s = item_now_s(ct);
    int64_t left_s = exptime_s == 0 ? -1 : (int64_t)exptime_s - (int64_t)ct->now_s;
    event_eviction(key, key_bytes, node_fetched(&it->node), left_s,
                   now_s > used_s ? now_s - used_s : 0, class_id, item_value_bytes(it));
}
