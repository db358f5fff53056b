/* The predicted effect of a change of chunk sizes equals the measured effect once the cache is full again, against a twin without the
 * change. */
#include "tap.h"

#include <math.h>

#include "tune_fixture.h"

enum {
    VALUE_MOST = 100000,
    MEGABYTES = 16,
    FILLS = 3,           /* bytes fed before, and after, as multiples of the cache */
    MARGIN_POINTS = 12,  /* between prediction and measurement, or two thirds of the prediction if that is more */
    LOSS_POINTS = 2,     /* the most that a change accepted without force may lose */
    SIGN_POINTS = 8,     /* above this a prediction must have the sign of the measurement, unless that is small */
};
static const double keys_share = 1.5; /* number of keys, relative to the items that fit */

static size_t uniform(uint64_t *x) { return tap_random(x) % 2048; }
static size_t narrow(uint64_t *x) { return 200 + tap_random(x) % 500; }
static const struct mix {
    const char *name;
    size_t (*bytes)(uint64_t *x);
} mixes[] = {{"narrow", narrow}, {"uniform", uniform}};

static const struct change {
    enum geometry_verb verb;
    double             factor;
    const char        *name;
} changes[] = {{GEOMETRY_AUTO, 0, "auto"}, {GEOMETRY_FACTOR, 1.08, "factor 1.08"}, {GEOMETRY_FACTOR, 1.5, "factor 1.5"}};

struct load {
    struct rig        rig;
    const struct mix *mix;
    uint64_t          x, keys;
    size_t            limit_bytes;
};

static size_t bytes_of_key(const struct mix *m, uint64_t key) {
    uint64_t x = (key + 1) * 0x9e3779b97f4a7c15u;
    tap_random(&x), tap_random(&x);
    size_t bytes = m->bytes(&x);
    return bytes < VALUE_MOST ? bytes : VALUE_MOST;
}

static uint64_t keys_for(const struct mix *m, size_t limit_bytes) {
    enum { DRAWN = 20000, HEADER_AND_KEY = 80 };
    uint64_t bytes = 0;
    for (uint64_t i = 0; i < DRAWN; i++) {
        bytes += bytes_of_key(m, i) + HEADER_AND_KEY;
    }
    return (uint64_t)((double)limit_bytes * keys_share * DRAWN / (double)bytes);
}

/* Reads random keys, and stores the missing ones. */
static void feed(struct load *l) {
    static char value[VALUE_MOST];
    for (uint64_t fed = 0; fed < l->limit_bytes * FILLS;) {
        cache_turn_begin(l->rig.ct);
        for (int i = 0; i < 8; i++) {
            uint64_t n = tap_random(&l->x) % l->keys;
            struct key key = FIXTURE_KEY(n);
            struct cache_store s = {.mode = CACHE_ADD, .value = value, .value_bytes = (uint32_t)bytes_of_key(l->mix, n)};
            cache_store(l->rig.ct, &key, &s, NULL);
            fed += s.value_bytes + 80;
        }
        cache_turn_end(l->rig.ct);
    }
}

/* Without automove, because the number of its decisions while the cache fills depends on the machine's speed. */
static void load_open(struct load *l, const struct mix *m, uint64_t seed) {
    size_t limit_bytes = (size_t)MEGABYTES << 20;
    *l = (struct load){.mix = m, .x = seed, .limit_bytes = limit_bytes, .keys = keys_for(m, limit_bytes)};
    rig_open(&l->rig, MEGABYTES, &evict_slru, true);
    feed(l);
}

/* A cache with more classes than pages takes more than its limit, so the bound is by page. */
static double items_by_limit(const struct load *l) {
    struct cache_facts f;
    cache_facts(l->rig.c, &f);
    return f.pages_out > f.pages_limit ? (double)f.items * f.pages_limit / f.pages_out : (double)f.items;
}

static const char *ask_for(struct load *l, const struct change *c, bool force, bool dry) {
    return order(&l->rig, &(struct geometry_order){.verb = c->verb, .factor = c->factor, .first_bytes = 96, .force = force, .dry = dry});
}

/* The gain in percent in a reply. */
static bool predicted(const char *answer, double *pct) {
    char how[8] = "";
    bool said = sscanf(answer, "PREDICTED %*u classes would hold %lf %% %7s items", pct, how) == 2;
    *pct = strcmp(how, "fewer") == 0 ? -*pct : *pct;
    return said;
}

struct tally {
    unsigned unsaid, unsettled, far, contrary, lossy, accepted;
};

static void try_change(const struct mix *m, const struct change *c, double unchanged, uint64_t seed, struct tally *t) {
    struct load l;
    double pct = 0;
    load_open(&l, m, seed);
    bool known = predicted(ask_for(&l, c, false, true), &pct), accepted = strcmp(ask_for(&l, c, false, false), "OK") == 0;
    if (!accepted) {
        ask_for(&l, c, true, false);
    }
    t->unsettled += !settles(&l.rig);
    feed(&l);
    double measured = 100 * (items_by_limit(&l) / unchanged - 1);
    printf("# %-9s %-11s %s predicted %+6.1f %%, measured %+6.1f %% when full again\n", m->name, c->name,
           accepted ? "accepted" : "refused ", pct, measured);
    t->unsaid += !known;
    t->accepted += accepted;
    t->far += accepted && fabs(pct - measured) > fmax(MARGIN_POINTS, fabs(pct) * 2 / 3);
    t->contrary += fabs(pct) > SIGN_POINTS && fabs(measured) > SIGN_POINTS && (pct < 0) != (measured < 0);
    t->lossy += accepted && measured < -LOSS_POINTS;
    rig_close(&l.rig);
}

static void test_predictions_come_true(uint64_t seed) {
    struct tally t = {0};
    for (unsigned j = 0; j < (TAP_SLOWER > 1 ? 1 : 2); j++) {
        struct load twin;
        load_open(&twin, &mixes[j], seed);
        feed(&twin);
        double unchanged = items_by_limit(&twin);
        rig_close(&twin.rig);
        for (size_t k = 0; k < sizeof changes / sizeof *changes; k++) {
            try_change(&mixes[j], &changes[k], unchanged, seed, &t);
        }
    }
    is(t.unsaid, 0, "a dry order answers with the prediction");
    is(t.unsettled, 0, "every change ends");
    ok(t.accepted > 0, "some changes are accepted: %u", t.accepted);
    is(t.lossy, 0, "none that is accepted without force leaves more than %d %% fewer items", LOSS_POINTS);
    is(t.far, 0, "its effect is within %d points, or two thirds, of the prediction", MARGIN_POINTS);
    is(t.contrary, 0, "predictions and measurements agree in sign");
}

int main(void) {
    clock_start();
    test_predictions_come_true(tap_sample_seed() | 1);
    return tap_done();
}
