/* A thread's turns. Within a turn a thread may hold references that it found without a lock;
 * between two turns it holds none. */
#include "cache/pages/epoch_turn.h"

#include <unistd.h>

#include "base/clock.h"
#include "cache/expire/flush.h"

enum { REST_US = 100, QUIESCE_LOOK_US = 20 };

void cache_turn_begin(struct cache_thread *ct) {
    ct->now_s = clock_now_s();
    ct->sample_below = atomic_load_explicit(&ct->cache->sample_below, memory_order_relaxed);
    flush_if_due(ct->cache, ct->now_s);
    ct->item_clock = cache_item_clock(ct->cache);
    turn_enter(ct->turn);
}

void cache_turn_end(struct cache_thread *ct) { turn_leave(ct->turn); }

uint32_t cache_now_s(const struct cache_thread *ct) { return ct->now_s; }

void turn_rest(struct cache_thread *ct) {
    cache_turn_end(ct);
    usleep(REST_US);
    cache_turn_begin(ct);
}

void cache_turns_note(const struct cache_thread *ct, uint64_t seen[THREADS_MAX]) {
    turns_look(ct->cache->turns, seen);
    seen[ct->turn - ct->cache->turns] = 0; /* this thread's own turn does not count */
}

bool cache_turns_ended(const struct cache *c, const uint64_t seen[THREADS_MAX]) {
    unsigned used = atomic_load_explicit(&c->turns_used, memory_order_acquire);
    for (unsigned i = 0; i < used; i++) {
        if (turn_lasts(&c->turns[i], seen[i])) {
            return false;
        }
    }
    return true;
}

bool cache_quiesce(struct cache_thread *ct, uint64_t deadline_us) {
    uint64_t seen[THREADS_MAX], start_us = clock_mono_us();
    bool within = turn_is_under_way(ct->turn), quiet;
    if (within) {
        turn_leave(ct->turn); /* this thread holds no reference, so nobody need wait for it */
    }
    cache_turns_note(ct, seen);
    while (!(quiet = cache_turns_ended(ct->cache, seen)) &&
           clock_mono_us() - start_us < deadline_us) {
        usleep(QUIESCE_LOOK_US);
    }
    if (within) {
        turn_enter(ct->turn);
    }
    return quiet;
}

/* --- waiting for memory --- */

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
