#include "control/sweep/sweeper.h"

#include <sched.h>

#include "base/clock.h"

enum {
    EVERY_US = 1000 * 1000,
    SPELL_US = 1000, /* turns that follow each other without a pause */
    TURN_US = 200,
    SHARE_PCT = 1,       /* a pass's share of a processor */
    SHARE_DEAD_PCT = 50, /* the share where all items are dead */
    /* a pass comes so often even without changes: the mover may copy an item past a pass */
    UNASKED_US = 60 * EVERY_US,
};

void sweeper_init(struct sweeper *s, struct cache *cache, struct cache_thread *ct, bool on) {
    *s = (struct sweeper){.cache = cache, .ct = ct, .on = on, .changes = UINT64_MAX};
}

/* Whether a pass may find anything dead. */
static bool sweeper_is_worth_it(const struct sweeper *s, uint64_t now_us, uint64_t changes) {
    return changes != s->changes || cache_flushed_s(s->cache) != s->flushed_s ||
           (s->pass.earliest_s != 0 && s->pass.earliest_s <= clock_now_s()) ||
           now_us >= s->began_us + UNASKED_US;
}

/* Ends the turn and begins another, since others may wait for a turn to end. Returns the time. */
static uint64_t sweeper_turn(struct sweeper *s, uint64_t now_us) {
    uint64_t end_us = now_us + TURN_US;
    cache_turn_begin(s->ct);
    do {
        s->under_way = cache_sweep_step(s->ct, &s->pass);
        now_us = clock_mono_us();
    } while (s->under_way && now_us < end_us);
    cache_turn_end(s->ct);
    return now_us;
}

/* A spell: turns, between which a worker may run first, and then a pause. On a busy machine a
 * thread runs again only milliseconds after a pause, so pauses are few. */
static void sweeper_spell(struct sweeper *s, uint64_t now_us) {
    uint64_t examined = s->pass.examined, freed = s->pass.freed, mine_us = clock_thread_us(),
             end_us = now_us + SPELL_US;
    do {
        now_us = sweeper_turn(s, now_us);
        sched_yield();
    } while (s->under_way && now_us < end_us);
    uint64_t took_us = clock_thread_us() - mine_us, pct = SHARE_PCT;
    if (s->pass.examined > examined) {
        pct += (SHARE_DEAD_PCT - SHARE_PCT) * (s->pass.freed - freed) /
               (s->pass.examined - examined);
    }
    s->due_us = now_us + took_us * (100 - pct) / pct;
    if (!s->under_way && s->due_us < s->began_us + EVERY_US) {
        s->due_us = s->began_us + EVERY_US;
    }
}

uint64_t sweeper_tend(struct sweeper *s, uint64_t now_us) {
    if (!s->on) {
        return UINT64_MAX;
    }
    if (now_us < s->due_us) {
        return s->due_us;
    }
    if (!s->under_way) {
        uint64_t changes = cache_sweep_changes(s->cache);
        if (!sweeper_is_worth_it(s, now_us, changes)) {
            s->due_us = now_us + EVERY_US;
            return s->due_us;
        }
        s->pass = (struct cache_sweep){0};
        s->began_us = now_us;
        s->changes = changes;
        s->flushed_s = cache_flushed_s(s->cache);
        s->under_way = true;
    }
    sweeper_spell(s, now_us);
    return s->due_us;
}
