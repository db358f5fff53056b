/* Storing small values, whole and in one hold of the lock; large ones go to large.c. */
#include "cache/partition.h"

uint8_t item_flags_for(const struct cache *c, uint32_t client_flags, bool binary_key) {
    return (uint8_t)(c->cas_flag | (client_flags != 0 ? ITEM_CFLAGS : 0) | (binary_key ? ITEM_BINKEY : 0));
}

enum cache_status store_condition(const struct cache_store *s, const struct item *old) {
    if (s->compare) {
        if (old == NULL) {
            return s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND ? CACHE_NOT_STORED : CACHE_MISS;
        }
        uint64_t cas = item_cas(old);
        if (cas != s->compare_cas && !(s->compare_low && s->compare_cas < cas)) {
            return CACHE_EXISTS;
        }
    }
    switch (s->mode) {
    case CACHE_SET: return CACHE_OK;
    case CACHE_ADD: return old == NULL ? CACHE_OK : CACHE_NOT_STORED;
    case CACHE_REPLACE: return old != NULL ? CACHE_OK : CACHE_NOT_STORED;
    case CACHE_APPEND:
    case CACHE_PREPEND: return old != NULL || s->vivify ? CACHE_OK : CACHE_NOT_STORED;
    }
    return CACHE_NOT_STORED;
}

/* What the new item will be, given the old one. */
struct plan {
    bool     joins;        /* append or prepend to `old` */
    uint8_t  flags;
    uint32_t value_bytes, client_flags, exptime_s;
    unsigned class_id;     /* SLAB_CLASS_NONE: larger than any chunk */
};

static void plan_store(const struct cache *c, const struct cache_store *s, const struct key *key, const struct item *old,
                       struct plan *plan) {
    *plan = (struct plan){.value_bytes = s->value_bytes, .client_flags = s->client_flags, .exptime_s = s->exptime_s};
    plan->joins = old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    bool binary = s->binary_key;
    if (plan->joins) {
        plan->value_bytes += item_value_bytes(old);
        plan->client_flags = item_client_flags(old);
        plan->exptime_s = item_exptime_s(old);
        binary = item_flags(old) & ITEM_BINKEY;
    }
    plan->flags = item_flags_for(c, plan->client_flags, binary);
    plan->class_id = slab_class_of(c->slab, item_total_bytes(plan->flags, key->len, plan->value_bytes));
}

static void fill_value(struct item *it, const struct key *key, const struct plan *plan, const struct cache_store *s,
                       const struct item *old) {
    char *to = (char *)it + item_value_offset(plan->flags, key->len, plan->value_bytes);
    if (!plan->joins) {
        item_store_bytes(to, s->value, s->value_bytes);
        return;
    }
    char was[ITEM_COPY_MAX + 8];
    uint32_t old_bytes = item_value_bytes(old);
    item_load_bytes(was, (const char *)old + item_value_offset(item_flags(old), key->len, old_bytes), old_bytes);
    bool append = s->mode == CACHE_APPEND;
    item_store_bytes(append ? to : to + s->value_bytes, was, old_bytes);
    item_store_bytes(append ? to + old_bytes : to, s->value, s->value_bytes);
}

/* The marks a compared store leaves: a lower CAS under meta I makes the new item stale. */
uint8_t store_marks(const struct cache_store *s, const struct item *old) {
    bool lower = s->compare && s->compare_low && old != NULL && s->compare_cas < item_cas(old);
    return (uint8_t)((s->stale || lower ? ITEM_STALE : 0) | (s->won ? ITEM_WON : 0));
}

void store_counted(struct cache_thread *ct, const struct cache_store *s, enum cache_status status, unsigned class_id) {
    if (status == CACHE_OK) {
        COUNT_CLASS(ct, class_id, cmd_set);
    } else {
        COUNT(ct, cmd_set); /* refused by its condition: in no class, but a set */
    }
    if (!s->classic_cas) {
        return;
    }
    switch (status) {
    case CACHE_OK: COUNT_CLASS(ct, class_id, cas_hits); break;
    case CACHE_EXISTS: COUNT_CLASS(ct, class_id, cas_badval); break;
    case CACHE_MISS: COUNT(ct, cas_misses); break;
    case CACHE_NOT_STORED:
    case CACHE_TOO_LARGE:
    case CACHE_NO_MEMORY:
    case CACHE_NOT_A_NUMBER: break;
    }
}

bool item_over_limit(const struct cache *c, const struct key *key, uint64_t value_bytes) {
    /* CR LF counts, as it does in memcached, so that the same values fit. */
    return sizeof(struct item) + (c->cas_flag ? 8u : 0u) + key->len + value_bytes + 2 > c->config.item_bytes_max;
}

enum cache_status store_refused(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                                enum cache_status why) {
    if (why == CACHE_TOO_LARGE) {
        COUNT(ct, store_too_large);
    } else {
        COUNT(ct, store_no_memory);
    }
    if (s->mode == CACHE_SET) {
        struct partition *p = partition_of(ct->cache, key->hash);
        lock_take(&p->lock);
        struct item *old = find_live_locked(ct, p, key);
        if (old != NULL) {
            unlink_locked(ct, p, key->hash, old);
        }
        lock_release(&p->lock);
        chunks_settle(ct);
    }
    return why;
}

/* The whole of a small store. With `unchanged`, only while the chain is as that look saw it; else CACHE_EXISTS. */
static enum cache_status store_small(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                                     const struct index_look *unchanged, struct cache_view *view) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    uint32_t ref = 0; /* the chunk to store in, once we have one, of class ref_class */
    unsigned ref_class = SLAB_CLASS_NONE;
    enum cache_status status;
    struct plan plan = {0};
    lock_take(&p->lock);
    for (;;) {
        struct item *old = find_live_locked(ct, p, key);
        status = unchanged != NULL && !index_unchanged(&p->index, key, unchanged) ? CACHE_EXISTS : store_condition(s, old);
        if (status != CACHE_OK) {
            if (old != NULL) {
                plan.class_id = cache_item_class(c, old);
                if (s->mode == CACHE_ADD) {
                    mark_hit_locked(ct, p, old);
                }
            }
            break;
        }
        plan_store(c, s, key, old, &plan);
        if (item_over_limit(c, key, plan.value_bytes)) {
            status = CACHE_TOO_LARGE;
            break;
        }
        if (plan.value_bytes > ITEM_COPY_MAX || plan.class_id == SLAB_CLASS_NONE) {
            lock_release(&p->lock);
            chunks_settle(ct);
            if (ref != 0) {
                slab_give(c->slab, ref);
            }
            return store_large(ct, key, s, view);
        }
        if (ref != 0 && ref_class != plan.class_id) {
            stock_push_locked(ct, p, ref); /* the old item changed under us */
            ref = 0;
        }
        if (ref == 0) {
            ref_class = plan.class_id;
            ref = stock_pop_locked(p, ref_class);
        }
        if (ref == 0) {
            ref = chunk_evict_locked(ct, p, ref_class);
            if (ref != 0) {
                continue; /* the victim may have been `old` */
            }
        }
        if (ref == 0) {
            lock_release(&p->lock);
            chunks_settle(ct);
            ref = chunk_obtain(ct, p, ref_class);
            if (ref == 0) {
                return store_refused(ct, key, s, CACHE_NO_MEMORY);
            }
            lock_take(&p->lock);
            continue;
        }
        struct item *it = item_at(c, ref);
        item_init(ct, it, (uint8_t)(plan.flags | store_marks(s, old)), key, plan.value_bytes, plan.client_flags, plan.exptime_s);
        fill_value(it, key, &plan, s, old);
        if (!link_locked(ct, p, key, it, old, s->cas)) {
            item_set_state(it, CHUNK_FREE);
            status = CACHE_NO_MEMORY;
            break;
        }
        if (view != NULL) {
            cache_view_item(c, it, view);
        }
        ref = 0;
        break;
    }
    if (ref != 0) {
        stock_push_locked(ct, p, ref);
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    if (status == CACHE_NO_MEMORY || status == CACHE_TOO_LARGE) {
        return store_refused(ct, key, s, status);
    }
    if (unchanged == NULL) {
        store_counted(ct, s, status, plan.class_id);
    }
    return status;
}

enum cache_status cache_store(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                              struct cache_view *view) {
    return s->value_bytes > ITEM_COPY_MAX ? store_large(ct, key, s, view) : store_small(ct, key, s, NULL, view);
}

enum cache_status store_unchanged(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                                  const struct index_look *look, struct cache_view *view) {
    return store_small(ct, key, s, look, view);
}
