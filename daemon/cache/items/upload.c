/* Uploads: items whose values are not written yet, or still arriving. The maker owns an upload
 * until the upload is published.
 *
 * Memory follows the bytes: first the head, which is the only chunk if one chunk holds the value,
 * then the chunks of the chain, a little ahead of the bytes. So a header without a body takes no
 * memory, and upload_quota.c bounds the memory of all uploads. */
#include "cache/items/upload.h"

#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/items/store_conditions.h"
#include "cache/items/upload_quota.h"

enum {
    CHAIN_TAKE = 32,
    SMALL_TAIL_SHARE = 16, /* smallest chunk for a tail: this share of the right size */
};

struct item *upload_take_item(struct cache_thread *ct, struct cache_upload *taken) {
    struct item *it = taken->item;
    upload_quota_release(ct->cache, taken);
    *taken = (struct cache_upload){0};
    return it;
}

/* --- heads --- */

struct shape {
    uint8_t  flags;
    unsigned class_id; /* class of the head */
    size_t   head_bytes; /* header, key and the value's part in the head */
};

static struct shape upload_shape(const struct cache *c, uint8_t flags, uint8_t key_len,
                                 uint32_t value_bytes) {
    size_t total_bytes = item_total_bytes(flags, key_len, value_bytes);
    unsigned class_id = item_unchained_class(c, total_bytes, value_bytes);
    if (class_id == SLAB_CLASS_NONE) {
        flags |= ITEM_CHAINED;
        total_bytes = item_total_bytes(flags, key_len, value_bytes);
        class_id = slab_class_of(c->slab, total_bytes);
    }
    return (struct shape){flags, class_id, total_bytes};
}

/* Makes an item without a tail. NULL: no memory. */
static struct item *upload_make_head(struct cache_thread *ct, const struct key *key,
                                     const struct shape *shape, uint32_t value_bytes,
                                     uint32_t client_flags, uint32_t exptime_s) {
    struct cache *c = ct->cache;
    uint32_t ref = c->store->alloc(ct, partition_of(c, key->hash), shape->class_id,
                                    shape->head_bytes, true);
    if (ref == 0) {
        return NULL;
    }
    struct item *it = item_at(c, ref);
    link_init_item(ct, it, shape->flags, key, value_bytes, client_flags, exptime_s);
    if (shape->flags & ITEM_CHAINED) {
        item_store32(item_chain(it), 0);
    }
    return it;
}

/* --- chains --- */

/* The class for a tail that holds the remaining bytes. */
static unsigned upload_tail_class(const struct cache *c, uint32_t left) {
    size_t want = (size_t)left + ITEM_TAIL_HEADER;
    return slab_class_of(c->slab, want < c->tail_bytes_most ? want : c->tail_bytes_most);
}

static uint32_t upload_tail_room(const struct cache *c, unsigned class_id) {
    return slab_chunk_bytes(c->slab, class_id) - ITEM_TAIL_HEADER;
}

/* The number of chunks to take at once: enough for the wanted bytes, but no more than the remaining
 * value fills. */
static unsigned upload_tails_wanted(const struct cache *c, uint32_t left, size_t wanted_bytes,
                                    unsigned class_id) {
    uint32_t room = upload_tail_room(c, class_id), full_chunks = left / room;
    size_t n = (wanted_bytes + room - 1) / room;
    n = n < full_chunks ? n : full_chunks;
    return n < 1 ? 1 : n < CHAIN_TAKE ? (unsigned)n : CHAIN_TAKE;
}

/* Takes free chunks of the class, or else one chunk by any means. If no chunk of the right size can
 * be had, a larger chunk serves. With no_slab_reassign a smaller chunk serves, too: the class of
 * the largest chunks may have one page, and other values may hold its two chunks. It does not serve
 * where pages move: while readers hold the large values, small items would be dropped without end.
 * Returns the number of chunks. */
static unsigned upload_take_tails(struct cache_thread *ct, struct partition *p, unsigned class_id,
                                  uint32_t *refs, unsigned want) {
    struct cache *c = ct->cache;
    unsigned got = slab_take(c->slab, class_id, refs, want), larger = class_id;
    for (; got == 0 && larger != SLAB_CLASS_NONE; larger = slab_next_class(c->slab, larger)) {
        refs[0] = c->store->alloc(ct, p, larger, 0, true);
        got = refs[0] != 0;
    }
    bool smaller_serves = !c->config.steal_pages && may_evict(c, class_id);
    for (unsigned share = 2; got == 0 && share <= SMALL_TAIL_SHARE && smaller_serves; share *= 2) {
        unsigned smaller = slab_class_of(c->slab, slab_chunk_bytes(c->slab, class_id) / share);
        refs[0] = smaller != class_id ? c->store->alloc(ct, p, smaller, 0, true) : 0;
        got = refs[0] != 0;
    }
    return got;
}

/* Appends a chunk to the chain, filled as far as bytes remain. */
static void upload_append_tail(const struct cache *c, struct cache_upload *d, uint32_t ref) {
    struct item_tail *t = (void *)item_at(c, ref);
    uint32_t room = upload_tail_room(c, slab_ref_class(c->slab, ref)),
             used_bytes = d->left < room ? d->left : room;
    atomic_thread_fence(memory_order_release); /* as in link_init_item */
    atomic_store_explicit(&t->key_len, 0, memory_order_relaxed);
    atomic_store_explicit(&t->flags, CHUNK_FILLING, memory_order_relaxed);
    item_store32(&t->next, 0);
    item_store32(&t->head, ref_of_item(c, d->item));
    item_store32(&t->used_bytes, used_bytes);
    if (d->last_tail == 0) {
        item_store32(item_chain(d->item), ref);
    } else {
        item_store32(&((struct item_tail *)(void *)item_at(c, d->last_tail))->next, ref);
    }
    d->last_tail = ref;
    d->left -= used_bytes;
}

static void upload_append_tails(const struct cache *c, struct cache_upload *d, const uint32_t *refs,
                                unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        upload_append_tail(c, d, refs[i]);
    }
}

struct item *upload_make_item(struct cache_thread *ct, const struct key *key, uint8_t flags,
                              uint32_t value_bytes, uint32_t client_flags, uint32_t exptime_s) {
    const struct cache *c = ct->cache;
    struct shape shape = upload_shape(c, flags, key->len, value_bytes);
    struct cache_upload d = {
        .item = upload_make_head(ct, key, &shape, value_bytes, client_flags, exptime_s)};
    if (d.item == NULL || !(shape.flags & ITEM_CHAINED)) {
        return d.item;
    }
    for (d.left = value_bytes - value_bytes_in_head(c, d.item); d.left > 0;) {
        uint32_t refs[CHAIN_TAKE];
        unsigned class_id = upload_tail_class(c, d.left);
        unsigned got = upload_take_tails(ct, partition_of(c, key->hash), class_id, refs,
                                         upload_tails_wanted(c, d.left, d.left, class_id));
        if (got == 0) {
            magazine_release_item(ct, d.item);
            return NULL;
        }
        upload_append_tails(c, &d, refs, got);
    }
    return d.item;
}

/* --- values that arrive piece by piece --- */

static struct shape upload_shape_of_store(const struct cache *c, const struct key *key,
                                          const struct cache_store *s) {
    return upload_shape(c, store_item_flags(c, s->client_flags, s->binary_key), key->len,
                        s->value_bytes);
}

/* Memory for the chain of a value of this length. */
static size_t upload_chain_bytes(const struct cache *c, uint32_t left) {
    size_t bytes = 0;
    while (left > 0) {
        unsigned class_id = upload_tail_class(c, left);
        uint32_t room = upload_tail_room(c, class_id), chunks = left / room > 0 ? left / room : 1;
        bytes += (size_t)chunks * slab_chunk_bytes(c->slab, class_id);
        left -= left < room ? left : chunks * room;
    }
    return bytes;
}

enum cache_status cache_upload_begin(struct cache_thread *ct, const struct key *key,
                                     const struct cache_store *s, struct cache_upload *d) {
    const struct cache *c = ct->cache;
    *d = (struct cache_upload){.left = s->value_bytes};
    if (!cache_value_fits(c, key, s->value_bytes)) {
        return store_end(ct, key, s, CACHE_TOO_LARGE, SLAB_CLASS_NONE);
    }
    struct shape shape = upload_shape_of_store(c, key, s);
    d->large = upload_is_large(c, s->value_bytes);
    d->need_bytes = c->store->takes(c, shape.class_id, shape.head_bytes) +
                    (shape.flags & ITEM_CHAINED ? upload_chain_bytes(c, s->value_bytes) : 0);
    return CACHE_OK;
}

static enum cache_upload_status upload_take_head(struct cache_thread *ct, const struct key *key,
                                                 const struct cache_store *s,
                                                 struct cache_upload *d) {
    struct cache *c = ct->cache;
    struct shape shape = upload_shape_of_store(c, key, s);
    if (!upload_quota_admit(c, d)) {
        return CACHE_UPLOAD_WAITS;
    }
    d->item = upload_make_head(ct, key, &shape, s->value_bytes, s->client_flags, s->exptime_s);
    if (d->item == NULL) {
        return CACHE_UPLOAD_REFUSED;
    }
    d->left = shape.flags & ITEM_CHAINED ? s->value_bytes - value_bytes_in_head(c, d->item) : 0;
    return CACHE_UPLOAD_READY;
}

static enum cache_upload_status upload_take_more(struct cache_thread *ct, const struct key *key,
                                                 struct cache_upload *d, size_t wanted_bytes) {
    struct cache *c = ct->cache;
    uint32_t refs[CHAIN_TAKE];
    unsigned class_id = upload_tail_class(c, d->left),
             want = upload_tails_wanted(c, d->left, wanted_bytes, class_id);
    unsigned got = upload_take_tails(ct, partition_of(c, key->hash), class_id, refs, want);
    if (got == 0) {
        return CACHE_UPLOAD_REFUSED;
    }
    upload_append_tails(c, d, refs, got);
    return CACHE_UPLOAD_READY;
}

enum cache_upload_status cache_upload_extend(struct cache_thread *ct, const struct key *key,
                                             const struct cache_store *s, struct cache_upload *d,
                                             size_t upto) {
    upto = upto < s->value_bytes ? upto : s->value_bytes;
    enum cache_upload_status how =
        d->item == NULL ? upload_take_head(ct, key, s, d) : CACHE_UPLOAD_READY;
    while (how == CACHE_UPLOAD_READY && cache_upload_room(d, s) < upto) {
        how = upload_take_more(ct, key, d, upto - cache_upload_room(d, s));
    }
    if (how == CACHE_UPLOAD_REFUSED) {
        cache_upload_refuse(ct, key, s, d);
    }
    return how;
}

int cache_upload_iov(const struct cache_thread *ct, const struct cache_upload *d, size_t skip,
                     struct cache_place *place, struct iovec *iov, int max) {
    return d->item != NULL ? cache_value_iov(ct, d->item, skip, place, iov, max) : 0;
}

/* An abandoned upload may leave free pages, which other classes may need at once. The tuner moves
 * such pages to the pool. */
static void upload_note_free_page(struct cache *c, unsigned class_id) {
    uint32_t page;
    if (!c->store->one_class && slab_partial_pages(c->slab, class_id, true, &page, 1) > 0 &&
        class_set_shared_add(&c->left_free, class_id) && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
}

void cache_upload_abandon(struct cache_thread *ct, struct cache_upload *taken) {
    struct cache *c = ct->cache;
    uint32_t last_tail = taken->last_tail;
    struct item *it = upload_take_item(ct, taken);
    if (it == NULL) {
        return;
    }
    /* the head of a chained value may have no tail yet */
    uint32_t first = last_tail != 0 ? item_load32(item_chain(it)) : ref_of_item(c, it);
    magazine_release_item(ct, it);
    upload_note_free_page(c, slab_ref_class(c->slab, first));
    if (last_tail != 0) { /* the last tail of a value may be of a smaller class */
        upload_note_free_page(c, slab_ref_class(c->slab, last_tail));
    }
}

enum cache_status cache_upload_refuse(struct cache_thread *ct, const struct key *key,
                                      const struct cache_store *s, struct cache_upload *taken) {
    cache_upload_abandon(ct, taken);
    return store_end(ct, key, s, CACHE_NO_MEMORY, SLAB_CLASS_NONE);
}

void cache_upload_overdue(struct cache_thread *ct, const struct key *key,
                          const struct cache_store *s, struct cache_upload *taken) {
    cache_upload_abandon(ct, taken);
    store_remove_old(ct, key, s);
}
