/* What a change of the chunk sizes is predicted to bring is what it brings once the cache is full again, measured against a twin
 * that was not changed. GEOMETRY_CASES=all takes larger caches and more mixes of sizes. */
#include "tap.h"

#include <math.h>
#include <unistd.h>

#include "cache_fixture.h"
#include "tune/tune.h"

enum {
    PATIENCE_MS = 60000,
    VALUE_MOST = 100000,
    FILLS = 4,           /* bytes fed before, and after, as multiples of the cache */
    MARGIN_POINTS = 12,  /* between prediction and measurement, or two thirds of the prediction if that is more */
    LOSS_POINTS = 2,     /* what was accepted without force may lose */
    SIGN_POINTS = 8,     /* a prediction beyond this has the sign of what is measured, or that is small */
};
static const double keys_share = 1.5; /* keys, by the bytes that fit */

struct mix {
    const char *name;
    size_t (*bytes)(uint64_t *x);
};

static double unit(uint64_t *x) { return (double)(fixture_random(x) >> 11) / (double)(1ull << 53); }
static size_t uniform(uint64_t *x) { return fixture_random(x) % 2048; }
static size_t narrow(uint64_t *x) { return 200 + fixture_random(x) % 500; }
static size_t bell(uint64_t *x) { return (size_t)exp(4 + 2 * (unit(x) + unit(x) + unit(x) + unit(x) - 2)); }
static size_t two_lumps(uint64_t *x) { return fixture_random(x) % 10 < 8 ? 50 + fixture_random(x) % 100 : 3000 + fixture_random(x) % 3000; }
static size_t long_tail(uint64_t *x) { return (size_t)(30 * pow(unit(x) + 1e-4, -0.8)); }

static const struct mix mixes[] = {
    {"narrow", narrow}, {"uniform", uniform}, {"two lumps", two_lumps}, {"bell", bell}, {"long tail", long_tail}};
static const unsigned megabytes[] = {16, 32, 64};

struct change {
    enum geometry_verb verb;
    double             factor;
    const char        *name;
};
static const struct change changes[] = {{GEOMETRY_AUTO, 0, "auto"},           {GEOMETRY_FACTOR, 1.08, "factor 1.08"},
                                        {GEOMETRY_FACTOR, 1.5, "factor 1.5"}, {GEOMETRY_SIZES, 0, "sizes"},
                                        {GEOMETRY_FACTOR, 1.05, "factor 1.05"}, {GEOMETRY_FACTOR, 1.15, "factor 1.15"}};

struct rig {
    struct cache        *c;
    struct cache_thread *ct;
    struct tuner        *t;
    const struct mix    *mix;
    uint64_t             x, keys;
    size_t               limit_bytes;
};

static size_t bytes_of_key(const struct mix *m, uint64_t key) {
    uint64_t x = (key + 1) * 0x9e3779b97f4a7c15u;
    fixture_random(&x), fixture_random(&x);
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

/* Keys at random; what is not there is stored. */
static void feed(struct rig *r) {
    static char value[VALUE_MOST];
    for (uint64_t fed = 0; fed < r->limit_bytes * FILLS;) {
        cache_turn_begin(r->ct);
        for (int i = 0; i < 8; i++) {
            uint64_t n = fixture_random(&r->x) % r->keys;
            struct key key = FIXTURE_KEY(n);
            struct cache_store s = {.mode = CACHE_ADD, .value = value, .value_bytes = (uint32_t)bytes_of_key(r->mix, n)};
            cache_store(r->ct, &key, &s, NULL);
            fed += s.value_bytes + 80;
        }
        cache_turn_end(r->ct);
    }
}

static void rig_open(struct rig *r, unsigned mb, const struct mix *m, uint64_t seed) {
    struct cache_config cfg = fixture_config((size_t)mb << 20);
    /* No automove: how often it decides while the cache fills depends on how fast the machine is. */
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .reassign = true, .geometry_rate_pct = 100};
    *r = (struct rig){.mix = m, .x = seed, .limit_bytes = cfg.limit_bytes, .keys = keys_for(m, cfg.limit_bytes)};
    r->c = cache_create(&cfg);
    r->ct = cache_thread_create(r->c);
    r->t = tuner_create(r->c, &tc);
    feed(r);
}

static void rig_close(struct rig *r) {
    tuner_destroy(&r->t);
    fixture_end(&r->c, &r->ct);
}

/* With classes in excess of pages a cache takes more than its limit: by page that it may have. */
static double items_by_limit(const struct rig *r) {
    struct cache_facts f;
    cache_facts(r->c, &f);
    return f.pages_out > f.pages_limit ? (double)f.items * f.pages_limit / f.pages_out : (double)f.items;
}

static void ask(struct rig *r, const struct change *c, bool force, bool dry, char *answer) {
    static const uint32_t sizes[] = {104, 152, 208, 304, 408, 552, 744, 1000, 1400, 2048, 3600, 6144};
    struct geometry_order *o = geometry_order_create(c->verb);
    o->factor = c->factor;
    o->first_bytes = 96;
    o->size_count = sizeof sizes / sizeof *sizes;
    memcpy(o->sizes, sizes, sizeof sizes);
    o->force = force;
    o->dry = dry;
    snprintf(answer, GEOMETRY_ANSWER_BYTES, "nobody answers");
    if (tuner_order_geometry(r->t, o)) {
        for (int i = 0; i < PATIENCE_MS && !asked_is_answered(&o->asked); i++) {
            usleep(1000);
        }
        snprintf(answer, GEOMETRY_ANSWER_BYTES, "%s", o->answer);
    }
    geometry_order_release(&o);
}

static void settle(struct rig *r) {
    struct geometry_facts f;
    for (int i = 0; i < PATIENCE_MS; i++) {
        tuner_geometry(r->t, &f);
        if (f.state == GEOMETRY_STEADY) {
            return;
        }
        usleep(1000);
    }
    ok(false, "the change ends: %s", f.why);
}

/* The gain in percent that an answer speaks of. */
static bool predicted(const char *answer, double *pct) {
    char how[8];
    unsigned classes;
    if (sscanf(answer, "PREDICTED %u classes would hold %lf %% %7s items", &classes, pct, how) != 3) {
        return false;
    }
    *pct = strcmp(how, "fewer") == 0 ? -*pct : *pct;
    return true;
}

struct tally {
    unsigned unsaid, far, contrary, lossy, accepted;
};

static void try_change(unsigned mb, const struct mix *m, const struct change *c, double unchanged, uint64_t seed, struct tally *t) {
    struct rig r;
    char said[GEOMETRY_ANSWER_BYTES], answer[GEOMETRY_ANSWER_BYTES];
    double pct = 0;
    rig_open(&r, mb, m, seed);
    ask(&r, c, false, true, said);
    bool known = predicted(said, &pct);
    ask(&r, c, false, false, answer);
    bool accepted = strcmp(answer, "OK") == 0;
    if (!accepted) {
        ask(&r, c, true, false, answer);
    }
    settle(&r);
    double settled = 100 * (items_by_limit(&r) / unchanged - 1);
    feed(&r);
    double measured = 100 * (items_by_limit(&r) / unchanged - 1);
    printf("# %2u MB %-9s %-11s %s predicted %+6.1f %%, measured %+6.1f %% when full again (%+.1f at the end)\n", mb, m->name, c->name,
           accepted ? "accepted" : "refused ", pct, measured, settled);
    t->unsaid += !known;
    t->accepted += accepted;
    t->far += accepted && fabs(pct - measured) > fmax(MARGIN_POINTS, fabs(pct) * 2 / 3);
    t->contrary += fabs(pct) > SIGN_POINTS && fabs(measured) > SIGN_POINTS && (pct < 0) != (measured < 0);
    t->lossy += accepted && measured < -LOSS_POINTS;
    rig_close(&r);
}

static void test_predictions_come_true(uint64_t seed) {
    const char *given = getenv("GEOMETRY_CASES");
    bool all = given != NULL && strcmp(given, "all") == 0;
    /* A slow build looks for races and stray accesses, for which a case is as good as eight. */
    unsigned sizes = all ? 3 : TAP_SLOWER > 1 ? 1 : 2, kinds = all ? sizeof mixes / sizeof *mixes : TAP_SLOWER > 1 ? 1 : 2,
             orders = all ? sizeof changes / sizeof *changes : TAP_SLOWER > 1 ? 2 : 3;
    struct tally t = {0};
    for (unsigned i = 0; i < sizes; i++) {
        for (unsigned j = 0; j < kinds; j++) {
            struct rig twin;
            rig_open(&twin, megabytes[i], &mixes[j], seed);
            feed(&twin);
            double unchanged = items_by_limit(&twin);
            rig_close(&twin);
            for (unsigned k = 0; k < orders; k++) {
                try_change(megabytes[i], &mixes[j], &changes[k], unchanged, seed, &t);
            }
        }
    }
    is(t.unsaid, 0, "a dry order answers with the prediction");
    ok(t.accepted > 0, "some changes are accepted: %u", t.accepted);
    is(t.lossy, 0, "none that is accepted without force leaves more than %d %% fewer items", LOSS_POINTS);
    is(t.far, 0, "what it brings is within %d points, or two thirds, of the prediction", MARGIN_POINTS);
    is(t.contrary, 0, "predictions and measurements agree in sign");
}

int main(void) {
    uint64_t seed = tap_sample_seed() | 1;
    clock_start();
    test_predictions_come_true(seed);
    return tap_done();
}
