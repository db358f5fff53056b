/* Flushing: sets the items' clock forward past all stored items. See struct item_clock. */
#include "cache/expire/flush.h"

#include "cache/persist/file_state.h"

/* Flushes every item whose time is not later than second `at_s`; with `all`, also items that a
 * store has given a later time. Several threads may flush at once: each flush is one second of the
 * items' clock. */
static void flush_until(struct cache *c, uint32_t at_s, uint32_t now_s, bool all) {
    uint64_t was = atomic_load_explicit(&c->item_clock, memory_order_relaxed), next;
    do {
        struct item_clock clock = item_clock_unpack(was);
        uint32_t until_s = at_s + clock.ahead_s;
        if ((int32_t)(until_s - clock.flushed_s) <= 0) {
            if (!all) {
                return;
            }
            /* threads whose turn began before the last flush may have stored with this time */
            until_s = clock.flushed_s + 1;
        }
        if ((int32_t)(now_s + clock.ahead_s - until_s) <= 0) {
            clock.ahead_s = until_s + 1 - now_s;
        }
        next = item_clock_pack((struct item_clock){until_s, clock.ahead_s});
    } while (!atomic_compare_exchange_weak_explicit(&c->item_clock, &was, next,
                                                    memory_order_seq_cst, memory_order_relaxed));
}

void flush_if_due(struct cache *c, uint32_t now_s) {
    uint32_t at_s = atomic_load_explicit(&c->flush_at_s, memory_order_relaxed);
    if (at_s != 0 && at_s <= now_s) {
        flush_until(c, at_s, now_s, false);
        atomic_compare_exchange_strong_explicit(&c->flush_at_s, &at_s, 0, memory_order_relaxed,
                                                memory_order_relaxed);
        file_state_save_flush(c);
    }
}

void cache_flush(struct cache *c, uint32_t at_s) {
    uint32_t now_s = clock_now_s();
    bool to_come = at_s > now_s;
    atomic_store_explicit(&c->flush_at_s, to_come ? at_s : 0, memory_order_relaxed);
    if (!to_come) {
        flush_until(c, at_s, now_s, false);
    }
    file_state_save_flush(c);
}

void cache_flush_now(struct cache *c) {
    uint32_t now_s;
    atomic_store_explicit(&c->flush_at_s, 0, memory_order_relaxed);
    do {
        now_s = clock_now_s();
        flush_until(c, now_s, now_s, true);
        file_state_save_flush(c);
        /* otherwise a thread may have stored in a second that this thread has not seen yet */
    } while (clock_now_s() != now_s);
}

uint32_t cache_flushed_s(const struct cache *c) { return cache_item_clock(c).flushed_s; }
