/* A cache, a thread that uses the cache, and a tuner without a thread. The test steps the tuner and sets its time. For claims about page
 * moves and changes of chunk sizes. */
#ifndef TUNE_FIXTURE_H
#define TUNE_FIXTURE_H
#include <poll.h>
#include <semaphore.h>

#include "accounts.h"
#include "control/tuner_state.h"
#include "control/tuner.h"
#include "own_clock.h"

enum { PATIENCE_MS = 60000, WORKER_TURNS = 256, VALUE_MAX = 900 * 1000 };

struct rig {
    struct cache        *c;
    struct cache_thread *ct;
    struct tuner        *t;
    uint64_t             now_us;
    bool                 beside_threads; /* time is then the system's, and no wait has a limit */
    sem_t                worker_turns;   /* turns that workers may begin until the next step */
};

static inline void rig_make(struct rig *r, const struct cache_config *cfg, const struct tuner_config *tc) {
    own_reading_us = 1;
    *r = (struct rig){.c = cache_create(cfg), .now_us = 1000000};
    r->ct = cache_thread_create(r->c);
    r->t = tuner_create(r->c, tc);
}

static inline struct tuner_config rig_tuning(void) {
    return (struct tuner_config){.automove = "off", .reassign = true, .by_hand = true,
                                .settings = {.automove_ratio = 0.8, .automove_window_s = 10, .geometry.rate_pct = 100}};
}

static inline void rig_open(struct rig *r, size_t megabytes, const struct evict_policy *policy, bool evict) {
    struct cache_config cfg = fixture_config(megabytes << 20);
    struct tuner_config tc = rig_tuning();
    cfg.policy = policy;
    cfg.evict = evict;
    rig_make(r, &cfg, &tc);
}

static inline void rig_close(struct rig *r) {
    tuner_destroy(&r->t);
    fixture_end(&r->c, &r->ct);
}

/* Waits until the next task is due or somebody wakes the control thread. */
static inline void step_await(struct rig *r, uint64_t due_us) {
    uint64_t now_us = clock_mono_us(), wakes;
    int ms = due_us > now_us ? (int)((due_us - now_us + 999) / 1000) : 0;
    if (ms > 0 && poll(&(struct pollfd){.fd = r->t->control.wake_fd, .events = POLLIN}, 1, ms) > 0) {
        (void)!read(r->t->control.wake_fd, &wakes, sizeof wakes);
    }
    r->now_us = clock_mono_us();
}

static inline void workers_go_on(struct rig *r) {
    int turns;
    for (sem_getvalue(&r->worker_turns, &turns); turns < WORKER_TURNS; turns++) {
        sem_post(&r->worker_turns);
    }
}

/* Runs all due tasks, and goes on to the time of the next one. */
static inline void step(struct rig *r) {
    uint64_t due_us = tuner_tend_at(r->t, r->now_us), soon_us = r->now_us + 10 * 1000;
    due_us = due_us < soon_us ? due_us : soon_us;
    if (r->beside_threads) {
        workers_go_on(r);
        step_await(r, due_us);
    } else {
        r->now_us = due_us;
    }
}

#define STEP_UNTIL(r, condition) for (int tries_ = 0; tries_ < PATIENCE_MS && !(condition); tries_++) step(r)

/* From now on others use the cache, and the pace has its thread. */
static inline void run_beside_threads(struct rig *r) {
    sem_init(&r->worker_turns, 0, 0);
    r->beside_threads = pace_start(&r->t->pace);
    r->now_us = clock_mono_us();
    ok(r->beside_threads, "the pace has a thread");
}

static inline uint64_t patience_end_us(const struct rig *r) {
    return r->beside_threads ? UINT64_MAX : r->now_us + PATIENCE_MS * UINT64_C(1000);
}

static inline void step_for(struct rig *r, uint64_t us) {
    for (uint64_t end_us = r->now_us + us; r->now_us < end_us;) {
        step(r);
    }
}

/* An order, and whether it has its answer. */
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
    for (uint64_t end_us = patience_end_us(r); r->now_us < end_us && !call.answered;) {
        step(r);
    }
    return call.answered ? call.order.answer : "nobody answers";
}

static inline bool says(const char *answer, const char *first) { return strncmp(answer, first, strlen(first)) == 0; }

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

static inline struct geometry_facts facts_of(const struct rig *r) {
    struct geometry_facts f;
    tuner_geometry(r->t, &f);
    return f;
}

static inline bool settles(struct rig *r) {
    uint64_t end_us = patience_end_us(r);
    while (facts_of(r).state != GEOMETRY_STEADY && r->now_us < end_us) {
        step(r);
    }
    return r->now_us < end_us;
}

/* A value on its way to a slow client, until it is returned. */
static inline struct item *borrow(struct rig *r, uint64_t n) {
    static char value[VALUE_MAX + 16];
    struct cache_view v = {0};
    struct key key = FIXTURE_KEY(n);
    cache_turn_begin(r->ct);
    fixture_fetch(r->ct, &key, value, &v);
    cache_turn_end(r->ct);
    return v.borrowed;
}

static inline void give_back(struct rig *r, struct item *borrowed) {
    cache_turn_begin(r->ct);
    cache_return(r->ct, borrowed);
    cache_turn_end(r->ct);
}

/* In turns of its own. Returns the number of refused stores. */
static inline unsigned store_some(struct cache_thread *ct, uint64_t first, uint64_t count, size_t bytes) {
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

static inline uint32_t pages_of(const struct rig *r, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(cache_slab(r->c), class_id, &f);
    return f.pages;
}

/* Steps until no page moves or has to. */
static inline struct tuner_facts at_rest(struct rig *r) {
    struct tuner_facts f;
    uint64_t end_us = patience_end_us(r);
    do {
        step(r);
        tuner_facts(r->t, &f);
    } while ((f.moving || f.pages_over > 0) && r->now_us < end_us);
    return f;
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

/* The number of keys that are there; *wrong counts values that are not theirs. */
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

static inline unsigned retired_classes(const struct rig *r) {
    unsigned n = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        n += slab_class_state(cache_slab(r->c), i) == SLAB_CLASS_RETIRED;
    }
    return n;
}
#endif
