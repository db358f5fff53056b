/* Publishing values over ITEM_COPY_MAX, and smaller ones in chains: drafts (draft.c) that were
 * filled outside the lock. */
#include "cache/large.h"

#include "base/crash.h"
#include "cache/draft.h"
#include "cache/link.h"
#include "cache/rules.h"
#include "cache/sample.h"
#include "cache/stock.h"
#include "cache/value.h"

uint64_t cache_thread_copied(const struct cache_thread *ct) { return ct->copied_bytes; }

static void set_tails_state(const struct cache *c, struct item *it, enum chunk_state state) {
    if (item_flags(it) & ITEM_CHAINED) {
        for (uint32_t ref = item_load32(item_chain(it)); ref != 0;) {
            struct tail *t = (void *)item_at(c, ref);
            atomic_store_explicit(&t->flags, state, memory_order_relaxed);
            ref = tail_next(t);
        }
    }
}

/* Writes n bytes at an offset of a draft's value; `place` as of cache_value_iov. */
static void draft_write(struct cache_thread *ct, struct item *it, size_t at,
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

/* Copies the whole value of one item into another's at an offset. Values of any size; `from` is
 * borrowed or a draft, so that nobody writes there. */
static void draft_copy(struct cache_thread *ct, struct item *to, size_t at,
                       const struct item *from) {
    struct iovec iov[8];
    size_t done = 0, bytes = item_value_bytes(from);
    struct cache_place from_place = {0}, to_place = {0};
    while (done < bytes) {
        int pieces = cache_value_iov(ct, from, done, &from_place, iov, 8);
        for (int i = 0; i < pieces; i++) {
            draft_write(ct, to, at + done, &to_place, iov[i].iov_base, iov[i].iov_len);
            done += iov[i].iov_len;
        }
    }
    ct->copied_bytes += bytes;
}

/* Joins a draft and the item it is appended or prepended to into a new draft; the old item is held
 * by a count or, when small, by its bytes. NULL: no memory or too large (*status says which). */
static struct item *join(struct cache_thread *ct, const struct key *key,
                         const struct cache_store *s, struct item *added, const struct item *old,
                         const char *old_bytes, const struct cache_view *was,
                         enum cache_status *status) {
    uint64_t total = (uint64_t)was->value_bytes + item_value_bytes(added);
    if (!cache_value_fits(ct->cache, key, total)) {
        *status = CACHE_TOO_LARGE;
        return NULL;
    }
    struct item *whole =
        draft_whole(ct, key, item_flags_for(ct->cache, was->client_flags, was->binary_key),
                    (uint32_t)total, was->client_flags, was->exptime_s);
    if (whole == NULL) {
        *status = CACHE_NO_MEMORY;
        return NULL;
    }
    bool append = s->mode == CACHE_APPEND;
    size_t old_at = append ? 0 : item_value_bytes(added), added_at = append ? was->value_bytes : 0;
    if (old != NULL) {
        draft_copy(ct, whole, old_at, old);
    } else {
        draft_write(ct, whole, old_at, NULL, old_bytes, was->value_bytes);
    }
    draft_copy(ct, whole, added_at, added);
    return whole;
}

/* One try at publishing. Returns false when the old item changed while the two were joined: try
 * again. */
static bool try_publish(struct cache_thread *ct, const struct key *key, struct item *draft,
                        const struct cache_store *s, const struct index_look *unchanged,
                        struct cache_view *view, enum cache_status *status, unsigned *class_id) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    bool joins = false;
    struct item *whole = draft, *borrowed = NULL;
    struct cache_view was = {0};
    struct index_look look = {0};
    char old_bytes[ITEM_COPY_MAX + 8];

    lock_take(&p->lock);
    struct item *old = find_live_locked(ct, p, key);
    bool changed = unchanged != NULL && !index_unchanged(unchanged);
    *status = changed ? CACHE_EXISTS : store_condition(s, old);
    *class_id = old != NULL ? cache_item_class(c, old) : SLAB_CLASS_NONE;
    if (old != NULL && *status == CACHE_NOT_STORED && s->mode == CACHE_ADD) {
        mark_wanted_locked(ct, p, old);
    }
    joins =
        *status == CACHE_OK && old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    if (joins) {
        cache_view_item(c, old, &was);
        index_find(&p->index, key, &look);
        if (item_large(old)) {
            atomic_fetch_add_explicit(item_refs(old), 1, memory_order_relaxed);
            borrowed = old;
        } else {
            value_copy_locked(c, old, old_bytes);
        }
        lock_release(&p->lock);
        chunks_settle(ct);
        whole = join(ct, key, s, draft, borrowed, old_bytes, &was, status);
        if (whole == NULL) {
            if (borrowed != NULL) {
                cache_return(ct, borrowed);
            }
            item_release(ct, draft);
            return true;
        }
        lock_take(&p->lock);
        struct item *now = find_live_locked(ct, p, key);
        bool same = now != NULL && (borrowed != NULL ? now == borrowed : index_unchanged(&look));
        *status = same ? store_condition(s, now) : CACHE_OK;
        if (same) { /* it may have been touched while its value was copied */
            item_store32(&whole->exptime_s, item_exptime_s(now));
        }
        old = now;
        if (!same) {
            lock_release(&p->lock);
            chunks_settle(ct);
            item_release(ct, whole);
            if (borrowed != NULL) {
                cache_return(ct, borrowed);
            }
            return false;
        }
    }
    if (*status == CACHE_OK) {
        if (store_is_late(s, old)) {
            item_store32(&whole->exptime_s, item_exptime_s(old));
        }
        item_set_flags(whole, item_flags(whole) | store_marks(s, old));
        /* it is stored now, not when its first byte came */
        node_set_time_s(&whole->node, cache_stamp_s(ct));
        set_tails_state(c, whole, CHUNK_LINKED);
        crash_point("pieces_linked");
        if (link_locked(ct, p, key, whole, old, s->cas)) {
            *class_id = cache_item_class(c, whole);
            if (unchanged == NULL && sampled(ct, key->hash)) {
                sample_note(ct, SAMPLE_STORE, key->hash, *class_id, item_value_bytes(whole),
                            item_exptime_s(whole));
            }
            if (view != NULL) {
                cache_view_item(c, whole, view);
            }
        } else {
            *status = CACHE_NO_MEMORY;
        }
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    if (borrowed != NULL) { /* held until here, so that its chunk could become no other item's */
        cache_return(ct, borrowed);
    }
    if (*status != CACHE_OK || whole != draft) {
        if (whole != draft && *status != CACHE_OK) {
            item_release(ct, whole);
        }
        item_release(ct, draft);
    }
    return true;
}

enum cache_status cache_store_verdict(struct cache_thread *ct, const struct key *key,
                                      const struct cache_store *s) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    if (!c->config.evict) {
        /* its memory costs nobody an item; and when there is none, that is what memcached
         * answers */
        return CACHE_OK;
    }
    lock_take(&p->lock);
    struct item *old = find_live_locked(ct, p, key);
    enum cache_status status = store_condition(s, old);
    unsigned class_id = old != NULL ? cache_item_class(c, old) : SLAB_CLASS_NONE;
    bool joins = old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    if (status == CACHE_OK && joins &&
        !cache_value_fits(c, key, (uint64_t)s->value_bytes + item_value_bytes(old))) {
        status = CACHE_TOO_LARGE;
    }
    if (status == CACHE_NOT_STORED && s->mode == CACHE_ADD) {
        mark_wanted_locked(ct, p, old);
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    if (status == CACHE_TOO_LARGE) {
        return store_refused(ct, key, s, status);
    }
    if (status != CACHE_OK) {
        store_counted(ct, key, s, status, class_id);
    }
    return status;
}

static enum cache_status publish(struct cache_thread *ct, const struct key *key, struct item *taken,
                                 const struct cache_store *s, const struct index_look *unchanged,
                                 struct cache_view *view) {
    enum cache_status status = CACHE_OK;
    unsigned class_id = SLAB_CLASS_NONE;
    while (!try_publish(ct, key, taken, s, unchanged, view, &status, &class_id)) {
    }
    if (status == CACHE_NO_MEMORY || status == CACHE_TOO_LARGE) {
        return store_refused(ct, key, s, status);
    }
    if (unchanged == NULL) {
        store_counted(ct, key, s, status, class_id);
    }
    return status;
}

enum cache_status cache_publish(struct cache_thread *ct, struct cache_draft *taken,
                                const struct cache_store *s, struct cache_view *view) {
    char bytes[KEY_BYTES_MAX + 14];
    struct item *it = draft_take(ct, taken);
    uint8_t len = item_copy_key(it, bytes);
    struct key key = key_make(bytes, len);
    return publish(ct, &key, it, s, NULL, view);
}

enum cache_status store_large(struct cache_thread *ct, const struct key *key,
                              const struct cache_store *s, const struct index_look *look,
                              struct cache_view *view) {
    struct cache_place place = {0};
    if (!cache_value_fits(ct->cache, key, s->value_bytes)) {
        return store_refused(ct, key, s, CACHE_TOO_LARGE);
    }
    struct item *draft =
        draft_whole(ct, key, item_flags_for(ct->cache, s->client_flags, s->binary_key),
                    s->value_bytes, s->client_flags, s->exptime_s);
    if (draft == NULL) {
        return store_refused(ct, key, s, CACHE_NO_MEMORY);
    }
    draft_write(ct, draft, 0, &place, s->value, s->value_bytes);
    return publish(ct, key, draft, s, look, view);
}
