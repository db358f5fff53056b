/* How uploads share the quota, so that one client's slow values do not block other clients'. In
 * eighths of the quota:
 *
 *     0        5     7  8
 *     |  large |     |  |
 *     | small, large |  |
 *     |  arrived        |
 *
 * Large values may hold five eighths, because they hold memory for longest; large and small values
 * together seven. The last eighth is for values whose bytes have all arrived, which hold memory
 * only during the copy. While a large value waits, small values may hold two eighths.
 *
 * One value counts for at most four eighths. So larger values can be stored too, one at a time. */
#include "cache/items/upload_quota.h"

enum {
    UPLOADS_SHARE = 8, /* the quota: an eighth of the pages */
    LARGE_SHARE = 16,  /* a value over this part of the quota is large */
};

size_t cache_uploads_max_bytes(const struct cache *c) {
    size_t most = (size_t)atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed) *
                  PAGE_BYTES / UPLOADS_SHARE;
    return most > PAGE_BYTES ? most : PAGE_BYTES;
}

bool upload_is_large(const struct cache *c, size_t value_bytes) {
    return value_bytes > cache_uploads_max_bytes(c) / LARGE_SHARE;
}

static size_t upload_charged_bytes(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->upload_bytes[large], memory_order_relaxed);
}

size_t cache_uploads_held_bytes(const struct cache *c) {
    return upload_charged_bytes(c, false) + upload_charged_bytes(c, true);
}

unsigned cache_uploads_waiting(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->uploads_waiting[large], memory_order_relaxed);
}

void cache_upload_set_waiting(struct cache *c, const struct cache_upload *d, bool waits) {
    if (waits) {
        atomic_fetch_add_explicit(&c->uploads_waiting[d->large], 1, memory_order_relaxed);
    } else {
        atomic_fetch_sub_explicit(&c->uploads_waiting[d->large], 1, memory_order_relaxed);
    }
}

bool cache_upload_must_queue(const struct cache *c, const struct cache_upload *d) {
    return d->item == NULL && !d->immediate && !d->arrived &&
           cache_uploads_waiting(c, d->large) > 0;
}

/* True if uploads of d's kind may hold `kind_bytes`, and all uploads `all_bytes`, of a quota of
 * `most` bytes. Both sums include d. */
static bool upload_may_hold(const struct cache *c, const struct cache_upload *d, size_t most,
                            size_t kind_bytes, size_t all_bytes) {
    size_t kind_most = most;
    if (d->immediate || d->arrived) {
        return d->immediate || all_bytes <= most;
    }
    if (d->large) {
        kind_most = most / 8 * 5;
    } else if (cache_uploads_waiting(c, true) > 0) {
        kind_most = most / 8 * 2;
    }
    return kind_bytes <= kind_most && all_bytes <= most / 8 * 7;
}

/* The bytes that the upload is charged. */
static size_t upload_share_bytes(const struct cache *c, const struct cache_upload *d) {
    size_t half = cache_uploads_max_bytes(c) / 2;
    return d->need_bytes < half ? d->need_bytes : half;
}

bool cache_upload_has_room(const struct cache *c, const struct cache_upload *d, bool guarded) {
    size_t bytes = upload_share_bytes(c, d), kind_bytes = upload_charged_bytes(c, d->large),
           most = cache_uploads_max_bytes(c) / (guarded && kind_bytes > 0 ? 2 : 1);
    return upload_may_hold(c, d, most, kind_bytes + bytes, cache_uploads_held_bytes(c) + bytes);
}

bool upload_quota_admit(struct cache *c, struct cache_upload *d) {
    size_t bytes = upload_share_bytes(c, d);
    atomic_fetch_add_explicit(&c->upload_bytes[d->large], bytes, memory_order_relaxed);
    if (!upload_may_hold(c, d, cache_uploads_max_bytes(c), upload_charged_bytes(c, d->large),
                         cache_uploads_held_bytes(c))) {
        atomic_fetch_sub_explicit(&c->upload_bytes[d->large], bytes, memory_order_relaxed);
        return false;
    }
    d->charged_bytes = bytes;
    return true;
}

void upload_quota_release(struct cache *c, const struct cache_upload *d) {
    atomic_fetch_sub_explicit(&c->upload_bytes[d->large], d->charged_bytes, memory_order_relaxed);
}
