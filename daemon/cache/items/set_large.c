/* Publishes values over ITEM_COPY_MAX, and smaller values in chains. upload.c makes these items;
 * their bytes are written outside the lock. */
#include "cache/items/set_large.h"

#include "base/failpoint.h"
#include "cache/admin/sampling.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/items/store_conditions.h"
#include "cache/items/upload.h"

uint64_t cache_thread_copied(const struct cache_thread *ct) { return ct->copied_bytes; }

static void set_large_link_tails(const struct cache *c, struct item *it) {
    if (item_flags(it) & ITEM_CHAINED) {
        for (uint32_t ref = item_load32(item_chain(it)); ref != 0;) {
            struct item_tail *t = (void *)item_at(c, ref);
            atomic_store_explicit(&t->flags, CHUNK_LINKED, memory_order_relaxed);
            ref = item_tail_next(t);
        }
    }
}

/* Writes n bytes of a value, from byte `at` on. `place` is as in cache_value_iov. */
static void set_large_write(struct cache_thread *ct, struct item *it, size_t at,
                            struct cache_place *place, const char *from, size_t n) {
    struct iovec iov[8];
    while (n > 0) {
        int pieces = cache_value_iov(ct, it, at, place, iov, 8);
        for (int i = 0; i < pieces && n > 0; i++) {
            size_t step = iov[i].iov_len < n ? iov[i].iov_len : n;
            bytes_store(iov[i].iov_base, from, step);
            at += step;
            from += step;
            n -= step;
        }
    }
}

/* Copies the value of `from`, of any size, into the value of `to` from byte `at` on. No thread
 * writes to `from`, which is borrowed or unpublished. */
static void set_large_copy(struct cache_thread *ct, struct item *to, size_t at,
                           const struct item *from) {
    struct iovec iov[8];
    size_t done = 0, bytes = item_value_bytes(from);
    struct cache_place from_place = {0}, to_place = {0};
    while (done < bytes) {
        int pieces = cache_value_iov(ct, from, done, &from_place, iov, 8);
        for (int i = 0; i < pieces; i++) {
            set_large_write(ct, to, at + done, &to_place, iov[i].iov_base, iov[i].iov_len);
            done += iov[i].iov_len;
        }
    }
    ct->copied_bytes += bytes;
}

/* Creates a new item from the old item and the value that is appended or prepended. `old` is
 * borrowed; a small old item is NULL, and `old_bytes` has its value. Returns NULL with *status if
 * memory is short or the result is too large. */
static struct item *set_large_join(struct cache_thread *ct, const struct key *key,
                                   const struct cache_store *s, struct item *added,
                                   const struct item *old, const char *old_bytes,
                                   const struct cache_view *was, enum cache_status *status) {
    uint64_t total = (uint64_t)was->value_bytes + item_value_bytes(added);
    if (!cache_value_fits(ct->cache, key, total)) {
        *status = CACHE_TOO_LARGE;
        return NULL;
    }
    struct item *result =
        upload_make_item(ct, key, store_item_flags(ct->cache, was->client_flags, was->binary_key),
                         (uint32_t)total, was->client_flags, was->exptime_s);
    if (result == NULL) {
        *status = CACHE_NO_MEMORY;
        return NULL;
    }
    bool append = s->mode == CACHE_APPEND;
    size_t old_at = append ? 0 : item_value_bytes(added), added_at = append ? was->value_bytes : 0;
    if (old != NULL) {
        set_large_copy(ct, result, old_at, old);
    } else {
        set_large_write(ct, result, old_at, NULL, old_bytes, was->value_bytes);
    }
    set_large_copy(ct, result, added_at, added);
    return result;
}

/* An item that is being published. */
struct set_large {
    struct cache_thread      *ct;
    struct partition         *p;
    const struct key         *key;
    const struct cache_store *store;
    const struct index_lookup  *unchanged; /* as in set_large() */
    struct cache_view        *view;
    struct item              *added;
    /* the new item, or an item joined from the old and the new item */
    struct item              *result;
    struct item              *borrowed; /* the old item while its value is copied, or NULL */
    enum cache_status         status;
    /* class of the stored item, or of the item that refused the store */
    unsigned                  class_id;
};

/* Finds the old item and checks the store's condition. */
static struct item *set_large_find_old_locked(struct set_large *pub) {
    struct cache_thread *ct = pub->ct;
    struct item *old = link_find_locked(ct, pub->p, pub->key);
    bool changed = pub->unchanged != NULL && !index_unchanged(pub->unchanged);
    pub->status = changed ? CACHE_EXISTS : store_condition(pub->store, old);
    pub->class_id = old != NULL ? cache_item_class(ct->cache, old) : SLAB_CLASS_NONE;
    if (old != NULL && pub->status == CACHE_NOT_STORED && pub->store->mode == CACHE_ADD) {
        link_mark_wanted_locked(ct, pub->p, old);
    }
    return old;
}

/* Joins the new item with the old item. The partition is unlocked while the values are copied.
 * False: the old item changed meanwhile. */
static bool set_large_join_locked(struct set_large *pub, struct item *old) {
    struct cache_thread *ct = pub->ct;
    struct partition *p = pub->p;
    struct cache_view was = {0};
    struct index_lookup seen = {0};
    char old_bytes[ITEM_COPY_MAX + 8];
    cache_view_item(ct->cache, old, &was);
    index_find_from(&p->index, pub->key, (struct index_hint){0}, &seen);
    if (item_large(old)) {
        atomic_fetch_add_explicit(item_refs(old), 1, memory_order_relaxed);
        pub->borrowed = old;
    } else {
        item_value_copy_locked(ct->cache, old, old_bytes);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    pub->result = set_large_join(ct, pub->key, pub->store, pub->added, pub->borrowed, old_bytes,
                                 &was, &pub->status);
    lock_take(&p->lock);
    if (pub->result == NULL) {
        return true; /* pub->status has the reason */
    }
    struct item *now = link_find_locked(ct, p, pub->key);
    if (now != old || (pub->borrowed == NULL && !index_unchanged(&seen))) {
        return false;
    }
    pub->status = store_condition(pub->store, now);
    /* another client may have touched the item while its value was copied */
    item_store32(&pub->result->exptime_s, item_exptime_s(now));
    return true;
}

static void set_large_link_locked(struct set_large *pub, struct item *old) {
    struct cache_thread *ct = pub->ct;
    struct cache *c = ct->cache;
    struct item *result = pub->result;
    if (store_marks_stale(pub->store, old)) {
        item_store32(&result->exptime_s, item_exptime_s(old));
    }
    item_set_flags(result, item_flags(result) | store_marks(pub->store, old));
    /* the time of publishing, not of the first byte */
    node_set_time_s(&result->node, cache_stamp_s(ct));
    set_large_link_tails(c, result);
    failpoint_reach("pieces_linked");
    if (!link_insert_locked(ct, pub->p, pub->key, result, old, pub->store->cas)) {
        pub->status = CACHE_NO_MEMORY;
        return;
    }
    pub->class_id = cache_item_class(c, result);
    if (pub->unchanged == NULL && sampled(ct, pub->key->hash)) {
        sampling_note(ct, SAMPLE_STORE, pub->key->hash, pub->class_id, item_value_bytes(result),
                      item_exptime_s(result));
    }
    if (pub->view != NULL) {
        cache_view_item(c, result, pub->view);
    }
}

/* Tries once. False: the old item changed while the two were joined; try again. */
static bool set_large_try(struct set_large *pub) {
    struct cache_thread *ct = pub->ct;
    enum cache_mode mode = pub->store->mode;
    bool unchanged = true;
    pub->result = pub->added;
    pub->borrowed = NULL;
    lock_take(&pub->p->lock);
    struct item *old = set_large_find_old_locked(pub);
    if (pub->status == CACHE_OK && old != NULL &&
        (mode == CACHE_APPEND || mode == CACHE_PREPEND)) {
        unchanged = set_large_join_locked(pub, old);
    }
    if (unchanged && pub->status == CACHE_OK) {
        set_large_link_locked(pub, old);
    }
    lock_release(&pub->p->lock);
    magazine_settle(ct);
    if (pub->borrowed != NULL) { /* borrowed until here, so that no other item got its chunk */
        cache_return(ct, pub->borrowed);
    }
    bool joined = pub->result != pub->added, stored = unchanged && pub->status == CACHE_OK;
    if (joined && pub->result != NULL && !stored) {
        magazine_release_item(ct, pub->result);
    }
    if (unchanged && (joined || !stored)) {
        magazine_release_item(ct, pub->added);
    }
    return unchanged;
}

enum cache_status cache_store_precheck(struct cache_thread *ct, const struct key *key,
                                       const struct cache_store *s) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    if (!c->config.evict) {
        /* without evictions the value takes no other item's memory; memcached, too, replies only
         * once memory is short */
        return CACHE_OK;
    }
    lock_take(&p->lock);
    struct item *old = link_find_locked(ct, p, key);
    enum cache_status status = store_condition(s, old);
    unsigned class_id = old != NULL ? cache_item_class(c, old) : SLAB_CLASS_NONE;
    bool joins = old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    if (status == CACHE_OK && joins &&
        !cache_value_fits(c, key, (uint64_t)s->value_bytes + item_value_bytes(old))) {
        status = CACHE_TOO_LARGE;
    }
    if (status == CACHE_NOT_STORED && s->mode == CACHE_ADD) {
        link_mark_wanted_locked(ct, p, old);
    }
    lock_release(&p->lock);
    magazine_settle(ct);
    return status == CACHE_OK ? CACHE_OK : store_end(ct, key, s, status, class_id);
}

static enum cache_status set_large_publish(struct cache_thread *ct, const struct key *key,
                                           struct item *taken, const struct cache_store *s,
                                           const struct index_lookup *unchanged,
                                           struct cache_view *view, unsigned *class_id) {
    struct set_large pub = {.ct = ct,
                            .p = partition_of(ct->cache, key->hash),
                            .key = key,
                            .store = s,
                            .unchanged = unchanged,
                            .view = view,
                            .added = taken};
    while (!set_large_try(&pub)) {
    }
    *class_id = pub.class_id;
    return pub.status;
}

enum cache_status cache_upload_publish(struct cache_thread *ct, struct cache_upload *taken,
                                       const struct cache_store *s, struct cache_view *view) {
    char bytes[KEY_BYTES_MAX + 14];
    struct item *it = upload_take_item(ct, taken);
    uint8_t len = item_copy_key(it, bytes);
    struct key key = key_make(bytes, len);
    unsigned class_id;
    enum cache_status status = set_large_publish(ct, &key, it, s, NULL, view, &class_id);
    return store_end(ct, &key, s, status, class_id);
}

enum cache_status set_large(struct cache_thread *ct, const struct key *key,
                            const struct cache_store *s, const struct index_lookup *seen,
                            struct cache_view *view, unsigned *class_id) {
    struct cache_place place = {0};
    if (!cache_value_fits(ct->cache, key, s->value_bytes)) {
        return CACHE_TOO_LARGE;
    }
    struct item *added =
        upload_make_item(ct, key, store_item_flags(ct->cache, s->client_flags, s->binary_key),
                         s->value_bytes, s->client_flags, s->exptime_s);
    if (added == NULL) {
        return CACHE_NO_MEMORY;
    }
    set_large_write(ct, added, 0, &place, s->value, s->value_bytes);
    return set_large_publish(ct, key, added, s, seen, view, class_id);
}
