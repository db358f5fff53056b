/* Pages of which something is in use, and moves that are cancelled: nothing is lost for what cannot be had. */
#include "tap.h"

#include "mover_fixture.h"

static void test_slow_reader_stops_a_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { BYTES = 5000, ITEMS = 500 };
    unsigned from = class_of(&r, BYTES), wrong = 0;
    struct cache_view views[ITEMS] = {0};
    set_many(&r, ITEMS, BYTES);
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < ITEMS; i++) { /* every item is being sent */
        struct key key = FIXTURE_KEY(i);
        fixture_fetch(r.client, &key, r.read, &views[i]);
    }
    cache_turn_end(r.client);
    uint32_t had = pages_of(&r, from);
    uint64_t begun_us = r.now_us;
    is(move(&r, from, class_of(&r, 100), 1), 0, "a page whose items are being sent does not move");
    is(last.given_up, 1, "the move is given up and counted");
    ok(r.now_us - begun_us >= PAGE_PATIENCE_US && r.now_us - begun_us < 2 * PAGE_PATIENCE_US, "after some patience");
    is_str(move_busy_name(last.last_busy), "reader", "with the reason");
    ok(pages_of(&r, from) >= had, "the page stays with its class");
    cache_turn_begin(r.client);
    unsigned damaged = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        struct iovec iov[4];
        fixture_value(r.value, BYTES, i, BYTES);
        int pieces = views[i].borrowed ? cache_value_iov(r.client, views[i].borrowed, 0, NULL, iov, 4) : 0;
        damaged += pieces != 1 || memcmp(iov[0].iov_base, r.value, BYTES) != 0;
        cache_return(r.client, views[i].borrowed);
    }
    cache_turn_end(r.client);
    is(damaged, 0, "the reader's values are whole");
    ok(get(&r, 7, BYTES, &wrong) && wrong == 0, "and the items are still there");
    is(move(&r, from, class_of(&r, 100), 1), 1, "when it is done, another page moves");
    rig_close(&r);
}

/* A page that a reader holds is not to be had, so nothing is dropped for it. */
static void test_slow_readers_cost_no_items(void) {
    enum { BYTES = 90 * 1000, HELD_EVERY = 2 };
    struct cache_config cfg = fixture_config(8u << 20);
    struct rig r;
    rig_open_with(&r, &cfg);
    struct cache_view views[100] = {0};
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 100), items = 0, kept = 0, wrong = 0;
    struct slab_class_facts f;
    for (f.free_chunks = 1; f.free_chunks > 0 || arena_pages_free(r.slab->arena) > 0; items++) {
        set(&r, items, BYTES);
        slab_facts(r.slab, from, &f);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < items; i += HELD_EVERY) {
        struct key key = FIXTURE_KEY(i);
        fixture_fetch(r.client, &key, r.read, &views[i]);
    }
    cache_turn_end(r.client);
    is(move(&r, from, to, 1), 0, "of a full class whose pages are all held none moves");
    ok(last.did.evicted == 0 && strstr(last.why_not, "being sent") != NULL, "nothing is dropped: %" PRIu64 " items, %s", last.did.evicted, last.why_not);
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < items; i++) {
        if (views[i].borrowed != NULL) {
            cache_return(r.client, views[i].borrowed);
        }
    }
    cache_turn_end(r.client);
    kept += get_many(&r, items, 1, BYTES, &wrong);
    ok(kept == items && wrong == 0, "all %u items are there", items);
    rig_close(&r);
}

static void test_draft_stops_a_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { BYTES = 300000 };
    unsigned from = class_of(&r, BYTES);
    set_many(&r, 8, BYTES);
    struct key key = FIXTURE_KEY(77);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = BYTES};
    enum { DRAFTS = 8 };
    struct cache_draft drafts[DRAFTS];
    for (unsigned i = 0; i < 8; i++) {
        drop(&r, i);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_draft_begin(r.client, &key, &s, &drafts[i]);
        cache_draft_extend(r.client, &key, &s, &drafts[i], 1);
    }
    cache_turn_end(r.client);
    is(move(&r, from, class_of(&r, 100), 1), 0, "a page with half-received values does not move");
    is_str(move_busy_name(last.last_busy), "draft", "the reason says so");
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_abandon(r.client, &drafts[i]);
    }
    cache_turn_end(r.client);
    is(move(&r, from, class_of(&r, 100), 1), 1, "once they are abandoned, another page does");
    rig_close(&r);
}

/* All pages are in use when the first is tried; when it has come free, the move is cancelled. */
static void test_a_move_that_is_cancelled_between_pages_says_so(void) {
    enum { BYTES = 5000, ITEMS = 500 };
    struct rig r;
    struct cache_view views[ITEMS] = {0};
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, BYTES), kept = 0, wrong = 0;
    set_many(&r, 2 * ITEMS, BYTES);
    for (unsigned i = 1; i < 2 * ITEMS; i += 2) { /* room for the copies */
        drop(&r, i);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        struct key key = FIXTURE_KEY(2 * i);
        cache_turn_begin(r.client);
        fixture_fetch(r.client, &key, r.read, &views[i]);
        cache_turn_end(r.client);
    }
    begin_move(&r, from, class_of(&r, 100), 2);
    while (r.mover.result.busy_items == 0) {
        step(&r);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < ITEMS; i++) {
        cache_return(r.client, views[i].borrowed);
    }
    cache_turn_end(r.client);
    while (r.mover.emptied < 1) {
        step(&r);
    }
    mover_cancel(&r.mover);
    is(move_to_its_end(&r), 1, "one page of two moves");
    is_str(last.why_not != NULL ? last.why_not : "", "cancelled", "and the result says why not the other");
    for (unsigned i = 0; i < ITEMS; i++) {
        kept += get(&r, 2 * i, BYTES, &wrong);
    }
    ok(kept == ITEMS && wrong == 0, "nothing is lost");
    rig_close(&r);
}

/* The turn that is under way is the last: most of the page is where it was. */
static void test_a_move_is_cancelled_in_the_middle_of_a_page(void) {
    enum { BYTES = 100, ITEMS = 40000 };
    struct rig r;
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 1000), wrong = 0, kept = 0;
    set_many(&r, ITEMS, BYTES);
    uint32_t had = pages_of(&r, from);
    begin_move(&r, from, to, 1);
    while (r.mover.drain.driver.did.rescued == 0) {
        step(&r);
    }
    mover_cancel(&r.mover);
    is(move_to_its_end(&r), 0, "it does not move");
    unsigned copied = (unsigned)last.did.rescued;
    struct slab_class_facts f;
    slab_facts(r.slab, from, &f);
    ok(copied > 0 && copied < f.chunks_per_page, "a page of %u chunks goes back when %u have been copied", f.chunks_per_page, copied);
    is_str(last.why_not, "cancelled", "with the reason");
    ok(pages_of(&r, from) >= had && f.draining == 0, "it is the class's, and not on the move");
    kept += get_many(&r, ITEMS, 1, BYTES, &wrong);
    ok(kept == ITEMS && wrong == 0, "every item is there");
    rig_close(&r);
}

int main(void) {
    clock_start();
    test_slow_reader_stops_a_move();
    test_slow_readers_cost_no_items();
    test_draft_stops_a_move();
    test_a_move_that_is_cancelled_between_pages_says_so();
    test_a_move_is_cancelled_in_the_middle_of_a_page();
    return tap_done();
}
