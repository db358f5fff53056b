/* Inserts items into the index and the queues, and removes them: every change of the cache's
 * contents passes here. */
#include "cache/items/link.h"

#include "base/failpoint.h"
#include "cache/admin/cache_events.h"
#include "cache/admin/sampling.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/pinned.h"

char *link_init_item(struct cache_thread *ct, struct item *it, uint8_t flags, const struct key *key,
                     uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s) {
    /* Pairs with readers that still take this chunk for its old item: they see the bucket's version
     * change before the stores below. */
    atomic_thread_fence(memory_order_release);
    node_set_mark(&it->node, 0);
    node_set_time_s(&it->node, cache_stamp_s(ct));
    atomic_store_explicit(&it->node.key_len, key->len, memory_order_relaxed);
    item_set_flags(it, (uint8_t)(flags | CHUNK_FILLING));
    ordered_fence(); /* a crash during an overwrite in place leaves a FILLING chunk */
    item_store32(&it->exptime_s, exptime_s);
    item_store32(&it->value_bytes, value_bytes);
    if (value_bytes > ITEM_COPY_MAX) {
        /* the link's count */
        atomic_store_explicit(item_refs(it), 1, memory_order_relaxed);
    }
    if (flags & ITEM_CFLAGS) {
        item_store32((void *)((char *)it + item_cflags_offset(flags, value_bytes)), client_flags);
    }
    char *at = (char *)it + item_key_offset(flags, value_bytes);
    bytes_store(at, key->ptr, key->len);
    return at + key->len;
}

/* Adds the policy's moves since the last call to this thread's counters. */
static void link_count_moves(struct cache_thread *ct, struct evict_queue *q, unsigned class_id) {
    struct cache_class_counters *n = &ct->classes[class_id];
    if (q->moves.to_cold | q->moves.to_warm | q->moves.within) {
        counter_add(&n->moves_to_cold, q->moves.to_cold);
        counter_add(&n->moves_to_warm, q->moves.to_warm);
        counter_add(&n->moves_within_lru, q->moves.within);
        q->moves = (struct evict_moves){0};
    }
}

/* Takes an unlinked item, which the index no longer has, out of its queue, and drops the link's
 * count. */
static void link_detach_locked(struct cache_thread *ct, struct partition *p, struct item *it) {
    struct cache *c = ct->cache;
    struct class_queue *class_queue = p->class_queues[cache_item_class(c, it)];
    uint64_t bytes = cache_item_requested_bytes(c, it);
    evict_remove(&class_queue->queue, &it->node);
    class_queue->requested_bytes -= bytes;
    p->bytes -= bytes;
    if (!item_large(it) && !item_chained(it)) {
        magazine_push_locked(ct, p, ref_of_item(c, it));
    } else if (!item_large(it) ||
               atomic_fetch_sub_explicit(item_refs(it), 1, memory_order_acq_rel) == 1) {
        node_set_next(&it->node,
                      ct->deferred_items != NULL ? ref_of_item(c, ct->deferred_items) : 0);
        ct->deferred_items = it;
    } else {
        pinned_add(c, (int64_t)bytes);
    }
}

static bool link_is_temporary(const struct cache_thread *ct, const struct item *it) {
    int64_t ttl_s = atomic_load_explicit(&ct->cache->temporary_ttl_s, memory_order_relaxed);
    uint32_t exptime_s = item_exptime_s(it);
    return ttl_s >= 0 && exptime_s != 0 && (int64_t)exptime_s - (int64_t)ct->now_s <= ttl_s;
}

void link_renew_locked(struct cache_thread *ct, struct partition *p, struct item *it,
                       unsigned class_id, uint64_t more_bytes) {
    assert(lock_held(&p->lock));
    struct class_queue *class_queue = p->class_queues[class_id];
    class_queue->requested_bytes += more_bytes;
    p->bytes += more_bytes;
    evict_renew(queue_now(ct, class_queue), &it->node, link_is_temporary(ct, it), item_now_s(ct));
    link_count_moves(ct, &class_queue->queue, class_id);
    COUNT(ct, total_items);
}

void link_remove_locked(struct cache_thread *ct, struct partition *p, uint64_t hash,
                        struct item *it) {
    assert(lock_held(&p->lock));
    item_set_unlinked(it);
    failpoint_reach("item_loose");
    index_remove(&p->index, hash, ref_of_item(ct->cache, it));
    link_detach_locked(ct, p, it);
}

/* --- out, because others need the memory --- */

void link_count_eviction(struct cache_thread *ct, const struct item *it, unsigned class_id,
                         uint64_t hash) {
    bool for_readers = !ct->moves_pages && pinned_are_much(ct->cache);
    COUNT_CLASS(ct, class_id, evicted);
    if (ct->moves_pages) {
        COUNT_CLASS(ct, class_id, evicted_by_moves);
        ct->moves_evicted++;
    } else if (for_readers) {
        COUNT_CLASS(ct, class_id, evicted_by_readers);
    }
    if (event_watched(EVENT_EVICTIONS)) {
        cache_event_eviction(ct, it, class_id);
    }
    struct ghost *ghost = atomic_load_explicit(&ct->cache->ghost, memory_order_acquire);
    if (ghost != NULL && !ct->refits && !for_readers) {
        ghost_evicted(ghost, class_id, hash, item_exptime_s(it), ct->now_s);
    }
    uint32_t now_s = item_now_s(ct), used_s = node_used_s(&it->node),
             age_s = now_s > used_s ? now_s - used_s : 0;
    /* each step is four times as long as the previous step */
    unsigned step = age_s == 0 ? 0 : (31u - (unsigned)__builtin_clz(age_s)) / 2 + 1;
    counter_add(&ct->ages[class_id].each[step < CACHE_AGES ? step : CACHE_AGES - 1], 1);
    _Atomic uint32_t *last = &ct->cache->evicted_age_s[class_id];
    /* the age changes seldom, so threads seldom write this line */
    if (atomic_load_explicit(last, memory_order_relaxed) != age_s) {
        atomic_store_explicit(last, age_s, memory_order_relaxed);
    }
    if (item_exptime_s(it) != 0) {
        COUNT_CLASS(ct, class_id, evicted_nonzero);
    }
    if (!node_fetched(&it->node)) {
        COUNT_CLASS(ct, class_id, evicted_unfetched);
    }
    if (node_hits(&it->node) > 1) {
        COUNT_CLASS(ct, class_id, evicted_active);
    }
}

void link_reclaim_locked(struct cache_thread *ct, struct partition *p, struct item *it,
                         unsigned class_id, uint64_t hash) {
    COUNT_CLASS(ct, class_id, reclaimed);
    if (!node_fetched(&it->node)) {
        COUNT_CLASS(ct, class_id, expired_unfetched);
    }
    link_remove_locked(ct, p, hash, it);
}

void link_evict_locked(struct cache_thread *ct, struct partition *p, struct item *it,
                       unsigned class_id) {
    uint64_t hash = item_hash(&it->node);
    if (cache_item_dead(ct->cache, it, ct->now_s)) {
        link_reclaim_locked(ct, p, it, class_id, hash);
        return;
    }
    link_count_eviction(ct, it, class_id, hash);
    evict_note_evicted(&p->class_queues[class_id]->queue, &it->node);
    link_remove_locked(ct, p, hash, it);
}

/* The index has no free place for this hash: evicts the least recently used of the items that fill
 * the places. False: none of them may be evicted. */
static bool link_evict_bucket_locked(struct cache_thread *ct, struct partition *p, uint64_t hash) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t refs[INDEX_CHAIN_MOST];
    struct item *oldest = NULL;
    /* a random one of the items used in the same second */
    unsigned count = index_candidates(&p->index, hash, refs),
             start = (unsigned)random_next(&ct->random);
    for (unsigned i = 0; i < count; i++) {
        struct item *it = item_at(c, refs[(start + i) % count]);
        if (cache_item_dead(c, it, ct->now_s)) {
            oldest = it;
            break;
        }
        if (may_evict(c, cache_item_class(c, it)) &&
            (oldest == NULL || node_used_s(&it->node) < node_used_s(&oldest->node))) {
            oldest = it;
        }
    }
    if (oldest == NULL) {
        return false;
    }
    COUNT(ct, index_evictions);
    link_evict_locked(ct, p, oldest, cache_item_class(c, oldest));
    return true;
}

/* --- in --- */

bool link_insert_locked(struct cache_thread *ct, struct partition *p, const struct key *key,
                        struct item *it, struct item *old, uint64_t cas) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    unsigned class_id = cache_item_class(c, it);
    struct class_queue *class_queue = class_queue_locked(c, p, class_id);
    if (class_queue == NULL) {
        return false;
    }
    item_set_cas(it, link_next_cas_locked(p, cas));
    item_set_linked(it);
    if (old != NULL) {
        failpoint_reach("twins");
        item_set_unlinked(old); /* before the index shows the new item */
        failpoint_reach("old_loose");
        index_replace(&p->index, key->hash, ref_of_item(c, old), ref_of_item(c, it));
        link_detach_locked(ct, p, old);
    } else if (!index_insert(&p->index, key->hash, ref_of_item(c, it)) &&
               !(link_evict_bucket_locked(ct, p, key->hash) &&
                 index_insert(&p->index, key->hash, ref_of_item(c, it)))) {
        item_set_state(it, CHUNK_FILLING);
        return false;
    }
    uint64_t bytes = cache_item_requested_bytes(c, it);
    class_queue->requested_bytes += bytes;
    p->bytes += bytes;
    evict_insert(queue_now(ct, class_queue), &it->node, link_is_temporary(ct, it), item_now_s(ct));
    link_count_moves(ct, &class_queue->queue, class_id);
    COUNT(ct, total_items);
    return true;
}

struct item *link_find_locked(struct cache_thread *ct, struct partition *p, const struct key *key) {
    struct index_hint hint = {0};
    return link_find_from_locked(ct, p, key, &hint);
}

struct item *link_find_from_locked(struct cache_thread *ct, struct partition *p,
                                   const struct key *key, struct index_hint *hint) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t ref = index_find_locked(&p->index, key, hint);
    ct->item_clock = cache_item_clock(c);
    if (ref == 0) {
        return NULL;
    }
    struct item *it = item_at(c, ref);
    bool expired = cache_item_expired(it, ct->now_s);
    if (!expired && !item_flushed_by(it, ct->item_clock)) {
        return it;
    }
    if (expired) {
        COUNT(ct, get_expired);
    } else {
        COUNT(ct, get_flushed);
    }
    uint32_t exptime_s = item_exptime_s(it);
    link_remove_locked(ct, p, key->hash, it);
    if (sampled(ct, key->hash)) {
        sampling_note(ct, SAMPLE_GONE, key->hash, SLAB_CLASS_NONE, 0, expired ? exptime_s : 0);
    }
    return NULL;
}

void link_touch_locked(struct partition *p, const struct key *key, struct item *it,
                       uint32_t exptime_s) {
    assert(lock_held(&p->lock));
    _Atomic uint32_t *change = index_change_begin(
        index_hint_at(&p->index, key->hash, node_ref(p->index.space, it)));
    item_store32(&it->exptime_s, exptime_s);
    index_version_end(change);
}

static void link_mark_locked(struct cache_thread *ct, struct partition *p, struct item *it,
                             void (*note)(struct item *, unsigned most, uint32_t now_s)) {
    assert(lock_held(&p->lock));
    struct class_queue *class_queue = p->class_queues[cache_item_class(ct->cache, it)];
    note(it, class_queue->queue.policy->hit_max, item_now_s(ct));
    if (class_queue->queue.policy->hit != NULL) {
        class_queue->queue.policy->hit(&class_queue->queue, &it->node, item_now_s(ct));
    }
}

void link_mark_hit_locked(struct cache_thread *ct, struct partition *p, struct item *it) {
    link_mark_locked(ct, p, it, item_note_hit);
}

void link_mark_wanted_locked(struct cache_thread *ct, struct partition *p, struct item *it) {
    link_mark_locked(ct, p, it, item_note_wanted);
}
