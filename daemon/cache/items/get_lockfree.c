/* Reads without a lock. get_locked.c has reads with an effect, and large values. */
#include "cache/items/get_lockfree.h"

#include "base/prefetch.h"
#include "cache/admin/page_value.h"
#include "cache/admin/sampling.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/pinned.h"

struct index_hint cache_prefetch_bucket(const struct cache *c, const struct key *key) {
    return index_prefetch(&partition_of(c, key->hash)->index, key->hash);
}

static uint32_t get_prefetch_item(const struct cache *c, uint32_t ref) {
    if (ref != 0) {
        const char *it = node_at(&c->arena->space, ref);
        prefetch(it);
        prefetch(it + 64);
    }
    return ref;
}

uint32_t cache_prefetch_item(const struct cache *c, const struct key *key,
                             struct index_hint hint) {
    return get_prefetch_item(c, index_guess(&partition_of(c, key->hash)->index, hint));
}

uint32_t cache_prefetch_item_behind(const struct cache *c, const struct key *key,
                                    struct index_hint hint) {
    const struct index *ix = &partition_of(c, key->hash)->index;
    return get_prefetch_item(c, index_guess_behind(ix, key->hash, hint));
}

void cache_prefetch_neighbours(const struct cache *c, uint32_t ref) {
    const struct node *n = node_at(&c->arena->space, ref);
    prefetch_to_write(node_at(&c->arena->space, node_next(n)));
    prefetch_to_write(node_at(&c->arena->space, node_prev(n)));
}

enum cache_read cache_read_begin(struct cache_thread *ct, const struct key *key,
                                 struct index_hint hint, struct cache_reader *r) {
    const struct cache *c = ct->cache;
    const struct partition *p = partition_of(c, key->hash);
    r->key = key;
    uint32_t ref = index_find_from(&p->index, key, hint, &r->seen);
    if (ref == 0) {
        r->item = NULL;
        return CACHE_READ_MISS;
    }
    struct item *it = item_at(c, ref);
    uint8_t flags = item_flags(it);
    uint32_t value_bytes = item_value_bytes(it);
    r->item = it;
    r->class_id = (uint8_t)slab_page_class(c->slab, arena_page_of(c->arena, it));
    const struct evict_policy *policy = policy_of(c, r->class_id);
    if (value_bytes > ITEM_COPY_MAX || flags & ITEM_CHAINED || cache_item_expired(it, ct->now_s) ||
        item_flushed_by(it, cache_item_clock(c)) || policy->hit != NULL) {
        return CACHE_READ_SLOW;
    }
    r->hit_max = (uint8_t)policy->hit_max;
    r->value_bytes = value_bytes;
    r->client_flags = 0;
    if (flags & ITEM_CFLAGS) {
        r->client_flags =
            item_load32((const void *)((const char *)it + item_cflags_offset(flags, value_bytes)));
    }
    r->cas = item_cas(it);
    r->marked = flags & (ITEM_STALE | ITEM_WON);
    r->value = (const char *)it + item_value_offset(flags, key->len, value_bytes);
    return CACHE_READ_COPY;
}

void cache_read_copy(const struct cache_reader *r, char *to) {
    bytes_load(to, r->value, r->value_bytes);
}

void cache_read_view(const struct cache_thread *ct, const struct cache_reader *r,
                     struct cache_view *v) {
    uint32_t exptime_s = item_exptime_s(r->item);
    *v = (struct cache_view){
        .cas = r->cas,
        .value_bytes = r->value_bytes,
        .client_flags = r->client_flags,
        .exptime_s = exptime_s,
        .exptime_before_s = exptime_s,
        .last_access_s = node_used_s(&r->item->node) - cache_item_clock(ct->cache).ahead_s,
        .fetched = node_fetched(&r->item->node),
        .binary_key = item_flags(r->item) & ITEM_BINKEY,
    };
}

/* The counters of hits by list have the order of the lists. */
__attribute__((always_inline)) static inline void
get_count_hit_inline(struct cache_thread *ct, unsigned class_id, const struct item *it) {
    unsigned where = node_where(&it->node);
    counter_add(&ct->classes[class_id].each[COUNTER_AT(cache_class_counters, hits_to_hot) +
                                            (where & EVICT_WHERE_LIST)],
                1);
    if (where & EVICT_TAIL_BOTH) {
        page_value_count_tail_hit(ct, class_id, it, where);
    }
}

void get_count_hit(struct cache_thread *ct, unsigned class_id, const struct item *it) {
    get_count_hit_inline(ct, class_id, it);
}

void get_measure_miss(struct cache_thread *ct, uint64_t hash) {
    const struct ghost *ghost = atomic_load_explicit(&ct->cache->ghost, memory_order_acquire);
    if (ghost != NULL) {
        page_value_count_miss(ct, ghost, hash);
    }
}

void get_count_miss(struct cache_thread *ct, uint64_t hash) {
    COUNT(ct, get_misses);
    get_measure_miss(ct, hash);
}

bool cache_read_end(struct cache_thread *ct, const struct cache_reader *r, bool mark_hit) {
    if (!index_unchanged(&r->seen)) {
        COUNT(ct, read_retries);
        return false;
    }
    bool sample = sampled(ct, r->key->hash);
    if (r->item == NULL) {
        get_count_miss(ct, r->key->hash);
        if (sample) {
            sampling_note(ct, SAMPLE_MISS, r->key->hash, SLAB_CLASS_NONE, 0, 0);
        }
        return true;
    }
    get_count_hit_inline(ct, r->class_id, r->item);
    if (sample) {
        /* if another item has the chunk by now, the time is that item's */
        sampling_note(ct, SAMPLE_HIT, r->key->hash, r->class_id, r->value_bytes,
                      item_exptime_s(r->item));
    }
    if (mark_hit) {
        /* The item may be unlinked by now, and its chunk may hold another item. Then the byte is a
         * false hit of that item, or lies in a free chunk: a page changes its layout only when no
         * thread is in a turn that began before (cache_quiesce). */
        item_note_hit(r->item, r->hit_max, item_now_s(ct));
    }
    return true;
}

void cache_return(struct cache_thread *ct, struct item *it) {
    if (atomic_fetch_sub_explicit(item_refs(it), 1, memory_order_acq_rel) == 1) {
        pinned_add(ct->cache, -(int64_t)cache_item_requested_bytes(ct->cache, it));
        magazine_release_item(
            ct, it); /* the item was unlinked meanwhile, and this was the last reader */
    }
}
