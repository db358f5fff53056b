/* A cache, a thread that uses the cache, and the mover with a thread of its own. The test steps the mover and sets its time. */
#ifndef MOVER_FIXTURE_H
#define MOVER_FIXTURE_H
#include "cache_fixture.h"
#include "control/pages/mover.h"
#include "own_clock.h"

enum { VALUE_MAX = 1 << 20 };

struct rig {
    struct cache        *cache;
    struct slab         *slab;
    struct cache_thread *client, *ct; /* ct: the mover's thread */
    struct mover         mover;
    struct pace          pace; /* without a thread */
    uint64_t             now_us;
    char                *value, *read;
};

static inline void rig_open_with(struct rig *r, const struct cache_config *cfg) {
    own_reading_us = 1;
    *r = (struct rig){.cache = cache_create(cfg), .now_us = 1, .value = malloc(VALUE_MAX), .read = malloc(VALUE_MAX + 16)};
    r->slab = cache_slab(r->cache);
    r->client = cache_thread_create(r->cache);
    r->ct = cache_thread_create(r->cache);
    mover_init(&r->mover, r->cache, r->ct, &r->pace);
    r->mover.may_assist = true;
}

static inline void rig_open(struct rig *r, size_t limit_bytes) {
    struct cache_config cfg = fixture_config(limit_bytes);
    rig_open_with(r, &cfg);
}

static inline void rig_close(struct rig *r) {
    free(r->value);
    free(r->read);
    cache_thread_destroy(&r->ct);
    fixture_end(&r->cache, &r->client);
}

static inline uint32_t pages_of(const struct rig *r, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(r->slab, class_id, &f);
    return f.pages;
}

static inline enum cache_status set(struct rig *r, uint64_t n, size_t bytes) {
    fixture_value(r->value, bytes, n, bytes);
    cache_turn_begin(r->client);
    enum cache_status status = fixture_set(r->client, n, r->value, bytes);
    cache_turn_end(r->client);
    return status;
}

/* Keys 0 … count - 1. */
static inline void set_many(struct rig *r, unsigned count, size_t bytes) {
    for (unsigned i = 0; i < count; i++) {
        set(r, i, bytes);
    }
}

/* Whether the key is there; a wrong value counts in *wrong. */
static inline bool get(struct rig *r, uint64_t n, size_t bytes, unsigned *wrong) {
    cache_turn_begin(r->client);
    long got = fixture_get(r->client, n, r->read);
    cache_turn_end(r->client);
    fixture_value(r->value, bytes, n, bytes);
    *wrong += got >= 0 && ((size_t)got != bytes || memcmp(r->read, r->value, bytes) != 0);
    return got >= 0;
}

/* How many of the keys 0, step, 2 step, … below count are there. */
static inline unsigned get_many(struct rig *r, unsigned count, unsigned step, size_t bytes, unsigned *wrong) {
    unsigned kept = 0;
    for (unsigned i = 0; i < count; i += step) {
        kept += get(r, i, bytes, wrong);
    }
    return kept;
}

static inline void drop(struct rig *r, uint64_t n) {
    cache_turn_begin(r->client);
    fixture_delete(r->client, n);
    cache_turn_end(r->client);
}

/* The class that items of so many bytes live in. */
static inline unsigned class_of(struct rig *r, size_t bytes) {
    struct key key = FIXTURE_KEY(999999);
    struct cache_view v = {0};
    set(r, 999999, bytes);
    cache_turn_begin(r->client);
    cache_peek(r->client, &key, &v);
    cache_turn_end(r->client);
    drop(r, 999999);
    return v.class_id;
}

/* Values being sent to slow clients: of the keys 0, step, 2 step, … below count, until they are returned. */
static inline void hold(struct rig *r, struct item **held, unsigned count, unsigned step) {
    cache_turn_begin(r->client);
    for (unsigned i = 0; i < count; i += step) {
        struct key key = FIXTURE_KEY(i);
        struct cache_view v = {0};
        fixture_fetch(r->client, &key, r->read, &v);
        held[i] = v.borrowed;
    }
    cache_turn_end(r->client);
}

static inline void return_held(struct rig *r, struct item **held, unsigned count) {
    cache_turn_begin(r->client);
    for (unsigned i = 0; i < count; i++) {
        if (held[i] != NULL) {
            cache_return(r->client, held[i]);
        }
    }
    cache_turn_end(r->client);
}

static struct move_result last; /* the last move's result */

/* A step, and the time until the next. */
static inline void step(struct rig *r) {
    uint64_t due_us = mover_step(&r->mover, r->now_us), pace_us = pace_step(&r->pace, r->now_us);
    due_us = due_us < pace_us ? due_us : pace_us;
    r->now_us = due_us > r->now_us && due_us != PACE_NEVER ? due_us : r->now_us + 1;
}

/* Steps until the move has ended. Returns how many pages moved. */
static inline unsigned move_to_its_end(struct rig *r) {
    while (r->mover.state != MOVER_ENDED) {
        step(r);
    }
    last = r->mover.result;
    return (unsigned)last.pages;
}

static inline unsigned move_as(struct rig *r, const struct page_move *m) {
    mover_begin(&r->mover, m, r->now_us);
    return move_to_its_end(r);
}

static inline void begin_move(struct rig *r, unsigned from, unsigned to, unsigned pages) {
    struct page_move m = {.from = from, .to = to, .pages = pages};
    mover_begin(&r->mover, &m, r->now_us);
}

static inline unsigned move(struct rig *r, unsigned from, unsigned to, unsigned pages) {
    begin_move(r, from, to, pages);
    return move_to_its_end(r);
}
#endif
