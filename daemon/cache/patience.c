/* How long a store waits for memory that others hold for a moment. */
#include "cache/patience.h"

#include "base/clock.h"
#include "cache/turn.h"

/* A store that waits keeps its worker from all other clients. So after one has waited in vain,
 * other stores are refused at once for REFUSED_AT_ONCE times the patience: waiting takes at most a
 * fifth of a worker's time. */
enum { REFUSED_AT_ONCE = 4 };

bool patience_left(const struct cache_thread *ct, uint64_t *give_up_us) {
    /* where nothing may be evicted, memory that others hold stays held */
    const struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us(), patience_us = c->config.evict ? c->config.patience_us : 0;
    *give_up_us = *give_up_us != 0 ? *give_up_us : now_us + patience_us;
    return now_us < *give_up_us;
}

bool rest_for_memory(struct cache_thread *ct, uint64_t *give_up_us) {
    struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us();
    bool stealing = atomic_load_explicit(&c->stealing, memory_order_relaxed);
    if (!stealing && now_us < atomic_load_explicit(&c->hopeless_until_us, memory_order_relaxed)) {
        return false;
    }
    if (!patience_left(ct, give_up_us)) {
        atomic_store_explicit(&c->hopeless_until_us,
                              now_us + REFUSED_AT_ONCE * (uint64_t)c->config.patience_us,
                              memory_order_relaxed);
        return false;
    }
    turn_rest(ct);
    return true;
}
