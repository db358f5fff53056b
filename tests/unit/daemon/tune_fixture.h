/* A tuner's configuration, a cache that is filled, and a tuner without a thread, which the test steps at a time of its own. */
#ifndef TUNE_FIXTURE_H
#define TUNE_FIXTURE_H
#include "cache_fixture.h"
#include "control_fixture.h"
#include "tune/tune.h"

enum { PATIENCE_MS = 60000 }; /* only a hang takes that long */
static uint64_t hand_us = 1000000; /* the time of tuners without a thread */

static inline struct tune_config config(const char *mode) {
    return (struct tune_config){
        .automove = mode, .ratio = 0.8, .window_s = 10, .reassign = true, .crawler = true, .crawler_sleep_us = 100};
}

static inline struct tuner *tuner_of(struct cache *c, const char *mode) {
    struct tune_config tc = config(mode);
    return tuner_create(c, &tc);
}

static inline struct tuner *tuner_by_hand(struct cache *c, const char *mode) {
    struct tune_config tc = config(mode);
    tc.by_hand = true;
    return tuner_create(c, &tc);
}

/* Does what is due, and goes on to the time when something is due again. */
static inline void step(struct tuner *t) {
    uint64_t due_us = tuner_tend_at(t, hand_us), soon_us = hand_us + 10 * 1000;
    hand_us = due_us < soon_us ? due_us : soon_us;
}

/* In turns of its own. Returns how many are refused. */
static inline unsigned fill(struct cache_thread *ct, uint64_t first, uint64_t count, size_t bytes) {
    char *value = calloc(1, bytes);
    unsigned refused = 0;
    cache_turn_begin(ct);
    for (uint64_t i = first; i < first + count; i++) {
        if (i % 16 == 0) {
            fixture_next_turn(ct, 0);
        }
        refused += fixture_set(ct, i, value, bytes) != CACHE_OK;
    }
    cache_turn_end(ct);
    free(value);
    return refused;
}

/* Steps until facts say so; false after PATIENCE_MS of the test's time. */
static inline bool step_until(struct tuner *t, bool (*done)(const struct tune_facts *, uint64_t), uint64_t arg) {
    struct tune_facts f;
    for (uint64_t end_us = hand_us + PATIENCE_MS * UINT64_C(1000); hand_us < end_us; step(t)) {
        tuner_facts(t, &f);
        if (done(&f, arg)) {
            return true;
        }
    }
    return false;
}
#endif
