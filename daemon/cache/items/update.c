/* Deletes, touches and counts up and down. */
#include "base/number.h"
#include "cache/admin/sampling.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/items/set_small.h"
#include "cache/partition.h"

/* --- delete, invalidate --- */

static bool update_cas_differs(bool compare, uint64_t wanted, const struct item *it) {
    return compare && item_cas(it) != wanted;
}

/* Marks the item stale in place and sets a new CAS. No client has won the item yet. */
static void update_mark_stale_locked(struct partition *p, const struct key *key, struct item *it,
                                     const struct cache_delete *d) {
    _Atomic uint32_t *change = index_change_begin(
        index_hint_at(&p->index, key->hash, node_ref(p->index.space, it)));
    item_set_flags(it, (uint8_t)((item_flags(it) | ITEM_STALE) & ~ITEM_WON));
    item_set_cas(it, link_next_cas_locked(p, d->cas));
    if (d->touch) {
        item_store32(&it->exptime_s, d->exptime_s);
    }
    index_version_end(change);
}

/* Meta x: an empty item replaces the old item. */
static enum cache_status update_drop_value(struct cache_thread *ct, const struct key *key,
                                           const struct cache_delete *d,
                                           const struct cache_view *was) {
    struct cache_store s = {
        .mode = CACHE_REPLACE,
        .value = "",
        .client_flags = d->client_flags,
        .exptime_s = d->touch ? d->exptime_s : was->exptime_s,
        .compare = was->cas != 0,
        .compare_cas = was->cas,
        .cas = d->cas,
        .binary_key = was->binary_key,
        .stale = d->mark_stale,
    };
    return cache_store(ct, key, &s, NULL);
}

enum cache_status cache_delete(struct cache_thread *ct, const struct key *key,
                               const struct cache_delete *d) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    enum cache_status status = CACHE_OK;
    struct cache_view was = {0};
    lock_take(&p->lock);
    struct item *it = link_find_locked(ct, p, key);
    if (it == NULL) {
        status = CACHE_MISS;
        COUNT(ct, delete_misses);
    } else if (update_cas_differs(d->compare, d->compare_cas, it)) {
        status = CACHE_EXISTS;
        if (d->misses_mismatch) {
            COUNT(ct, delete_misses);
        }
    } else {
        COUNT_CLASS(ct, cache_item_class(c, it), delete_hits);
        if (d->drop_value) {
            cache_view_item(c, it, &was);
        } else if (d->mark_stale) {
            update_mark_stale_locked(p, key, it, d);
        } else {
            link_remove_locked(ct, p, key->hash, it);
            if (sampled(ct, key->hash)) {
                sampling_note(ct, SAMPLE_GONE, key->hash, SLAB_CLASS_NONE, 0, 0);
            }
        }
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    if (status != CACHE_OK || !d->drop_value) {
        return status;
    }
    status = update_drop_value(ct, key, d, &was);
    /* another client replaced the item meanwhile; the newer value stays */
    return status == CACHE_OK || status == CACHE_EXISTS ? CACHE_OK : status;
}

/* --- touch --- */

enum cache_status cache_touch(struct cache_thread *ct, const struct key *key, uint32_t exptime_s) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    COUNT(ct, cmd_touch);
    lock_take(&p->lock);
    struct item *it = link_find_locked(ct, p, key);
    if (it != NULL) {
        link_touch_locked(p, key, it, exptime_s);
        link_mark_hit_locked(ct, p, it);
        COUNT_CLASS(ct, cache_item_class(c, it), touch_hits);
    } else {
        COUNT(ct, touch_misses);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    if (it != NULL && sampled(ct, key->hash)) {
        sampling_note(ct, SAMPLE_TOUCH, key->hash, SLAB_CLASS_NONE, 0, exptime_s);
    }
    return it != NULL ? CACHE_OK : CACHE_MISS;
}

/* --- incr, decr --- */

static void update_count_arith(struct cache_thread *ct, const struct cache_arith *a, bool hit,
                               unsigned class_id) {
    if (hit && a->decrement) {
        COUNT_CLASS(ct, class_id, decr_hits);
    } else if (hit) {
        COUNT_CLASS(ct, class_id, incr_hits);
    } else if (a->decrement) {
        COUNT(ct, decr_misses);
    } else {
        COUNT(ct, incr_misses);
    }
}

/* Reads the item's number and computes the new number. `s` becomes the store of the new number,
 * valid if no other store comes first. */
static enum cache_status update_read_number(struct cache_thread *ct, const struct key *key,
                                            const struct cache_arith *a, char *text,
                                            struct cache_store *s, struct index_lookup *seen,
                                            uint64_t *number, uint32_t *exptime_s) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    enum cache_status status = CACHE_OK;
    lock_take(&p->lock);
    struct item *it = link_find_locked(ct, p, key);
    index_find_from(&p->index, key, (struct index_hint){0}, seen);
    if (it == NULL) {
        status = CACHE_MISS;
    } else if (item_large(it) || item_value_bytes(it) == 0) {
        status = CACHE_NOT_A_NUMBER; /* memcached checks the number before the CAS */
    } else if (update_cas_differs(a->compare, a->compare_cas, it)) {
        status = CACHE_EXISTS;
    } else {
        uint32_t bytes = item_value_bytes(it);
        item_value_copy_locked(c, it, text);
        *exptime_s = item_exptime_s(it);
        if (!number_stored(text, bytes, number)) {
            status = CACHE_NOT_A_NUMBER;
        } else {
            uint64_t less = *number > a->delta ? *number - a->delta : 0;
            *number = a->decrement ? less : *number + a->delta;
            uint32_t len = (uint32_t)(number_put(text, *number) - text);
            /* a number that fits the old length retains the item's marks */
            uint8_t marks = len <= bytes ? item_flags(it) : 0;
            for (; len < bytes; len++) {
                text[len] = ' ';
            }
            *s = (struct cache_store){
                .mode = CACHE_REPLACE,
                .value = text,
                .value_bytes = len,
                .client_flags = item_client_flags(it),
                .exptime_s = a->touch ? a->exptime_s : item_exptime_s(it),
                .cas = a->cas,
                .binary_key = item_flags(it) & ITEM_BINKEY,
                .won = marks & ITEM_WON,
                .stale = marks & ITEM_STALE,
                .uncounted = true};
        }
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    return status;
}

enum cache_status cache_arith(struct cache_thread *ct, const struct key *key,
                              const struct cache_arith *a, uint64_t *number, struct cache_view *v) {
    char text[ITEM_COPY_MAX + 8];
    for (;;) {
        struct cache_store s;
        struct index_lookup seen;
        uint32_t exptime_s = 0;
        enum cache_status status =
            update_read_number(ct, key, a, text, &s, &seen, number, &exptime_s);
        if (status == CACHE_MISS && a->vivify) {
            *number = a->initial;
            s = (struct cache_store){.mode = CACHE_ADD,
                                     .value = text,
                                     .value_bytes = (uint32_t)(number_put(text, a->initial) - text),
                                     .exptime_s = a->vivify_exptime_s,
                                     .cas = a->cas,
                                     .binary_key = a->binary_key,
                                     .uncounted = true};
            status = cache_store(ct, key, &s, v);
            v->created = true;
            if (status == CACHE_NOT_STORED) {
                continue; /* another client created the item first: count on its number */
            }
            return status;
        }
        if (status != CACHE_OK) {
            if (status == CACHE_MISS) {
                update_count_arith(ct, a, false, 0);
            }
            return status;
        }
        status = set_if_unchanged(ct, key, &s, &seen, v);
        if (status == CACHE_EXISTS) {
            continue; /* another client changed the item between read and store */
        }
        if (status == CACHE_OK) {
            v->exptime_before_s = exptime_s;
            update_count_arith(ct, a, true, v->class_id);
        }
        return status;
    }
}
