/* While pages move to a class, sets of that class empty and hand over these pages; pages that they leave go back. */
#include "tap.h"

#include "mover_fixture.h"

enum { SMALL = 1000, LARGE = 9000, SMALL_ITEMS = 8000, FIRST_LARGE = 1000000 };

/* A full cache: the large class has the first page, the small class all others. */
struct help_rig {
    struct rig r;
    unsigned   from, to;
    uint64_t   next; /* key of a large item */
};

static struct help_rig h;

static void set_large(void) { set(&h.r, h.next++, LARGE); }
static unsigned pages_to(void) { return pages_of(&h.r, h.to); }
static unsigned pages_from(void) { return pages_of(&h.r, h.from); }
static unsigned under_way(void) { return cache_assist_state(h.r.cache).under_way; }

/* Whether the donor has so many pages, and none of them is being emptied. */
static bool gives_none_of(unsigned pages) {
    struct slab_class_facts f;
    slab_facts(h.r.slab, h.from, &f);
    return f.pages == pages && f.draining == 0;
}

static void open_full(void) {
    rig_open(&h.r, 6u << 20);
    h.next = FIRST_LARGE;
    h.to = class_of(&h.r, LARGE);
    h.from = class_of(&h.r, SMALL);
    set_large();
    for (unsigned i = 0; i < SMALL_ITEMS; i++) {
        set(&h.r, i, SMALL);
    }
    while (slab_has_free(h.r.slab, h.to)) {
        set_large();
    }
    cache_take_starved(h.r.cache);
}

static void end_help(void) {
    cache_assist_end(h.r.ct);
    rig_close(&h.r);
}

static void set_some(unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        set_large();
    }
}

/* Far more sets than needed for all pages: a page takes some 28 sets, its chunks 110. At most 256, because the scheduler may end each set's
 * part early. */
enum { ENOUGH = 5000 };

/* Sets until the class of large items has so many pages. */
static void set_until_it_has(uint32_t pages) {
    for (unsigned i = 0; i < ENOUGH && pages_to() < pages; i++) {
        set_large();
    }
}

/* Sets until they have gone over so many pages, except a chunk or two. */
static void set_until_emptied(unsigned pages) {
    uint64_t bytes = (uint64_t)pages * 1000 * 1024;
    for (unsigned i = 0; i < ENOUGH && cache_assist_state(h.r.cache).bytes < bytes; i++) {
        set_large();
    }
}

TEST(test_sets_bring_the_pages) {
    unsigned wrong = 0, kept = 0;
    open_full();
    uint32_t had = pages_from(), had_to = pages_to();
    set_some(300);
    is(pages_to(), had_to, "without an assist, sets evict items of their own class");
    cache_assist_begin(h.r.ct, h.from, h.to, 3);
    set_many(&h.r, SMALL_ITEMS, SMALL);
    is(cache_assist_state(h.r.cache).bytes, 0, "sets of another class empty no page");
    set_until_it_has(had_to + 3);
    set_some(300);
    is(pages_to(), had_to + 3, "with an order for three pages they bring three");
    is(pages_from(), had - 3, "of the class that gives");
    struct cache_assist_state now = cache_assist_state(h.r.cache);
    ok(now.pages == 3 && now.left == 0 && now.under_way == 0, "and none is left or under way");
    struct cache_assisted told = cache_assist_count(h.r.cache);
    is(told.pages, 3, "the mover gets a report of three");
    ok(told.did.evicted > 0, "and of their live items");
    is(cache_assist_count(h.r.cache).pages, 0, "once");
    cache_assist_end(h.r.ct);
    set_some(300);
    is(pages_to(), had_to + 3, "after the end they bring no more");
    for (uint64_t n = h.next - 100; n < h.next; n++) {
        kept += get(&h.r, n, LARGE, &wrong);
    }
    get_many(&h.r, SMALL_ITEMS, 1, SMALL, &wrong);
    ok(kept > 0 && wrong == 0, "every value that is there is right");
    rig_close(&h.r);
}

/* A set goes over a small multiple of the bytes of the chunk that it needs: a bound in bytes, not in time. */
TEST(test_a_set_does_a_part) {
    open_full();
    uint32_t chunk = slab_chunk_bytes(h.r.slab, h.to);
    cache_assist_begin(h.r.ct, h.from, h.to, 3);
    set_large();
    uint64_t bytes = cache_assist_state(h.r.cache).bytes;
    ok(bytes > 0, "a set goes over a part of a page (%" PRIu64 " bytes)", bytes);
    ok(bytes <= 5 * (uint64_t)chunk, "of no more than a few of its chunks");
    is(under_way(), 1, "the rest is left to the next");
    end_help();
}

TEST(test_a_turn_holds_pages_back) {
    open_full();
    struct cache_thread *other = cache_thread_create(h.r.cache);
    uint32_t had_to = pages_to();
    cache_turn_begin(other);
    cache_assist_begin(h.r.ct, h.from, h.to, 2);
    set_until_emptied(2);
    struct cache_assist_state now = cache_assist_state(h.r.cache);
    is(now.under_way, 2, "two pages are under way");
    is(pages_to(), had_to, "none changes hands in a turn that began before");
    cache_turn_end(other);
    set_until_it_has(had_to + 2);
    is(pages_to(), had_to + 2, "after its end both do");
    is(under_way(), 0, "and none is left");
    cache_assist_end(h.r.ct);
    cache_thread_destroy(&other);
    rig_close(&h.r);
}

TEST(test_the_donor_keeps_needed_pages) {
    open_full();
    cache_set_starved_on_evict(h.r.cache, true);
    set_many(&h.r, SMALL_ITEMS, SMALL);
    uint32_t had = pages_from(), had_to = pages_to();
    cache_assist_begin(h.r.ct, h.from, h.to, 100);
    set_some(300);
    is(pages_from(), had, "a class that is starved itself gives none");
    cache_take_starved(h.r.cache);
    set_until_it_has(had_to + had - 1);
    set_some(300);
    is(pages_from(), 1, "one that is not keeps its last page");
    end_help();
}

TEST(test_pages_begun_by_sets_go_back) {
    open_full();
    uint32_t had = pages_from(), had_to = pages_to();
    cache_assist_begin(h.r.ct, h.from, h.to, 2);
    set_some(3);
    is(under_way(), 1, "a page is under way");
    cache_assist_begin(h.r.ct, h.from, h.to, 2);
    is(under_way(), 1, "and goes on with the next decision");
    cache_assist_begin(h.r.ct, h.to, h.from, 2);
    ok(gives_none_of(had), "but back with one for other classes");
    cache_assist_begin(h.r.ct, h.from, h.to, 2);
    set_some(3);
    cache_assist_end(h.r.ct);
    ok(gives_none_of(had), "and back at the end");
    struct page_move m = {.from = h.from, .to = h.to, .pages = 2, .assisted = 3};
    unsigned moved = move_as(&h.r, &m);
    is(moved, 2, "without sets the mover makes the decided moves, and no more");
    is(last.assisted, 0, "by itself");
    is(pages_to(), had_to + 2, "and the receiver has it");
    rig_close(&h.r);
}

TEST(test_sets_go_on_after_the_move) {
    open_full();
    uint32_t had_to = pages_to();
    struct page_move m = {.from = h.from, .to = h.to, .pages = 1, .assisted = 2};
    is(move_as(&h.r, &m), 1, "a move of one page");
    set_until_it_has(had_to + 3);
    is(pages_to(), had_to + 3, "that sets may go beyond, after it has ended");
    set_some(300);
    is(pages_to(), had_to + 4, "brings as many as it allows");
    is(mover_count_assist(&h.r.mover, &last), 3, "the mover counts those that sets moved after it");
    is(last.pages, 4, "so that its report has all");
    ok(last.did.evicted > 0, "and their live items");
    is(mover_count_assist(&h.r.mover, &last), 0, "once");
    end_help();
}

/* The mover leaves pages to other threads, and ends a move while another thread's turn lasts. */
static void move_within_a_turn(struct cache_thread *other) {
    struct page_move m = {.from = h.from, .to = h.to, .pages = 2};
    uint32_t had_to = pages_to();
    cache_turn_begin(other);
    is(move_as(&h.r, &m), 2, "the mover has emptied two pages");
    is(pages_to(), had_to, "which wait for a turn that lasts");
    ok(!cache_handover_step(h.r.ct), "and are not handed over before its end");
    is(cache_handover_waiting(h.r.cache), 2, "but wait");
}

TEST(test_a_set_hands_over_pages_left_by_the_mover) {
    open_full();
    struct cache_thread *other = cache_thread_create(h.r.cache);
    uint32_t had_to = pages_to();
    move_within_a_turn(other);
    cache_turn_end(other);
    set_until_it_has(had_to + 2);
    is(pages_to(), had_to + 2, "then sets of the class hand them over");
    is(cache_handover_waiting(h.r.cache), 0, "and none waits any more");
    cache_thread_destroy(&other);
    rig_close(&h.r);
}

TEST(test_the_owner_settles_waiting_pages) {
    open_full();
    struct cache_thread *other = cache_thread_create(h.r.cache);
    uint32_t had = pages_from(), had_to = pages_to();
    move_within_a_turn(other);
    cache_handover_finish(h.r.ct, 1000);
    ok(gives_none_of(had), "in a turn that does not end, pages go back");
    cache_turn_end(other);
    move_within_a_turn(other);
    cache_turn_end(other);
    cache_handover_finish(h.r.ct, 1000 * 1000);
    is(pages_to(), had_to + 2, "after its end they are handed over without a set");
    cache_thread_destroy(&other);
    rig_close(&h.r);
}

/* The waiting page's owner and its memory are gone. */
TEST(test_a_page_outlives_its_emptying_thread) {
    open_full();
    struct cache_thread *other = cache_thread_create(h.r.cache);
    struct cache_thread *setter = cache_thread_create(h.r.cache);
    uint32_t had = pages_from();
    char *value = calloc(1, LARGE);
    cache_turn_begin(other);
    cache_assist_begin(h.r.ct, h.from, h.to, 1);
    for (unsigned i = 0; i < ENOUGH && cache_assist_state(h.r.cache).pages == 0; i++) {
        cache_turn_begin(setter);
        fixture_set(setter, h.next++, value, LARGE);
        cache_turn_end(setter);
    }
    is(cache_assist_state(h.r.cache).pages, 1, "a page that a thread has emptied waits for a turn");
    cache_thread_destroy(&setter);
    cache_assist_end(h.r.ct);
    cache_handover_finish(h.r.ct, 1000);
    ok(gives_none_of(had), "and goes back after the thread's end");
    cache_turn_end(other);
    cache_thread_destroy(&other);
    free(value);
    rig_close(&h.r);
}

/* The id of a removed class soon belongs to another class. */
TEST(test_an_id_stays_as_long_as_work_names_it) {
    static const struct class_set nobody;
    struct rig r;
    rig_open(&r, 8u << 20);
    unsigned to = 1, kept = 0;
    while (pages_of(&r, to) > 0) {
        to++;
    }
    struct size_list sizes = slab_geometry(r.slab)->sizes;
    for (unsigned i = 0; i < sizes.count; i++) {
        sizes.bytes[kept] = sizes.bytes[i];
        kept += sizes.bytes[i] != slab_chunk_bytes(r.slab, to);
    }
    sizes.count = kept;
    cache_assist_begin(r.ct, class_of(&r, SMALL), to, 3);
    cache_set_sizes(r.cache, &sizes);
    cache_reap_classes(r.cache, &nobody);
    is(slab_class_state(r.slab, to), SLAB_CLASS_RETIRED, "the id of a retired class stays while sets empty pages for it");
    cache_assist_end(r.ct);
    struct class_set named = class_set_one(to);
    cache_reap_classes(r.cache, &named);
    is(slab_class_state(r.slab, to), SLAB_CLASS_RETIRED, "and while a job names it");
    cache_reap_classes(r.cache, &nobody);
    is(slab_class_state(r.slab, to), SLAB_CLASS_UNUSED, "then it is free");
    rig_close(&r);
}

int main(void) {
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    tap_run_tests();
    return tap_done();
}
