/* Reads under the partition's lock: reads with an effect, and large values. A miss may create an
 * empty item. */
#include "cache/admin/sampling.h"
#include "cache/alloc/magazine.h"
#include "cache/items/get_lockfree.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/partition.h"

static void get_locked_count_miss(struct cache_thread *ct, const struct cache_fetch *f,
                                  uint64_t hash) {
    if (f->vivify) {
        get_measure_miss(ct, hash); /* the empty item is counted later: as a hit, or as a miss */
    } else if (f->touch && !f->meta) {
        /* a meta get that misses counts as a get, even if the get sets a new time */
        COUNT(ct, cmd_touch);
        COUNT(ct, touch_misses);
    } else {
        get_count_miss(ct, hash);
    }
}

static void get_locked_count_hit(struct cache_thread *ct, const struct cache_fetch *f,
                                 const struct item *it, unsigned class_id) {
    if (f->touch) {
        COUNT(ct, cmd_touch);
        COUNT_CLASS(ct, class_id, touch_hits);
    } else {
        get_count_hit(ct, class_id, it);
    }
}

/* memcached creates the item and then finds it; so the counters show a hit. */
static void get_locked_count_created(struct cache_thread *ct, const struct cache_fetch *f,
                                     unsigned class_id) {
    if (f->touch) {
        COUNT(ct, cmd_touch);
        COUNT_CLASS(ct, class_id, touch_hits);
    } else {
        COUNT_CLASS(ct, class_id, hits_to_hot);
    }
}

/* Grants the right to recache, and shows if another client has the right. A stale item grants the
 * right once; so does an item that is about to expire. */
static void get_grant_win_locked(struct cache_thread *ct, struct item *it,
                                 const struct cache_fetch *f, struct cache_view *v) {
    uint8_t flags = item_flags(it);
    uint32_t exptime_s = f->touch_first ? f->exptime_s : item_exptime_s(it);
    if (f->never_wins) {
        v->lost = v->lost || (flags & ITEM_STALE);
    } else if (!(flags & ITEM_WON)) {
        bool about =
            f->recache && exptime_s != 0 && (int64_t)exptime_s - (int64_t)ct->now_s < f->recache_s;
        v->won = about || (flags & ITEM_STALE);
    }
    if (v->won) {
        item_set_flags(it, flags | ITEM_WON);
    }
}

static void get_value_locked(const struct cache *c, struct item *it, char *to,
                             struct cache_view *v) {
    if (item_large(it)) {
        atomic_fetch_add_explicit(item_refs(it), 1, memory_order_relaxed);
        v->borrowed = it;
    } else {
        item_value_copy_locked(c, it, to);
    }
}

/* memcached creates the item and then reads it, so the item counts as fetched. */
static void get_mark_created(struct cache_thread *ct, const struct key *key, uint64_t cas) {
    struct partition *p = partition_of(ct->cache, key->hash);
    lock_take(&p->lock);
    struct item *it = link_find_locked(ct, p, key);
    if (it != NULL && item_cas(it) == cas) { /* no other client has stored meanwhile */
        link_mark_hit_locked(ct, p, it);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
}

/* Creates the empty item of a vivifying miss; the caller has won the item. CACHE_NOT_STORED:
 * another client created an item first. */
static enum cache_status get_vivify(struct cache_thread *ct, const struct key *key,
                                    const struct cache_fetch *f, struct cache_view *v) {
    struct cache_store s = {.mode = CACHE_ADD,
                            .value = "",
                            .exptime_s = f->vivify_exptime_s,
                            .cas = f->vivify_cas,
                            .binary_key = f->binary_key,
                            .won = true,
                            .uncounted = true};
    enum cache_status status = cache_store(ct, key, &s, v);
    if (status == CACHE_OK) {
        v->created = true;
        v->won = true;
        v->lost = false;
        get_locked_count_created(ct, f, v->class_id);
        if (!f->no_bump) {
            get_mark_created(ct, key, v->cas);
        }
    } else if (status != CACHE_NOT_STORED) {
        COUNT(ct, get_misses);
    }
    return status;
}

enum cache_status cache_fetch(struct cache_thread *ct, const struct key *key,
                              const struct cache_fetch *f, char *to, struct cache_view *v) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    lock_take(&p->lock);
    struct item *it = link_find_locked(ct, p, key);
    if (it == NULL) {
        lock_release(&p->lock);
        magazine_settle(ct);
        get_locked_count_miss(ct, f, key->hash);
        if (sampled(ct, key->hash)) {
            sampling_note(ct, SAMPLE_MISS, key->hash, SLAB_CLASS_NONE, 0, 0);
        }
        if (!f->vivify) {
            return CACHE_MISS;
        }
        enum cache_status status = get_vivify(ct, key, f, v);
        return status == CACHE_NOT_STORED ? cache_fetch(ct, key, f, to, v) : status;
    }
    cache_view_item(c, it, v);
    get_locked_count_hit(ct, f, it, v->class_id);
    if (f->meta) {
        get_grant_win_locked(ct, it, f, v);
    }
    if (f->touch) {
        link_touch_locked(p, key, it, f->exptime_s);
        v->exptime_s = f->exptime_s;
    }
    if (!f->no_bump) {
        link_mark_hit_locked(ct, p, it);
    }
    if (f->want_value) {
        get_value_locked(c, it, to, v);
    }
    lock_release(&p->lock);
    if (sampled(ct, key->hash)) {
        sampling_note(ct, SAMPLE_HIT, key->hash, v->class_id, v->value_bytes, v->exptime_s);
        if (f->touch) {
            sampling_note(ct, SAMPLE_TOUCH, key->hash, SLAB_CLASS_NONE, 0, v->exptime_s);
        }
    }
    return CACHE_OK;
}

enum cache_status cache_peek(struct cache_thread *ct, const struct key *key, struct cache_view *v) {
    struct partition *p = partition_of(ct->cache, key->hash);
    lock_take(&p->lock);
    uint32_t ref = index_find(&p->index, key);
    const struct item *it = ref != 0 ? item_at(ct->cache, ref) : NULL;
    bool live = it != NULL && !cache_item_dead(ct->cache, it, ct->now_s);
    if (live) {
        cache_view_item(ct->cache, it, v);
    }
    lock_release(&p->lock);
    return live ? CACHE_OK : CACHE_MISS;
}
