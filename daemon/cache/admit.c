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
#include "cache/admit.h"

enum {
    DRAFTS_SHARE = 8,  /* all of them: an eighth of the pages */
    LARGE_SHARE = 16,  /* a value over this part of the bound is large */
};

size_t cache_drafts_most(const struct cache *c) {
    size_t most = (size_t)atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed) *
                  PAGE_BYTES / DRAFTS_SHARE;
    return most > PAGE_BYTES ? most : PAGE_BYTES;
}

static size_t charged(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->draft_bytes[large], memory_order_relaxed);
}

size_t cache_drafts_held(const struct cache *c) { return charged(c, false) + charged(c, true); }

static uint32_t waiting(const struct cache *c, bool large) {
    return atomic_load_explicit(&c->drafts_waiting[large], memory_order_relaxed);
}

unsigned cache_drafts_waiting(const struct cache *c) {
    return waiting(c, false) + waiting(c, true);
}

unsigned cache_drafts_waiting_large(const struct cache *c) { return waiting(c, true); }

void cache_draft_waits(struct cache *c, bool large, bool waits) {
    atomic_fetch_add_explicit(&c->drafts_waiting[large], waits ? 1 : (uint32_t)-1,
                              memory_order_relaxed);
}

bool cache_draft_queues(const struct cache *c, const struct cache_draft *d) {
    return d->item == NULL && !d->at_hand && !d->arrived && waiting(c, d->large) > 0;
}

bool draft_is_large(const struct cache *c, size_t value_bytes) {
    return value_bytes > cache_drafts_most(c) / LARGE_SHARE;
}

/* Whether small and large drafts together may hold this much of a bound of `most` bytes. The sums
 * include the draft's own share. */
static bool may_hold(const struct cache *c, const struct cache_draft *d, size_t most, size_t small,
                     size_t large) {
    if (d->at_hand) {
        return true;
    }
    if (d->arrived) {
        return small + large <= most;
    }
    return small + large <= most / 8 * 7 &&
           (d->large ? large <= most / 8 * 5 : small <= most / 8 * 2 || waiting(c, true) == 0);
}

/* The bytes by which the draft counts against the bound. */
static size_t share_bytes(const struct cache *c, const struct cache_draft *d) {
    size_t half = cache_drafts_most(c) / 2;
    return d->need_bytes < half ? d->need_bytes : half;
}

bool cache_draft_has_room(const struct cache *c, const struct cache_draft *d, bool warily) {
    size_t bytes = share_bytes(c, d), most = cache_drafts_most(c), small = charged(c, false),
           large = charged(c, true);
    warily = warily && (d->large ? large : small) > 0;
    return may_hold(c, d, warily ? most / 2 : most, small + (d->large ? 0 : bytes),
                    large + (d->large ? bytes : 0));
}

bool draft_admit(struct cache *c, struct cache_draft *d) {
    size_t bytes = share_bytes(c, d);
    atomic_fetch_add_explicit(&c->draft_bytes[d->large], bytes, memory_order_relaxed);
    if (!may_hold(c, d, cache_drafts_most(c), charged(c, false), charged(c, true))) {
        atomic_fetch_sub_explicit(&c->draft_bytes[d->large], bytes, memory_order_relaxed);
        return false;
    }
    d->charged_bytes = bytes;
    return true;
}

void draft_dismiss(struct cache *c, const struct cache_draft *d) {
    atomic_fetch_sub_explicit(&c->draft_bytes[d->large], d->charged_bytes, memory_order_relaxed);
}
