/* Pages that abandoned drafts left free as a whole go to the pool, however long a worker's turn takes. */
#include "tap.h"

#include "geometry_fixture.h"

enum { DRAFTS = 4, VALUE_BYTES = 1000 * 1000, LIMIT_BYTES = 64 << 20 };

static void open_by_hand(struct rig *r) {
    struct cache_config cfg = fixture_config(LIMIT_BYTES);
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .reassign = true, .by_hand = true};
    rig_make(r, &cfg, &tc);
}

static uint32_t pages_out(const struct rig *r) {
    struct cache_facts f;
    cache_facts(r->c, &f);
    return f.pages_out;
}

static uint32_t classes_with_pages(const struct rig *r) {
    uint32_t n = 0;
    for (unsigned i = 1; i <= cache_slab(r->c)->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(cache_slab(r->c), i, &f);
        n += f.pages > 0;
    }
    return n;
}

/* Values of which a part has come when their clients go. Within a turn of the worker. */
static void abandon_drafts(struct rig *r) {
    struct cache_draft drafts[DRAFTS];
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = VALUE_BYTES};
    for (unsigned i = 0; i < DRAFTS; i++) {
        struct key key = FIXTURE_KEY(i);
        cache_draft_begin(r->ct, &key, &s, &drafts[i]);
        cache_draft_extend(r->ct, &key, &s, &drafts[i], VALUE_BYTES / 2);
    }
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_abandon(r->ct, &drafts[i]);
    }
}

int main(void) {
    struct rig r;
    clock_start();
    open_by_hand(&r);
    cache_turn_begin(r.ct);
    abandon_drafts(&r);
    uint32_t had = pages_out(&r);
    uint32_t classes = classes_with_pages(&r); /* the heads of large values have one of their own */
    ok(had > classes, "abandoned drafts leave %u pages in %u classes", had, classes);
    step_for(&r, CLOCK_SECOND_US);
    is(pages_out(&r), had, "while the turn lasts in which they were abandoned none goes");
    cache_turn_end(r.ct);
    step_for(&r, CLOCK_SECOND_US);
    is(pages_out(&r), classes, "when it has ended all go, but the one that each class keeps");
    struct tune_facts f;
    tuner_facts(r.t, &f);
    ok(f.moved.pages == had - classes && f.moved.given_up == 0, "once");
    rig_close(&r);
    return tap_done();
}
