/* Changes of the chunk sizes while clients hold values that are being sent: their pages wait, all else goes on, and nothing is lost. */
#include "tap.h"

#include "geometry_fixture.h"

static void test_a_slow_client_holds_up_its_page_alone(void) {
    struct rig r;
    struct geometry_facts f;
    struct cache_view v;
    char name[64], *value = malloc(VALUE_MAX + 16);
    unsigned wrong = 0;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 20000, 200, 1000);
    fill(&r, 40, 5000, 20000);
    uint64_t before = check_values(&r, 20000, &wrong);
    struct key key = fixture_key(name, 7);
    cache_turn_begin(r.ct);
    fixture_fetch(r.ct, &key, value, &v);
    cache_turn_end(r.ct);
    ok(v.borrowed != NULL, "a large value is on its way to a client");
    ask_factor(&r, 1.4);
    for (int i = 0; i < PATIENCE_MS; i++) {
        tuner_geometry(r.t, &f);
        if (f.ranges_done == f.ranges && f.pages_in_use > 2 && retired_classes(&r) == 1) {
            break;
        }
        step(&r);
    }
    ok(f.ranges_done == f.ranges && f.state == GEOMETRY_DRAINING, "all ranges are converted, and its page is waited for");
    is(retired_classes(&r), 1, "only its class is left");
    cache_turn_begin(r.ct);
    cache_return(r.ct, v.borrowed);
    cache_turn_end(r.ct);
    ok(settles(&r), "once it is sent the change ends");
    ok(check_values(&r, 20000, &wrong) == before && wrong == 0, "with every value");
    nothing_is_left(&r, "after a slow client");
    free(value);
    rig_close(&r);
}

static struct item *borrow(struct rig *r, uint64_t n) {
    static char value[VALUE_MAX + 16];
    struct cache_view v = {0};
    struct key key = FIXTURE_KEY(n);
    cache_turn_begin(r->ct);
    fixture_fetch(r->ct, &key, value, &v);
    cache_turn_end(r->ct);
    return v.borrowed;
}

static void give_back(struct rig *r, struct item *borrowed) {
    cache_turn_begin(r->ct);
    cache_return(r->ct, borrowed);
    cache_turn_end(r->ct);
}

/* Pages that readers hold cannot be had, so nothing is to go for them: they are left for the end, and then for later. */
static void test_slow_clients_cost_no_items(void) {
    enum { BYTES = 90 * 1000, ITEMS = 230, HELD = 72, OF_A_PAGE = 11, LOOKS = 4 };
    struct rig r;
    struct geometry_facts f;
    struct item *held[HELD];
    unsigned wrong = 0, borrowed = 0, strange = 0;
    rig_open(&r, 24, &evict_slru, true);
    fill(&r, ITEMS, BYTES, BYTES);
    uint64_t before = check_values(&r, ITEMS, &wrong), pages_in_use = 0;
    for (unsigned i = 0; i < HELD; i++) {
        held[i] = borrow(&r, i);
        borrowed += held[i] != NULL;
    }
    ok(before == ITEMS && borrowed == HELD, "%d of %d values are on their way to slow clients", HELD, ITEMS);
    uint32_t pool = arena_pages_free(cache_slab(r.c)->arena);
    ok(pool < 3, "and memory is full but for %u pages", pool);
    is(strcmp(ask_factor(&r, 1.3), "OK"), 0, "other sizes");
    for (int i = 0, looks = 0; i < PATIENCE_MS && looks < LOOKS; i++) {
        tuner_geometry(r.t, &f);
        bool at_work = f.pages_drained > 3 && f.pages_drained < (ITEMS - HELD) / OF_A_PAGE - 3;
        strange += at_work && strncmp(f.why, "converting range", 16) != 0;
        looks += f.ranges_done == f.ranges && f.pages_in_use > pages_in_use;
        pages_in_use = f.pages_in_use;
        step(&r);
    }
    is(strange, 0, "while others are emptied it does not say that it waits for them");
    ok(f.state == GEOMETRY_DRAINING && strstr(f.why, "old pages are in use") != NULL, "then it does: %s", f.why);
    ok(f.did.evicted <= OF_A_PAGE, "%" PRIu64 " items are dropped, no more than a page holds", f.did.evicted);
    is(check_values(&r, ITEMS, &wrong), before - f.did.evicted, "the others are there");
    for (unsigned i = 0; i < HELD; i++) {
        give_back(&r, held[i]);
    }
    ok(settles(&r), "once all is sent the change ends");
    tuner_geometry(r.t, &f);
    ok(f.did.evicted <= OF_A_PAGE, "%" PRIu64 " items were dropped", f.did.evicted);
    ok(check_values(&r, ITEMS, &wrong) == before - f.did.evicted && wrong == 0, "the others are there, and right");
    nothing_is_left(&r, "after slow clients");
    rig_close(&r);
}

/* A value that is always somebody's read is in use at every look, and yet its page is emptied. */
static void test_a_value_that_is_always_read_moves(void) {
    enum { BYTES = 90 * 1000, ITEMS = 40 };
    struct rig r;
    struct geometry_facts f = {.state = GEOMETRY_DRAINING};
    unsigned wrong = 0;
    rig_open(&r, 24, &evict_slru, true);
    fill(&r, ITEMS, BYTES, BYTES);
    struct item *last = borrow(&r, 7);
    is(strcmp(ask_factor(&r, 1.3), "OK"), 0, "other sizes");
    for (int i = 0; i < PATIENCE_MS && f.state != GEOMETRY_STEADY; i++) {
        struct item *next = borrow(&r, 7);
        give_back(&r, last);
        last = next;
        step(&r);
        tuner_geometry(r.t, &f);
    }
    is(f.state, GEOMETRY_STEADY, "a value that is always being sent holds up no change");
    give_back(&r, last);
    ok(check_values(&r, ITEMS, &wrong) == ITEMS && wrong == 0, "every value is there, and right");
    nothing_is_left(&r, "after a busy value");
    rig_close(&r);
}

int main(void) {
    clock_start();
    test_a_slow_client_holds_up_its_page_alone();
    test_slow_clients_cost_no_items();
    test_a_value_that_is_always_read_moves();
    return tap_done();
}
