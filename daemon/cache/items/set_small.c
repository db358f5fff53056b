/* Stores small values in one hold of the lock. set_large.c stores large and chained values. */
#include "cache/items/set_small.h"

#include "base/failpoint.h"
#include "cache/admin/sampling.h"
#include "cache/alloc/evict_one.h"
#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"
#include "cache/items/set_large.h"
#include "cache/items/store_conditions.h"

/* The new item, planned from the store and the old item. */
struct set_plan {
    bool     joins;        /* append or prepend to `old` */
    uint8_t  flags;
    uint32_t value_bytes, client_flags, exptime_s;
    unsigned class_id;     /* SLAB_CLASS_NONE: larger than any chunk */
    uint32_t total_bytes;
};

static void set_small_plan(const struct cache *c, const struct cache_store *s,
                           const struct key *key, const struct item *old, struct set_plan *plan) {
    *plan = (struct set_plan){.value_bytes = s->value_bytes,
                          .client_flags = s->client_flags,
                          .exptime_s = s->exptime_s};
    plan->joins = old != NULL && (s->mode == CACHE_APPEND || s->mode == CACHE_PREPEND);
    bool binary = s->binary_key;
    if (store_marks_stale(s, old)) {
        plan->exptime_s = item_exptime_s(old);
    }
    if (plan->joins) {
        plan->value_bytes += item_value_bytes(old);
        plan->client_flags = item_client_flags(old);
        plan->exptime_s = item_exptime_s(old);
        binary = item_flags(old) & ITEM_BINKEY;
    }
    plan->flags = store_item_flags(c, plan->client_flags, binary);
    plan->total_bytes = (uint32_t)item_total_bytes(plan->flags, key->len, plan->value_bytes);
    plan->class_id = item_unchained_class(c, plan->total_bytes, plan->value_bytes);
}

/* The value of an append or prepend. */
static void set_small_fill_joined(const struct cache *c, char *to, const struct cache_store *s,
                                  const struct item *old) {
    char was[ITEM_COPY_MAX + 8];
    uint32_t old_bytes = item_value_bytes(old);
    item_value_copy_locked(c, old, was);
    bool append = s->mode == CACHE_APPEND;
    bytes_store(append ? to : to + s->value_bytes, was, old_bytes);
    bytes_store(append ? to + old_bytes : to, s->value, s->value_bytes);
}

/* A small store under way: the request, and the chunk that the store has. */
struct set_small {
    struct cache_thread       *ct;
    struct partition          *p;
    const struct key          *key;
    const struct cache_store  *s;
    /* store only if the key's chain is still in this state; NULL: in any case */
    const struct index_lookup   *unchanged;
    struct cache_view         *view;
    struct set_plan                plan;
    struct index_hint          hint;      /* the key's bucket */
    uint32_t                   ref;       /* chunk for the new item; 0: none yet */
};

/* The next step. All but STEP_AGAIN release the lock first. */
enum set_step { STEP_DONE, STEP_AGAIN, STEP_LARGE, STEP_NEEDS_CHUNK };

/* Overwrites the item in place. A reader copies a small value and then checks the index's version,
 * so no reply contains half of a change. */
static void set_small_overwrite_locked(const struct set_small *st, struct item *it) {
    struct cache_thread *ct = st->ct;
    const struct set_plan *plan = &st->plan;
    uint64_t was_bytes =
        item_total_bytes(item_flags(it), st->key->len, item_value_bytes(it));
    _Atomic uint32_t *change = index_change_begin(st->hint);
    char *to = link_init_item(ct, it, plan->flags, st->key, plan->value_bytes, plan->client_flags,
                              plan->exptime_s);
    failpoint_reach("half_overwritten");
    bytes_store(to, st->s->value, st->s->value_bytes);
    item_set_cas(it, link_next_cas_locked(st->p, st->s->cas));
    item_link_with(it, plan->flags);
    index_version_end(change);
    link_renew_locked(ct, st->p, it, plan->class_id, plan->total_bytes - was_bytes);
}

/* True if the chunk fits the plan. The chunk's page gives its class: while the store waited for the
 * chunk, the geometry may have changed, and the requested class id may belong to another size. In a
 * heap, chunks of one class have all sizes. */
static bool set_small_chunk_fits(const struct set_small *st) {
    const struct cache *c = st->ct->cache;
    return slab_ref_class(c->slab, st->ref) == st->plan.class_id &&
           (item_class_is_by_size(c, st->plan.total_bytes) ||
            c->store->chunk_takes(c, st->ref) >= st->plan.total_bytes);
}

/* True if the new item can overwrite the old item: same class and, in a heap, same size. */
static bool set_small_fits_old(const struct set_small *st, const struct item *old) {
    const struct cache *c = st->ct->cache;
    return !st->plan.joins && !item_large(old) && !item_chained(old) &&
           cache_item_class(c, old) == st->plan.class_id &&
           (item_class_is_by_size(c, st->plan.total_bytes) ||
            c->store->chunk_takes(c, ref_of_item(c, old)) ==
                c->store->takes(c, st->plan.class_id, st->plan.total_bytes));
}

/* Finds a chunk for the new item: the chunk that the store has, a chunk of the partition's
 * magazine, or a chunk from an eviction in this partition. */
static enum set_step set_small_choose_chunk_locked(struct set_small *st) {
    unsigned class_id = st->plan.class_id;
    if (st->ref != 0 && !set_small_chunk_fits(st)) {
        /* the old item or the geometry changed meanwhile */
        magazine_push_locked(st->ct, st->p, st->ref);
        st->ref = 0;
    }
    if (st->ref == 0) {
        st->ref = magazine_pop_locked(st->p, class_id);
    }
    if (st->ref == 0) {
        st->ref = evict_chunk_locked(st->ct, st->p, class_id);
        /* the evicted item may have been the old item */
        return st->ref != 0 ? STEP_AGAIN : STEP_NEEDS_CHUNK;
    }
    return STEP_DONE;
}

/* One hold of the lock. */
static enum set_step set_small_step_locked(struct set_small *st, enum cache_status *status) {
    struct cache_thread *ct = st->ct;
    struct cache *c = ct->cache;
    const struct cache_store *s = st->s;
    struct item *old = link_find_from_locked(ct, st->p, st->key, &st->hint);
    bool changed = st->unchanged != NULL && !index_unchanged(st->unchanged);
    *status = changed ? CACHE_EXISTS : store_condition(s, old);
    if (*status != CACHE_OK) {
        if (old != NULL) {
            st->plan.class_id = cache_item_class(c, old);
            if (s->mode == CACHE_ADD) {
                link_mark_wanted_locked(ct, st->p, old);
            }
        }
        return STEP_DONE;
    }
    set_small_plan(c, s, st->key, old, &st->plan);
    if (!cache_value_fits(c, st->key, st->plan.value_bytes)) {
        *status = CACHE_TOO_LARGE;
        return STEP_DONE;
    }
    if (st->plan.value_bytes > ITEM_COPY_MAX || st->plan.class_id == SLAB_CLASS_NONE) {
        return STEP_LARGE;
    }
    st->plan.flags |= store_marks(s, old);
    struct item *it = old;
    if (old != NULL && set_small_fits_old(st, old)) {
        set_small_overwrite_locked(st, old);
    } else {
        enum set_step step = set_small_choose_chunk_locked(st);
        if (step != STEP_DONE) {
            return step;
        }
        it = item_at(c, st->ref);
        char *to = link_init_item(ct, it, st->plan.flags, st->key, st->plan.value_bytes,
                                  st->plan.client_flags, st->plan.exptime_s);
        if (st->plan.joins) {
            set_small_fill_joined(c, to, s, old);
        } else {
            bytes_store(to, s->value, s->value_bytes);
        }
        if (!link_insert_locked(ct, st->p, st->key, it, old, s->cas)) {
            item_set_state(it, CHUNK_FREE);
            *status = CACHE_NO_MEMORY;
            return STEP_DONE;
        }
        st->ref = 0;
    }
    if (st->view != NULL) {
        cache_view_item(c, it, st->view);
    }
    return STEP_DONE;
}

static enum cache_status set_small(struct set_small *st) {
    struct cache_thread *ct = st->ct;
    const struct cache *c = ct->cache;
    enum cache_status status = CACHE_OK;
    enum set_step step;
    do {
        lock_take(&st->p->lock);
        do {
            step = set_small_step_locked(st, &status);
        } while (step == STEP_AGAIN);
        if (st->ref != 0 && step != STEP_NEEDS_CHUNK) {
            magazine_push_locked(ct, st->p, st->ref);
        }
        lock_release(&st->p->lock);
        magazine_settle(ct);
        if (step == STEP_NEEDS_CHUNK) {
            st->ref = c->store->alloc(ct, st->p, st->plan.class_id, st->plan.total_bytes, false);
            if (st->ref == 0) {
                return CACHE_NO_MEMORY;
            }
        }
    } while (step == STEP_NEEDS_CHUNK);
    if (step == STEP_LARGE) {
        return set_large(ct, st->key, st->s, st->unchanged, st->view, &st->plan.class_id);
    }
    if (status == CACHE_OK && st->unchanged == NULL && sampled(ct, st->key->hash)) {
        sampling_note(ct, SAMPLE_STORE, st->key->hash, st->plan.class_id, st->plan.value_bytes,
                      st->plan.exptime_s);
    }
    return status;
}

enum cache_status set_if_unchanged(struct cache_thread *ct, const struct key *key,
                                   const struct cache_store *s, const struct index_lookup *seen,
                                   struct cache_view *view) {
    struct set_small st = {.ct = ct,
                           .p = partition_of(ct->cache, key->hash),
                           .key = key,
                           .s = s,
                           .unchanged = seen,
                           .hint = s->hint,
                           .view = view};
    enum cache_status status = s->value_bytes > ITEM_COPY_MAX
                                   ? set_large(ct, key, s, seen, view, &st.plan.class_id)
                                   : set_small(&st);
    return store_end(ct, key, s, status, st.plan.class_id);
}

enum cache_status cache_store(struct cache_thread *ct, const struct key *key,
                              const struct cache_store *s, struct cache_view *view) {
    return set_if_unchanged(ct, key, s, NULL, view);
}
