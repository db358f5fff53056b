/* How values that are still coming share the bound, so that nobody's slow values keep those of
 * others waiting. In eighths of the bound:
 *
 *     0        5     7  8
 *     |  large |     |  |
 *     | small, large |  |
 *     |  arrived        |
 *
 * Large values may hold five eighths, because they hold memory for longest; large and small ones
 * together seven. The last eighth is for values whose bytes have all arrived: they hold memory only
 * while they are copied. While a large value waits, small ones may hold two eighths.
 *
 * One value counts for at most four eighths. So a value larger than that can be stored too, but
 * only one at a time. */
#include "cache/items/upload_quota.h"

enum {
    DRAFTS_SHARE = 8, /* all of them: an eighth of the pages */
    LARGE_SHARE = 16, /* a value over this part of the bound is large */
};

size_t cache_drafts_most(const struct cache *c) {
    size_t most = (size_t)atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed) *
                  PAGE_BYTES / DRAFTS_SHARE;
    return most > PAGE_BYTES ? most : PAGE_BYTES;
}

bool draft_is_large(const struct cache *c, size_t value_bytes) {
    return value_bytes > cache_drafts_most(c) / LARGE_SHARE;
}

static size_t charged(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->draft_bytes[large], memory_order_relaxed);
}

size_t cache_drafts_held(const struct cache *c) { return charged(c, false) + charged(c, true); }

unsigned cache_drafts_waiting(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->drafts_waiting[large], memory_order_relaxed);
}

void cache_draft_waits(struct cache *c, const struct cache_draft *d, bool waits) {
    atomic_fetch_add_explicit(&c->drafts_waiting[d->large], waits ? 1 : (uint32_t)-1,
                              memory_order_relaxed);
}

bool cache_draft_queues(const struct cache *c, const struct cache_draft *d) {
    return d->item == NULL && !d->at_hand && !d->arrived && cache_drafts_waiting(c, d->large) > 0;
}

/* Whether drafts of the kind of `d` may hold `kind_bytes`, and all drafts `all_bytes`, of a bound
 * of `most` bytes. Both sums have the draft's own share. */
static bool may_hold(const struct cache *c, const struct cache_draft *d, size_t most,
                     size_t kind_bytes, size_t all_bytes) {
    size_t kind_most = most;
    if (d->at_hand || d->arrived) {
        return d->at_hand || all_bytes <= most;
    }
    if (d->large) {
        kind_most = most / 8 * 5;
    } else if (cache_drafts_waiting(c, true) > 0) {
        kind_most = most / 8 * 2;
    }
    return kind_bytes <= kind_most && all_bytes <= most / 8 * 7;
}

/* The bytes by which the draft counts against the bound. */
static size_t share_bytes(const struct cache *c, const struct cache_draft *d) {
    size_t half = cache_drafts_most(c) / 2;
    return d->need_bytes < half ? d->need_bytes : half;
}

bool cache_draft_has_room(const struct cache *c, const struct cache_draft *d, bool warily) {
    size_t bytes = share_bytes(c, d), kind_bytes = charged(c, d->large),
           most = cache_drafts_most(c) / (warily && kind_bytes > 0 ? 2 : 1);
    return may_hold(c, d, most, kind_bytes + bytes, cache_drafts_held(c) + bytes);
}

bool draft_admit(struct cache *c, struct cache_draft *d) {
    size_t bytes = share_bytes(c, d);
    atomic_fetch_add_explicit(&c->draft_bytes[d->large], bytes, memory_order_relaxed);
    if (!may_hold(c, d, cache_drafts_most(c), charged(c, d->large), cache_drafts_held(c))) {
        atomic_fetch_sub_explicit(&c->draft_bytes[d->large], bytes, memory_order_relaxed);
        return false;
    }
    d->charged_bytes = bytes;
    return true;
}

void draft_dismiss(struct cache *c, const struct cache_draft *d) {
    atomic_fetch_sub_explicit(&c->draft_bytes[d->large], d->charged_bytes, memory_order_relaxed);
}
