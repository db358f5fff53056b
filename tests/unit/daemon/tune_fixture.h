/* A tuner's configuration, a cache that is filled, and waiting for what the tuner's thread does. */
#ifndef TUNE_FIXTURE_H
#define TUNE_FIXTURE_H
#include <unistd.h>

#include "cache_fixture.h"
#include "tune/tune.h"
#include "tune/state.h"

enum { PATIENCE_MS = 60000 }; /* only a hang takes that long */

static inline struct tune_config config(const char *mode) {
    return (struct tune_config){
        .automove = mode, .ratio = 0.8, .window_s = 10, .reassign = true, .crawler = true, .crawler_sleep_us = 100};
}

static inline struct tuner *tuner_of(struct cache *c, const char *mode) {
    struct tune_config tc = config(mode);
    return tuner_create(c, &tc);
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

/* Waits until facts say so; false after PATIENCE_MS. */
static inline bool wait_for(struct tuner *t, bool (*done)(const struct tune_facts *, uint64_t), uint64_t arg) {
    struct tune_facts f;
    for (int i = 0; i < PATIENCE_MS; i++) {
        tuner_facts(t, &f);
        if (done(&f, arg)) {
            return true;
        }
        usleep(1000);
    }
    return false;
}
#endif
