/* Values over ITEM_COPY_MAX: drafts that are filled outside the lock, in one chunk or a chain of them, then published. */
#include "cache/partition.h"

enum { COPY_STEP = 64 << 10 };

/* The end of an item's chain. */
struct chain_end {
    struct tail *last;
    uint32_t     left; /* value bytes without a chunk yet */
};

/* Adds a chunk for as much as is left, at most the largest class's. */
static bool chain_extend(struct cache_thread *ct, struct partition *p, struct item *head, struct chain_end *end) {
    struct cache *c = ct->cache;
    size_t want = (size_t)end->left + TAIL_HEADER;
    unsigned class_id = want > c->slab->chunk_bytes_max ? c->slab->class_count : slab_class_of(c->slab, want);
    uint32_t ref = 0;
    while (ref == 0 && class_id <= c->slab->class_count) {
        ref = chunk_obtain(ct, p, class_id++); /* a right-sized class may have nothing: a larger chunk serves */
    }
    if (ref == 0) {
        return false;
    }
    struct tail *t = (void *)item_at(c, ref);
    uint32_t room = c->slab->classes[class_id - 1].chunk_bytes - TAIL_HEADER;
    atomic_thread_fence(memory_order_release); /* as in item_init */
    atomic_store_explicit(&t->key_len, 0, memory_order_relaxed);
    atomic_store_explicit(&t->flags, CHUNK_DRAFT, memory_order_relaxed);
    item_store32(&t->next, 0);
    item_store32(&t->head, ref_of_item(c, head));
    uint32_t used_bytes = end->left < room ? end->left : room;
    item_store32(&t->used_bytes, used_bytes);
    if (end->last == NULL) {
        item_store32(item_chain(head), ref);
    } else {
        item_store32(&end->last->next, ref);
    }
    end->last = t;
    end->left -= used_bytes;
    return true;
}

/* A draft of this size, its value bytes not written. NULL: no memory. */
static struct item *draft_make(struct cache_thread *ct, const struct key *key, uint8_t flags, uint32_t value_bytes,
                               uint32_t client_flags, uint32_t exptime_s) {
    struct cache *c = ct->cache;
    struct partition *p = partition_of(c, key->hash);
    unsigned class_id = slab_class_of(c->slab, item_total_bytes(flags, key->len, value_bytes));
    if (class_id == SLAB_CLASS_NONE) {
        flags |= ITEM_CHAINED;
        class_id = slab_class_of(c->slab, item_total_bytes(flags, key->len, value_bytes));
    }
    uint32_t ref = chunk_obtain(ct, p, class_id);
    if (ref == 0) {
        return NULL;
    }
    struct item *it = item_at(c, ref);
    item_init(ct, it, flags, key, value_bytes, client_flags, exptime_s);
    if (flags & ITEM_CHAINED) {
        item_store32(item_chain(it), 0);
        struct chain_end end = {.left = value_bytes};
        while (end.left > 0) {
            if (!chain_extend(ct, p, it, &end)) {
                item_release(ct, it);
                return NULL;
            }
        }
    }
    return it;
}

static void set_tails_state(const struct cache *c, struct item *it, enum chunk_state state) {
    if (item_flags(it) & ITEM_CHAINED) {
        for (uint32_t ref = item_load32(item_chain(it)); ref != 0;) {
            struct tail *t = (void *)item_at(c, ref);
            atomic_store_explicit(&t->flags, state, memory_order_relaxed);
            ref = tail_next(t);
        }
    }
}

/* Writes n bytes at an offset of a draft's value. */
static void draft_write(struct cache_thread *ct, struct item *it, size_t at, const char *from, size_t n) {
    struct iovec iov[8];
    while (n > 0) {
        int pieces = cache_value_iov(ct, it, at, iov, 8);
        for (int i = 0; i < pieces && n > 0; i++) {
            size_t step = iov[i].iov_len < n ? iov[i].iov_len : n;
            item_store_bytes(iov[i].iov_base, from, step);
            at += step;
            from += step;
            n -= step;
        }
    }
}

/* Copies the whole value of one item into another's at an offset. Values of any size; `from` is borrowed or a draft. */
static void draft_copy(struct cache_thread *ct, struct item *to, size_t at, const struct item *from) {
    struct iovec iov[8];
    size_t done = 0, bytes = item_value_bytes(from);
    char words[COPY_STEP + 8]; /* large, because finding the place to write walks the chain */
    while (done < bytes) {
        int pieces = cache_value_iov(ct, from, done, iov, 8);
        for (int i = 0; i < pieces; i++) {
            for (size_t off = 0; off < iov[i].iov_len;) {
                size_t step = iov[i].iov_len - off < COPY_STEP ? iov[i].iov_len - off : COPY_STEP;
                item_load_bytes(words, (const char *)iov[i].iov_base + off, step);
                draft_write(ct, to, at + done, words, step);
                off += step;
                done += step;
            }
        }
    }
}

enum cache_status cache_reserve(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                                struct item **draft) {
    struct cache *c = ct->cache;
    *draft = NULL;
    if (item_over_limit(c, key, s->value_bytes)) {
        return store_refused(ct, key, s, CACHE_TOO_LARGE);
    }
    *draft = draft_make(ct, key, item_flags_for(c, s->client_flags, s->binary_key), s->value_bytes, s->client_flags,
                        s->exptime_s);
    return *draft != NULL ? CACHE_OK : store_refused(ct, key, s, CACHE_NO_MEMORY);
}

int cache_draft_iov(const struct cache_thread *ct, struct item *draft, size_t skip, struct iovec *iov, int max) {
    return cache_value_iov(ct, draft, skip, iov, max);
}

void cache_abandon(struct cache_thread *ct, struct item *taken) { item_release(ct, taken); }

/* Joins a draft and the item it is appended or prepended to into a new draft; the old item is held by a count or, when small,
 * by its bytes. NULL: no memory or too large (*status says which). */
static struct item *join(struct cache_thread *ct, const struct key *key, const struct cache_store *s, struct item *added,
                         const struct item *old, const char *old_bytes, const struct cache_view *was,
                         enum cache_status *status) {
    uint64_t total = (uint64_t)was->value_bytes + item_value_bytes(added);
    if (item_over_limit(ct->cache, key, total)) {
        *status = CACHE_TOO_LARGE;
        return NULL;
    }
    struct item *whole = draft_make(ct, key, item_flags_for(ct->cache, was->client_flags, was->binary_key), (uint32_t)total,
                                    was->client_flags, was->exptime_s);
    if (whole == NULL) {
        *status = CACHE_NO_MEMORY;
        return NULL;
    }
    bool append = s->mode == CACHE_APPEND;
    size_t old_at = append ? 0 : item_value_bytes(added), added_at = append ? was->value_bytes : 0;
    if (old != NULL) {
        draft_copy(ct, whole, old_at, old);
    } else {
        draft_write(ct, whole, old_at, old_bytes, was->value_bytes);
    }
    draft_copy(ct, whole, added_at, added);
    return whole;
}

/* One try at publishing. Returns false when the old item changed while the two were joined: try again. */
static bool try_publish(struct cache_thread *ct, const struct key *key, struct item *draft, const struct cache_store *s,
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
    *status = store_condition(s, old);
    *class_id = old != NULL ? cache_item_class(c, old) : SLAB_CLASS_NONE;
    joins = *status == CACHE_OK && old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    if (joins) {
        cache_view_item(c, old, &was);
        index_find(&p->index, key, &look);
        if (item_large(old)) {
            atomic_fetch_add_explicit(item_refs(old), 1, memory_order_relaxed);
            borrowed = old;
        } else {
            item_load_bytes(old_bytes, (const char *)old + item_value_offset(item_flags(old), key->len, was.value_bytes),
                            was.value_bytes);
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
        bool same = now != NULL && (borrowed != NULL ? now == borrowed : index_unchanged(&p->index, key, &look));
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
        item_set_flags(whole, item_flags(whole) | store_marks(s, old));
        set_tails_state(c, whole, CHUNK_LINKED);
        if (link_locked(ct, p, key, whole, old, s->cas)) {
            *class_id = cache_item_class(c, whole);
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

enum cache_status cache_publish(struct cache_thread *ct, struct item *taken, const struct cache_store *s,
                                struct cache_view *view) {
    char bytes[KEY_BYTES_MAX + 14];
    uint8_t len = item_copy_key(taken, bytes);
    struct key key = key_make(bytes, len);
    enum cache_status status = CACHE_OK;
    unsigned class_id = SLAB_CLASS_NONE;
    node_set_time_s(&taken->node, cache_stamp_s(ct)); /* it is stored now, not when its first byte came */
    while (!try_publish(ct, &key, taken, s, view, &status, &class_id)) {
    }
    if (status == CACHE_NO_MEMORY || status == CACHE_TOO_LARGE) {
        return store_refused(ct, &key, s, status);
    }
    store_counted(ct, s, status, class_id);
    return status;
}

enum cache_status store_large(struct cache_thread *ct, const struct key *key, const struct cache_store *s,
                              struct cache_view *view) {
    struct item *draft = NULL;
    enum cache_status status = cache_reserve(ct, key, s, &draft);
    if (status != CACHE_OK) {
        return status;
    }
    draft_write(ct, draft, 0, s->value, s->value_bytes);
    return cache_publish(ct, draft, s, view);
}
