/* Which class gives pages when any will do: nothing is lost while whole pages' worth of free chunks lie anywhere. */
#include "tap.h"

#include "geometry_fixture.h"

static void rig_up(struct rig *r, size_t limit_bytes) {
    struct cache_config cfg = fixture_config(limit_bytes);
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .reassign = true, .by_hand = true};
    rig_make(r, &cfg, &tc);
}

/* Values until their class has so many pages. Returns how many there are. */
static uint64_t fill_pages(struct rig *r, uint64_t first, size_t bytes, uint32_t pages) {
    static char value[1 << 20];
    struct slab_class_facts f = {0};
    uint64_t n = 0;
    cache_turn_begin(r->ct);
    for (; f.pages < pages; n++) {
        fixture_set(r->ct, first + n, value, bytes);
        slab_facts(cache_slab(r->c), slab_class_of(cache_slab(r->c), bytes + 60), &f);
        fixture_next_turn(r->ct, 0);
    }
    cache_turn_end(r->ct);
    return n;
}

/* Deletes the first of them until their class has so many pages' worth of free chunks. */
static void make_room(struct rig *r, uint64_t first, size_t bytes, uint32_t pages) {
    struct slab_class_facts f = {0};
    cache_turn_begin(r->ct);
    for (uint64_t n = 0; n == 0 || f.free_chunks < pages * f.chunks_per_page; n++) {
        fixture_delete(r->ct, first + n);
        slab_facts(cache_slab(r->c), slab_class_of(cache_slab(r->c), bytes + 60), &f);
        fixture_next_turn(r->ct, 0);
    }
    cache_turn_end(r->ct);
}

static struct tune_facts step_until_at_rest(struct rig *r) {
    struct tune_facts f;
    do {
        step(r);
        tuner_facts(r->t, &f);
    } while ((f.moving || f.pages_over > 0) && r->now_us < PATIENCE_MS * UINT64_C(1000));
    return f;
}

enum { SMALL_FIRST = 0, LARGE_FIRST = 1000000, SMALL = 100, LARGE = 1000 };

/* One class has room for two pages, the other for ten; each has more pages than that. */
static void two_classes(struct rig *r) {
    rig_up(r, 48u << 20);
    fill_pages(r, SMALL_FIRST, SMALL, 16);
    fill_pages(r, LARGE_FIRST, LARGE, 18);
    make_room(r, SMALL_FIRST, SMALL, 2);
    make_room(r, LARGE_FIRST, LARGE, 10);
}

static void test_a_request_of_any_class(void) {
    struct rig r;
    two_classes(&r);
    is(tuner_reassign(r.t, -1, 0, 12), TUNE_OK, "as many pages from any class as there is room for");
    struct tune_facts f = step_until_at_rest(&r);
    is(f.moved.pages, 12, "they move");
    is(f.moved.did.evicted, 0, "and nothing is lost");
    is(tuner_reassign(r.t, -1, 0, 3), TUNE_OK, "more than that");
    f = step_until_at_rest(&r);
    ok(f.moved.pages == 15 && f.moved.did.evicted > 0, "go all the same: %u items lost", (unsigned)f.moved.did.evicted);
    rig_close(&r);
}

static void test_a_lower_limit(void) {
    struct rig r;
    two_classes(&r);
    struct cache_facts cf;
    cache_facts(r.c, &cf);
    ok(cache_set_limit(r.c, (size_t)(cf.pages_out - 12) << 20), "a limit that takes as many pages as there is room for");
    struct tune_facts f = step_until_at_rest(&r);
    is(f.pages_over, 0, "it holds");
    is(f.moved.did.evicted, 0, "and nothing is lost");
    rig_close(&r);
}

/* A reader holds something in each page of the class that has most room. */
static void test_pages_that_cannot_be_had(void) {
    enum { PAGES = 4, HUGE = 200 << 10 };
    struct rig r;
    struct item *held[PAGES];
    uint32_t held_page[PAGES];
    unsigned n = 0;
    rig_up(&r, 32u << 20);
    uint64_t count = fill_pages(&r, 0, HUGE, PAGES);
    cache_turn_begin(r.ct);
    for (uint64_t i = 0; i < count; i++) {
        struct key key = FIXTURE_KEY(i);
        struct cache_view v = {.borrowed = NULL};
        bool known = fixture_fetch(r.ct, &key, NULL, &v) != CACHE_OK || v.borrowed == NULL;
        uint32_t page = known ? 0 : arena_page_of(cache_slab(r.c)->arena, v.borrowed);
        for (unsigned k = 0; k < n; k++) {
            known |= held_page[k] == page;
        }
        if (!known && n < PAGES) {
            held[n] = v.borrowed;
            held_page[n++] = page;
            continue;
        }
        if (v.borrowed != NULL) {
            cache_return(r.ct, v.borrowed);
        }
        fixture_delete(r.ct, i);
    }
    cache_turn_end(r.ct);
    is(n, PAGES, "a value is held in each page");
    fill_pages(&r, LARGE_FIRST, LARGE, 3);
    make_room(&r, LARGE_FIRST, LARGE, 1);
    is(tuner_reassign(r.t, -1, 0, 1), TUNE_OK, "a page of any class");
    struct tune_facts f = step_until_at_rest(&r);
    ok(f.moved.pages == 1 && f.moved.did.evicted == 0 && f.moved.given_up == 0, "comes at once, from a class whose pages can be had");
    while (n > 0) {
        cache_return(r.ct, held[--n]);
    }
    rig_close(&r);
}

int main(void) {
    test_a_request_of_any_class();
    test_a_lower_limit();
    test_pages_that_cannot_be_had();
    return tap_done();
}
