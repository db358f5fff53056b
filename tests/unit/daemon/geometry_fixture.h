/* A cache, a thread that uses it, and a tuner without a thread, for what is claimed of changes of the chunk sizes. The test steps
 * the tuner at a time of its own. */
#ifndef GEOMETRY_FIXTURE_H
#define GEOMETRY_FIXTURE_H
#include <sched.h>

#include "cache_fixture.h"
#include "tune/state.h"
#include "tune/tune.h"

enum { PATIENCE_MS = 60000, VALUE_MAX = 900 * 1000 };

struct rig {
    struct cache        *c;
    struct cache_thread *ct;
    struct tuner        *t;
    uint64_t             now_us;
    bool                 beside_threads; /* then the time is the system's */
};

static inline void rig_make(struct rig *r, const struct cache_config *cfg, const struct tune_config *tc) {
    r->c = cache_create(cfg);
    r->ct = cache_thread_create(r->c);
    r->t = tuner_create(r->c, tc);
    r->now_us = 1000000;
    r->beside_threads = false;
}

static inline void rig_open(struct rig *r, size_t megabytes, const struct evict_policy *policy, bool evict) {
    struct cache_config cfg = fixture_config(megabytes << 20);
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .reassign = true, .geometry_rate_pct = 100, .by_hand = true};
    cfg.policy = policy;
    cfg.evict = evict;
    rig_make(r, &cfg, &tc);
}

static inline void rig_close(struct rig *r) {
    tuner_destroy(&r->t);
    fixture_end(&r->c, &r->ct);
}

/* Does what is due, and goes on to the time when something is due again. */
static inline void step(struct rig *r) {
    uint64_t due_us = tuner_tend_at(r->t, r->now_us), soon_us = r->now_us + 10 * 1000;
    r->now_us = due_us < soon_us ? due_us : soon_us;
    if (r->beside_threads) {
        sched_yield();
        r->now_us = clock_mono_us();
    }
}

/* From now on others use the cache, and the pace has its thread. */
static inline void run_beside_threads(struct rig *r) {
    r->beside_threads = pace_start(&r->t->pace);
    r->now_us = clock_mono_us();
    ok(r->beside_threads, "the pace has a thread");
}

static inline void step_for(struct rig *r, uint64_t us) {
    for (uint64_t end_us = r->now_us + us; r->now_us < end_us;) {
        step(r);
    }
}

/* An order, and whether it was answered. */
struct geometry_call {
    struct geometry_order order; /* first */
    bool answered;
};

static inline void geometry_call_done(struct geometry_order *o) { ((struct geometry_call *)o)->answered = true; }

/* The answer to an order. */
static inline const char *order(struct rig *r, const struct geometry_order *o) {
    static struct geometry_call call;
    call = (struct geometry_call){.order = *o};
    call.order.done = geometry_call_done;
    if (!tuner_order_geometry(r->t, &call.order)) {
        return "nobody answers";
    }
    for (uint64_t end_us = r->now_us + PATIENCE_MS * UINT64_C(1000); r->now_us < end_us && !call.answered;) {
        step(r);
    }
    return call.answered ? call.order.answer : "nobody answers";
}

static inline const char *ask(struct rig *r, enum geometry_verb verb, bool force) {
    return order(r, &(struct geometry_order){.verb = verb, .force = force});
}

static inline const char *ask_sizes(struct rig *r, const uint32_t *sizes, unsigned count, bool force) {
    struct geometry_order o = {.verb = GEOMETRY_SIZES, .size_count = count, .force = force};
    memcpy(o.sizes, sizes, count * sizeof *sizes);
    return order(r, &o);
}

static inline const char *ask_factor(struct rig *r, double factor) {
    return order(r, &(struct geometry_order){.verb = GEOMETRY_FACTOR, .factor = factor, .first_bytes = 96, .force = true});
}

static inline bool settles(struct rig *r) {
    struct geometry_facts f;
    for (uint64_t end_us = r->now_us + PATIENCE_MS * UINT64_C(1000); r->now_us < end_us; step(r)) {
        tuner_geometry(r->t, &f);
        if (f.state == GEOMETRY_STEADY) {
            return true;
        }
    }
    printf("# still %s\n", f.why);
    return false;
}

static inline void fill(struct rig *r, uint64_t count, size_t least, size_t most) {
    char *value = malloc(most + 8);
    for (uint64_t i = 0; i < count; i++) {
        size_t bytes = least + (size_t)(i * 2654435761u % (most - least + 1));
        if (i % 16 == 0) {
            cache_turn_begin(r->ct);
        }
        fixture_value(value, bytes, i, bytes);
        fixture_set(r->ct, i, value, bytes);
        if (i % 16 == 15 || i + 1 == count) {
            cache_turn_end(r->ct);
        }
    }
    free(value);
}

/* How many of the keys are there; *wrong counts values that are not theirs. */
static inline uint64_t check_values(struct rig *r, uint64_t count, unsigned *wrong) {
    char *value = malloc(VALUE_MAX + 16), *expected = malloc(VALUE_MAX + 16);
    uint64_t there = 0;
    for (uint64_t i = 0; i < count; i++) {
        cache_turn_begin(r->ct);
        long bytes = fixture_get(r->ct, i, value);
        cache_turn_end(r->ct);
        if (bytes >= 0) {
            fixture_value(expected, (size_t)bytes, i, (uint64_t)bytes);
            *wrong += memcmp(value, expected, (size_t)bytes) != 0;
            there++;
        }
    }
    free(value);
    free(expected);
    return there;
}

/* What is left of items in a cache that was flushed and walked, and in which class its pages are. */
struct remains {
    uint64_t lost_chunks, bytes, items, pages_of_classes, pages_out;
};

static inline struct remains look_for_remains(struct rig *r) {
    static struct cache_class_facts facts[SLAB_CLASSES_MAX];
    struct class_set all = class_set_all();
    struct cache_facts cf;
    struct remains left = {0};
    cache_classes_facts(r->c, &all, facts);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        const struct cache_class_facts *f = &facts[i];
        left.lost_chunks += (uint64_t)f->slab.pages * f->slab.chunks_per_page - f->slab.free_chunks - f->stock_chunks;
        left.bytes += f->requested_bytes;
        left.items += f->items;
        left.pages_of_classes += f->slab.pages;
    }
    cache_facts(r->c, &cf);
    left.bytes += cf.bytes;
    left.items += cf.items;
    left.pages_out = cf.pages_out;
    return left;
}

static inline void nothing_is_left(struct rig *r, const char *after) {
    static struct cache_walked seen[64];
    struct cache_walk walk = {0};
    cache_flush_now(r->c);
    cache_turn_begin(r->ct);
    while (cache_walk_next(r->ct, &walk, seen, 64) >= 0) {
    }
    cache_turn_end(r->ct);
    struct remains left = look_for_remains(r);
    is(left.lost_chunks, 0, "%s: every chunk is free once every item is gone", after);
    ok(left.bytes == 0 && left.items == 0, "%s: queues and sums are empty", after);
    is(left.pages_of_classes, left.pages_out, "%s: every page belongs to a class", after);
}

static inline unsigned retired_classes(const struct rig *r) {
    unsigned n = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        n += slab_class_state(cache_slab(r->c), i) == SLAB_CLASS_RETIRED;
    }
    return n;
}
#endif
