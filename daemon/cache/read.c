/* Reading: without a lock where that can be, with it where reading has an effect or the value is large. */
#include "cache/partition.h"

void cache_prefetch_bucket(const struct cache *c, const struct key *key) {
    index_prefetch(&partition_of(c, key->hash)->index, key->hash);
}

uint32_t cache_prefetch_item(const struct cache *c, const struct key *key) {
    uint32_t ref = index_guess(&partition_of(c, key->hash)->index, key->hash);
    if (ref != 0) {
        const char *it = node_at(&c->arena->space, ref);
        __builtin_prefetch(it);
        __builtin_prefetch(it + 64);
    }
    return ref;
}

void cache_prefetch_neighbours(const struct cache *c, uint32_t ref) {
    const struct node *n = node_at(&c->arena->space, ref);
    __builtin_prefetch(node_at(&c->arena->space, node_next(n)), 1);
    __builtin_prefetch(node_at(&c->arena->space, node_prev(n)), 1);
}

enum cache_read cache_read_begin(struct cache_thread *ct, const struct key *key, struct cache_reader *r) {
    const struct cache *c = ct->cache;
    const struct partition *p = partition_of(c, key->hash);
    r->key = key;
    uint32_t ref = index_find(&p->index, key, &r->look);
    if (ref == 0) {
        r->item = NULL;
        return CACHE_READ_MISS;
    }
    struct item *it = item_at(c, ref);
    uint8_t flags = item_flags(it);
    uint32_t value_bytes = item_value_bytes(it);
    r->item = it;
    r->class_id = (uint8_t)slab_page_class(c->slab, arena_page_of(c->arena, it));
    struct item_clock clock = cache_item_clock(c);
    if (value_bytes > ITEM_COPY_MAX || flags & ITEM_CHAINED || cache_item_expired(it, ct->now_s) || item_flushed_by(it, clock) ||
        policy_of(c, r->class_id)->hit != NULL) {
        return CACHE_READ_SLOW;
    }
    r->value_bytes = value_bytes;
    r->client_flags = 0;
    if (flags & ITEM_CFLAGS) {
        r->client_flags = item_load32((const void *)((const char *)it + item_cflags_offset(flags, value_bytes)));
    }
    r->cas = item_cas(it);
    r->exptime_s = item_exptime_s(it);
    r->last_access_s = node_used_s(&it->node) - clock.ahead_s;
    r->fetched = node_fetched(&it->node);
    r->marked = flags & (ITEM_STALE | ITEM_WON);
    r->value = (const char *)it + item_value_offset(flags, key->len, value_bytes);
    return CACHE_READ_COPY;
}

void cache_read_copy(const struct cache_reader *r, char *to) { item_load_bytes(to, r->value, r->value_bytes); }

/* The counters of hits by list stand in the order of the lists. */
static void count_hit(struct cache_thread *ct, unsigned class_id, const struct item *it) {
    unsigned where = node_where(&it->node);
    counter_add(&ct->classes[class_id].each[COUNTER_AT(cache_class_counters, hits_to_hot) + (where & EVICT_WHERE_LIST)], 1);
    if (where & EVICT_TAIL_BOTH) {
        measure_tail_hit(ct, class_id, it, where);
    }
}

static void count_get_miss(struct cache_thread *ct, uint64_t hash) {
    COUNT(ct, get_misses);
    const struct ghost *ghost = atomic_load_explicit(&ct->cache->ghost, memory_order_acquire);
    if (ghost != NULL) {
        measure_miss(ct, ghost, hash);
    }
}

bool cache_read_end(struct cache_thread *ct, struct cache_reader *r, bool mark_hit) {
    const struct cache *c = ct->cache;
    if (!index_unchanged(&r->look)) {
        COUNT(ct, read_retries);
        return false;
    }
    bool sample = sampled(ct, r->key->hash);
    if (r->item == NULL) {
        count_get_miss(ct, r->key->hash);
        if (sample) {
            sample_note(ct, SAMPLE_MISS, r->key->hash, SLAB_CLASS_NONE, 0);
        }
        return true;
    }
    count_hit(ct, r->class_id, r->item);
    if (sample) {
        sample_note(ct, SAMPLE_HIT, r->key->hash, r->class_id, r->value_bytes);
    }
    if (mark_hit) {
        /* The item may be gone by now and its chunk another's. The byte is then a spurious hit of that item, or lies in a
         * free chunk: pages change their layout only when no thread is within a turn that began before (cache_quiesce). */
        page_accessed(ct, r->item);
        item_note_hit(r->item, policy_of(c, r->class_id)->hit_max, item_now_s(ct));
    }
    return true;
}

/* --- with the lock --- */

static void count_miss(struct cache_thread *ct, const struct cache_fetch *f, uint64_t hash) {
    if (f->touch && !f->meta) { /* a meta get that misses is a get, with a new time or not */
        COUNT(ct, cmd_touch);
        COUNT(ct, touch_misses);
    } else {
        count_get_miss(ct, hash);
    }
}

static void count_found(struct cache_thread *ct, const struct cache_fetch *f, const struct item *it, unsigned class_id) {
    if (f->touch) {
        COUNT(ct, cmd_touch);
        COUNT_CLASS(ct, class_id, touch_hits);
    } else {
        count_hit(ct, class_id, it);
    }
}

/* Why a key is not found although its item is still there; find_live_locked removes it next. */
static void count_dead(struct cache_thread *ct, struct partition *p, const struct key *key) {
    uint32_t ref = index_find(&p->index, key, NULL);
    if (ref == 0) {
        return;
    }
    const struct item *it = item_at(ct->cache, ref);
    if (cache_item_expired(it, ct->now_s)) {
        COUNT(ct, get_expired);
    } else if (cache_item_flushed(ct->cache, it)) {
        COUNT(ct, get_flushed);
    }
}

/* Grants and shows the right to recache. A stale item grants it once, an item about to expire likewise. */
static void settle_win_locked(struct cache_thread *ct, struct item *it, const struct cache_fetch *f, struct cache_view *v) {
    uint8_t flags = item_flags(it);
    uint32_t exptime_s = item_exptime_s(it);
    if (!(flags & ITEM_WON)) {
        bool about = f->recache && exptime_s != 0 && (int64_t)exptime_s - (int64_t)ct->now_s < f->recache_s;
        v->won = about || (flags & ITEM_STALE);
    }
    if (v->won) {
        item_set_flags(it, flags | ITEM_WON);
    }
}

static void copy_or_borrow_locked(const struct cache *c, struct item *it, char *to, struct cache_view *v) {
    if (item_large(it)) {
        atomic_fetch_add_explicit(item_refs(it), 1, memory_order_relaxed);
        v->borrowed = it;
    } else {
        value_copy_locked(c, it, to);
    }
}

/* Makes the empty item of a vivifying miss; the caller has won it. CACHE_NOT_STORED: somebody else made one first. */
static enum cache_status vivify(struct cache_thread *ct, const struct key *key, const struct cache_fetch *f,
                                struct cache_view *v) {
    struct cache_store s = {.mode = CACHE_ADD,
                            .value = "",
                            .exptime_s = f->vivify_exptime_s,
                            .cas = f->vivify_cas,
                            .binary_key = f->binary_key,
                            .won = true};
    enum cache_status status = cache_store(ct, key, &s, v);
    if (status == CACHE_OK) {
        v->created = true;
        v->won = true;
        v->lost = false;
    }
    return status;
}

enum cache_status cache_fetch(struct cache_thread *ct, const struct key *key, const struct cache_fetch *f, char *to,
                              struct cache_view *v) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    lock_take(&p->lock);
    count_dead(ct, p, key);
    struct item *it = find_live_locked(ct, p, key);
    if (it == NULL) {
        lock_release(&p->lock);
        chunks_settle(ct);
        count_miss(ct, f, key->hash);
        if (sampled(ct, key->hash)) {
            sample_note(ct, SAMPLE_MISS, key->hash, SLAB_CLASS_NONE, 0);
        }
        if (!f->vivify) {
            return CACHE_MISS;
        }
        enum cache_status status = vivify(ct, key, f, v);
        return status == CACHE_NOT_STORED ? cache_fetch(ct, key, f, to, v) : status;
    }
    cache_view_item(c, it, v);
    count_found(ct, f, it, v->class_id);
    if (f->meta) {
        settle_win_locked(ct, it, f, v);
    }
    if (f->touch) {
        touch_locked(p, key, it, f->exptime_s);
        v->exptime_s = f->exptime_s;
    }
    if (!f->no_bump) {
        mark_hit_locked(ct, p, it);
    }
    if (f->want_value) {
        copy_or_borrow_locked(c, it, to, v);
    }
    lock_release(&p->lock);
    if (sampled(ct, key->hash)) {
        sample_note(ct, SAMPLE_HIT, key->hash, v->class_id, v->value_bytes);
    }
    return CACHE_OK;
}

enum cache_status cache_peek(struct cache_thread *ct, const struct key *key, struct cache_view *v) {
    struct partition *p = partition_of(ct->cache, key->hash);
    lock_take(&p->lock);
    uint32_t ref = index_find(&p->index, key, NULL);
    const struct item *it = ref != 0 ? item_at(ct->cache, ref) : NULL;
    bool live = it != NULL && !cache_item_dead(ct->cache, it, ct->now_s);
    if (live) {
        cache_view_item(ct->cache, it, v);
    }
    lock_release(&p->lock);
    return live ? CACHE_OK : CACHE_MISS;
}

/* The value's bytes that lie in the item's own chunk. */
static struct iovec own_piece(const struct cache *c, const struct item *it) {
    uint8_t flags = item_flags(it);
    uint32_t value_bytes = item_value_bytes(it);
    return (struct iovec){.iov_base = (char *)(uintptr_t)it + item_value_offset(flags, item_key_len(it), value_bytes),
                          .iov_len = flags & ITEM_CHAINED ? value_bytes_in_head(c, it) : value_bytes};
}

void value_copy_locked(const struct cache *c, const struct item *it, char *to) {
    struct iovec own = own_piece(c, it);
    item_load_bytes(to, own.iov_base, own.iov_len);
    if (!item_chained(it)) {
        return;
    }
    to += own.iov_len;
    for (uint32_t ref = item_load32(item_chain((struct item *)(uintptr_t)it)); ref != 0;) {
        const struct tail *t = (const void *)item_at(c, ref);
        uint32_t used_bytes = item_load32(&t->used_bytes);
        item_load_bytes(to, tail_data(t), used_bytes);
        to += used_bytes;
        ref = tail_next(t);
    }
}

int cache_value_iov(const struct cache_thread *ct, const struct item *it, size_t skip, struct cache_place *place,
                    struct iovec *iov, int max) {
    const struct cache *c = ct->cache;
    struct iovec own = own_piece(c, it);
    struct cache_place at = {.before = own.iov_len};
    int n = 0;
    if (skip < own.iov_len && n < max) {
        iov[n++] = (struct iovec){(char *)own.iov_base + skip, own.iov_len - skip};
        skip = own.iov_len;
    }
    if (!item_chained(it)) {
        return n;
    }
    at.tail = item_load32(item_chain((struct item *)(uintptr_t)it));
    if (place != NULL && place->tail != 0 && place->before <= skip) {
        at = *place;
    }
    while (at.tail != 0 && n < max) {
        const struct tail *t = (const void *)item_at(c, at.tail);
        uint32_t used_bytes = item_load32(&t->used_bytes);
        if (skip < at.before + used_bytes) {
            if (place != NULL && n == 0) {
                *place = at;
            }
            iov[n++] = (struct iovec){tail_data(t) + (skip - at.before), at.before + used_bytes - skip};
            skip = at.before + used_bytes;
        }
        at = (struct cache_place){.tail = tail_next(t), .before = at.before + used_bytes};
    }
    return n;
}

void cache_return(struct cache_thread *ct, struct item *it) {
    if (atomic_fetch_sub_explicit(item_refs(it), 1, memory_order_acq_rel) == 1) {
        item_release(ct, it); /* unlinked meanwhile, and we were the last */
    }
}
