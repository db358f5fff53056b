/* A thread's turns. Within a turn a thread may hold references that it found without a lock;
 * between two turns it holds none. */
#include "cache/pages/epoch_turn.h"

#include <unistd.h>

#include "base/clock.h"
#include "cache/expire/flush.h"

enum { PAUSE_US = 100, QUIESCE_POLL_US = 20 };

void cache_turn_begin(struct cache_thread *ct) {
    ct->now_s = clock_now_s();
    ct->sample_hash_below =
        atomic_load_explicit(&ct->cache->sample_hash_below, memory_order_relaxed);
    flush_if_due(ct->cache, ct->now_s);
    ct->item_clock = cache_item_clock(ct->cache);
    turn_enter(ct->turn);
}

void cache_turn_end(struct cache_thread *ct) { turn_leave(ct->turn); }

uint32_t cache_now_s(const struct cache_thread *ct) { return ct->now_s; }

void turn_pause(struct cache_thread *ct) {
    cache_turn_end(ct);
    usleep(PAUSE_US);
    cache_turn_begin(ct);
}

void cache_turns_note(const struct cache_thread *ct, uint64_t seen[THREADS_MAX]) {
    turns_read(ct->cache->turns, seen);
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
        turn_leave(ct->turn); /* so that nobody waits for this thread, which holds no reference */
    }
    cache_turns_note(ct, seen);
    while (!(quiet = cache_turns_ended(ct->cache, seen)) &&
           clock_mono_us() - start_us < deadline_us) {
        usleep(QUIESCE_POLL_US);
    }
    if (within) {
        turn_enter(ct->turn);
    }
    return quiet;
}

/* --- waiting for memory --- */

/* A waiting store blocks all other clients of its worker. So after one store has waited in vain,
 * other stores fail at once for FAIL_FAST_TIMES the wait: waits take at most a fifth of a worker's
 * time. */
enum { FAIL_FAST_TIMES = 4 };

bool turn_wait_left(const struct cache_thread *ct, uint64_t *deadline_us) {
    /* where nothing may be evicted, memory held by others stays held */
    const struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us(),
             alloc_wait_us = c->config.evict ? c->config.alloc_wait_us : 0;
    *deadline_us = *deadline_us != 0 ? *deadline_us : now_us + alloc_wait_us;
    return now_us < *deadline_us;
}

bool turn_wait_for_memory(struct cache_thread *ct, uint64_t *deadline_us) {
    struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us();
    bool stealing = atomic_load_explicit(&c->stealing, memory_order_relaxed);
    if (!stealing && now_us < atomic_load_explicit(&c->fail_fast_until_us, memory_order_relaxed)) {
        return false;
    }
    if (!turn_wait_left(ct, deadline_us)) {
        atomic_store_explicit(&c->fail_fast_until_us,
                              now_us + FAIL_FAST_TIMES * (uint64_t)c->config.alloc_wait_us,
                              memory_order_relaxed);
        return false;
    }
    turn_pause(ct);
    return true;
}
