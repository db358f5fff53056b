/* Rules of every store, small or large: condition, marks, size limit, counters. */
#include "cache/items/store_conditions.h"

#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"

uint8_t store_item_flags(const struct cache *c, uint32_t client_flags, bool binary_key) {
    return (uint8_t)(c->cas_flag | (client_flags != 0 ? ITEM_CFLAGS : 0) |
                     (binary_key ? ITEM_BINKEY : 0));
}

enum cache_status store_condition_of(const struct cache_store *s, const struct item *old) {
    bool joins = s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND;
    if (s->compare && old == NULL && !joins) {
        return CACHE_MISS;
    }
    if (s->compare && old != NULL) {
        uint64_t cas = item_cas(old);
        bool matches = s->compare_cas == cas || (s->compare_low && s->compare_cas < cas);
        if (s->compare_cas == 0 || !matches) {
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

bool store_marks_stale(const struct cache_store *s, const struct item *old) {
    return s->compare && s->compare_low && old != NULL && s->compare_cas < item_cas(old);
}

/* A store with a lower CAS by meta I makes a stale item, which is won if the old item was won. */
uint8_t store_marks(const struct cache_store *s, const struct item *old) {
    bool stale = store_marks_stale(s, old), won = s->won || (stale && item_flags(old) & ITEM_WON);
    return (uint8_t)((s->stale || stale ? ITEM_STALE : 0) | (won ? ITEM_WON : 0));
}

/* Counts a refused value in the class that would have stored the value. The counter is separate
 * from stored values, because a refused value needs no memory. A value that needs a chain counts in
 * no class. */
void cache_store_bad_terminator(struct cache_thread *ct, const struct key *key,
                                const struct cache_store *s) {
    uint8_t  flags = store_item_flags(ct->cache, s->client_flags, s->binary_key);
    size_t   total_bytes = item_total_bytes(flags, key->len, s->value_bytes);
    unsigned class_id = item_unchained_class(ct->cache, total_bytes, s->value_bytes);
    if (class_id == SLAB_CLASS_NONE) {
        COUNT(ct, cmd_set);
    } else {
        COUNT_CLASS(ct, class_id, cmd_set_refused);
    }
}

static void store_count(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                        enum cache_status status, unsigned class_id) {
    if (status == CACHE_OK) {
        COUNT_CLASS(ct, class_id, cmd_set);
    } else {
        cache_store_bad_terminator(ct, key, s);
    }
    if (!s->counts_cas) {
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

bool cache_value_fits(const struct cache *c, const struct key *key, uint64_t value_bytes) {
    /* CR LF counts towards the size, as in memcached, so that the same values fit. */
    return sizeof(struct item) + (c->cas_flag ? 8u : 0u) + key->len + value_bytes + 2 <=
           c->config.item_bytes_max;
}

/* Acts as a delete at this moment: removes the current item, even if another client stored that
 * item meanwhile. memcached does the same. */
void store_remove_old(struct cache_thread *ct, const struct key *key, const struct cache_store *s) {
    if (s->mode == CACHE_SET) {
        struct partition *p = partition_of(ct->cache, key->hash);
        lock_take(&p->lock);
        struct item *old = link_find_locked(ct, p, key);
        if (old != NULL) {
            link_remove_locked(ct, p, key->hash, old);
        }
        lock_release(&p->lock);
        magazine_settle(ct);
    }
}

enum cache_status store_end(struct cache_thread *ct, const struct key *key,
                            const struct cache_store *s, enum cache_status status,
                            unsigned class_id) {
    if (status == CACHE_TOO_LARGE) {
        COUNT(ct, store_too_large);
        store_remove_old(ct, key, s);
    } else if (status == CACHE_NO_MEMORY) {
        COUNT(ct, store_no_memory);
        store_remove_old(ct, key, s);
    } else if (!s->uncounted) {
        store_count(ct, key, s, status, class_id);
    }
    return status;
}
