/* Pages that the tuner moves: by request, for the pool, under a limit, after drafts, in each mode of automove; which class gives when any
 * will do; and a stop amid a move. Run under TSan too. */
#include "tap.h"

#include <pthread.h>

#include "control/pages/move_log.h"
#include "control_fixture.h"
#include "tune_fixture.h"

static void open_tuner(struct rig *r, size_t megabytes) { rig_open(r, megabytes, &evict_slru, true); }

static void delete_keys(struct rig *r, uint64_t first, uint64_t count) {
    cache_turn_begin(r->ct);
    for (uint64_t i = first; i < first + count; i++) {
        fixture_delete(r->ct, i);
    }
    cache_turn_end(r->ct);
}

static unsigned class_of(const struct rig *r, size_t value_bytes) { return slab_class_of(cache_slab(r->c), value_bytes + 50); }

TEST(test_reassign) {
    struct rig r;
    open_tuner(&r, 64);
    int most = (int)cache_slab(r.c)->class_count;
    const struct {
        int from, to;
        enum tuner_status answer;
        const char *claim;
    } rows[] = {{3, 3, TUNER_SAME, "from a class to itself"},         {-2, 3, TUNER_BAD_CLASS, "from a class below -1"},
                {most + 1, 3, TUNER_BAD_CLASS, "from one that is not"}, {3, most + 1, TUNER_BAD_CLASS, "to one that is not"},
                {3, -1, TUNER_BAD_CLASS, "to -1"},                      {3, 4, TUNER_NO_SPARE, "from a class without pages"},
                {-1, 4, TUNER_BAD_CLASS, "from any class while none has two pages: memcached's answer"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        is(tuner_reassign(r.t, rows[i].from, rows[i].to, 1), rows[i].answer, "%s", rows[i].claim);
    }
    store_some(r.ct, 0, 5000, 1000);
    delete_keys(&r, 500, 4500); /* room for the live items of the pages that will move */
    unsigned from = class_of(&r, 1000);
    uint32_t had = pages_of(&r, from);
    is(tuner_reassign(r.t, -1, 4, 3), TUNER_OK, "from any class once one has pages");
    is(at_rest(&r).moved.pages, 3, "three pages move");
    ok(pages_of(&r, from) == had - 3 && pages_of(&r, 4) == 3, "from the class that has most, to the class that was named");
    is(tuner_reassign(r.t, 4, 0, 50), TUNER_OK, "more pages than there are");
    ok(at_rest(&r).moved.pages == 5 && pages_of(&r, 4) == 1, "as many move as can be spared, but the last page");
    is(tuner_reassign(r.t, 0, 7, 2), TUNER_OK, "from the pool");
    ok(at_rest(&r).moved.pages == 7 && pages_of(&r, 7) == 2, "two pages come");
    struct tuner_config tc = rig_tuning();
    tc.reassign = false;
    tuner_destroy(&r.t);
    r.t = tuner_create(r.c, &tc);
    is(tuner_reassign(r.t, (int)from, 4, 1), TUNER_OFF, "no moves with no_slab_reassign");
    rig_close(&r);
}

static struct move_record newest(struct tuner *t) {
    static struct move_record moves[MOVES_SAVED];
    unsigned n = move_log_copy(tuner_moves(t), moves);
    return n > 0 ? moves[n - 1] : (struct move_record){.number = 0};
}

/* A page to the pool costs the items without a free chunk in their class, because a page from the pool in its place would undo the move. */
TEST(test_pages_for_the_pool_have_their_cost) {
    struct rig r;
    struct slab_class_facts f = {.free_chunks = 1};
    open_tuner(&r, 16);
    unsigned class_id = class_of(&r, 1000);
    for (uint64_t i = 0; f.free_chunks > 0 || f.pages < 4; i++) {
        store_some(r.ct, i, 1, 1000);
        slab_facts(cache_slab(r.c), class_id, &f);
    }
    is(tuner_reassign(r.t, (int)class_id, 0, 1), TUNER_OK, "a page of a class of full pages is to go to the pool, which has others");
    is(at_rest(&r).moved.pages, 1, "it does");
    struct move_record full = newest(r.t);
    ok(full.result.did.evicted > 100 && strstr(full.reason, " free chunks: an item that finds none is dropped") != NULL, "its live items are lost, and the reason says so: %s",
       full.reason);
    cache_flush_now(r.c);
    is(tuner_reassign(r.t, (int)class_id, 0, 1), TUNER_OK, "another");
    ok(at_rest(&r).moved.pages == 2 && newest(r.t).result.did.evicted == 0, "goes, too: of flushed items none is lost");
    rig_close(&r);
}

struct cancelling {
    unsigned moved, wanted;
    bool     is_done;
};
static void cancelling_done(void *arg, unsigned moved, unsigned wanted) { *(struct cancelling *)arg = (struct cancelling){moved, wanted, true}; }

/* A burst is cancelled half way: finished moves are reported, the page on the move is back in its class, and automatic moves go on. */
TEST(test_cancel) {
    struct rig r;
    struct slab_class_facts f;
    struct cancelling told = {0};
    open_tuner(&r, 24);
    ok(!tuner_cancel(r.t, cancelling_done, &told), "nothing to cancel");
    store_some(r.ct, 0, 200000, 100);
    unsigned from = class_of(&r, 100);
    uint32_t had = pages_of(&r, from);
    is(tuner_reassign(r.t, (int)from, 10, had), TUNER_OK, "all of a class's %u pages are to move", had);
    while (r.t->request.moved == 0 || !r.t->request.served) { /* until some have moved, and others are on the move */
        control_step(tuner_control(r.t), r.now_us);
    }
    bool caught = tuner_cancel(r.t, cancelling_done, &told);
    is(tuner_reassign(r.t, (int)from, 10, 1), TUNER_BUSY, "no other request is taken before the page on the move is back");
    for (int i = 0; i < 1000 && !told.is_done; i++) {
        step(&r);
    }
    ok(caught && told.wanted == had && told.moved > 0 && told.moved < had, "cancelled when %u of %u had moved", told.moved, told.wanted);
    is(at_rest(&r).moved.pages, told.moved, "the move that was under way ends");
    slab_facts(cache_slab(r.c), from, &f);
    ok(f.pages == had - told.moved && f.draining == 0, "the others are still the class's, and none is on the move");
    ok(cache_set_limit(r.c, 12u << 20) && at_rest(&r).pages_over == 0, "pages over a lower limit go all the same");
    uint64_t moved = at_rest(&r).moved.pages;
    is(tuner_reassign(r.t, (int)from, 10, 1), TUNER_OK, "another request is taken");
    is(at_rest(&r).moved.pages, moved + 1, "and served");
    rig_close(&r);
}

enum { SIZES = 20 };

static void fill_sizes(struct rig *r) {
    for (unsigned n = 0; n < SIZES; n++) {
        store_some(r->ct, n, 1, 60u << n / 2);
        store_some(r->ct, n + SIZES, 1, 80u << n / 2);
    }
}

/* With a limit of less than a page a class, each class gives up its last page once: the page that its first store got above the limit.
 * Later pages stay. The tuner's first turn comes after the limit fell. */
TEST(test_a_limit_below_a_page_a_class) {
    struct rig r;
    struct tuner_facts facts;
    struct cache_facts cf;
    open_tuner(&r, 32);
    fill_sizes(&r);
    cache_facts(r.c, &cf);
    ok(cf.pages_out > 8 && cache_set_limit(r.c, 4u << 20) && limit_pages_over(r.t) > 0,
       "%u classes with a page each, a limit of four", cf.pages_out);
    facts = at_rest(&r);
    ok(facts.pages_over == 0 && facts.moved.pages > 0, "pages are given back, although the tuner has not seen the limit of before");
    for (unsigned round = 0; round < 100; round++) {
        fill_sizes(&r);
        step(&r);
    }
    tuner_facts(r.t, &facts);
    ok(facts.moved.pages <= cf.pages_out, "each class's page at most once, not again whenever it is stored to: %u moves", (unsigned)facts.moved.pages);
    rig_close(&r);
}

enum { SMALL_FIRST = 0, LARGE_FIRST = 1000000, SMALL = 100, LARGE = 1000 };

/* Stores values until their class has so many pages. Returns the number of values. */
static uint64_t fill_pages(struct rig *r, uint64_t first, size_t bytes, uint32_t pages) {
    uint64_t n = 0;
    for (; pages_of(r, class_of(r, bytes)) < pages; n++) {
        store_some(r->ct, first + n, 1, bytes);
    }
    return n;
}

/* Deletes the first of them until their class has so many pages of free chunks. */
static void make_room(struct rig *r, uint64_t first, size_t bytes, uint32_t pages) {
    struct slab_class_facts f = {.chunks_per_page = 1};
    while (f.free_chunks < pages * f.chunks_per_page) {
        delete_keys(r, first++, 1);
        slab_facts(cache_slab(r->c), class_of(r, bytes), &f);
    }
}

/* One class has room for two pages, the other for ten; each has more pages than that. */
static void two_classes(struct rig *r) {
    open_tuner(r, 48);
    fill_pages(r, SMALL_FIRST, SMALL, 8);
    fill_pages(r, LARGE_FIRST, LARGE, 18);
    make_room(r, SMALL_FIRST, SMALL, 2);
    make_room(r, LARGE_FIRST, LARGE, 10);
}

TEST(test_the_roomiest_class_gives) {
    struct rig r;
    struct cache_facts cf;
    two_classes(&r);
    is(tuner_reassign(r.t, -1, 0, 12), TUNER_OK, "as many pages from any class as there is room for");
    struct tuner_facts f = at_rest(&r);
    ok(f.moved.pages == 12 && f.moved.did.evicted == 0, "move, and nothing is lost");
    is(tuner_reassign(r.t, -1, 0, 3), TUNER_OK, "more than that");
    f = at_rest(&r);
    ok(f.moved.pages == 15 && f.moved.did.evicted > 0, "go all the same: %u items lost", (unsigned)f.moved.did.evicted);
    rig_close(&r);
    two_classes(&r);
    cache_facts(r.c, &cf);
    ok(cache_set_limit(r.c, (size_t)(cf.pages_out - 12) << 20), "a limit that takes as many pages as there is room for");
    f = at_rest(&r);
    ok(f.pages_over == 0 && f.moved.did.evicted == 0, "holds, and nothing is lost");
    rig_close(&r);
}

/* Classes take their first pages over the limit. Without evictions the limit waits until the free chunks of a class hold the items of a page. */
TEST(test_without_evictions_no_page_moves_for_the_limit_before_there_is_room) {
    struct rig r;
    rig_open(&r, 16, &evict_slru, false);
    fill_pages(&r, SMALL_FIRST, SMALL, 6);
    fill_sizes(&r);
    uint32_t over = limit_pages_over(r.t);
    struct tuner_facts f;
    step_for(&r, 10 * 1000 * 1000);
    tuner_facts(r.t, &f);
    ok(over > 0 && f.pages_over == over, "%u pages are over the limit, and stay there", over);
    ok(newest(r.t).number == 0 && f.moved.given_up == 0 && f.moved.did.rescued == 0, "no move is tried");
    ok(f.over_why != NULL && strstr(f.over_why, "items are not evicted (-M)") != NULL, "because: %s", f.over_why);
    make_room(&r, SMALL_FIRST, SMALL, 2);
    step_for(&r, 10 * 1000 * 1000);
    tuner_facts(r.t, &f);
    ok(f.moved.pages >= 2 && f.pages_over == over - f.moved.pages && f.moved.given_up == 0 && f.moved.did.evicted == 0,
       "once the items have room, %u pages go, and nothing is lost", (unsigned)f.moved.pages);
    rig_close(&r);
}

TEST(test_pages_that_cannot_be_had) {
    enum { PAGES = 4, HUGE = 200 << 10 };
    struct rig r;
    struct item *held[PAGES];
    unsigned n = 0;
    open_tuner(&r, 32);
    uint64_t count = fill_pages(&r, 0, HUGE, PAGES);
    for (uint64_t i = 0; i < count; i++) {
        struct item *it = borrow(&r, i);
        bool known = n == PAGES;
        for (unsigned k = 0; k < n; k++) {
            known |= arena_page_of(cache_slab(r.c)->arena, held[k]) == arena_page_of(cache_slab(r.c)->arena, it);
        }
        if (known) {
            give_back(&r, it);
            delete_keys(&r, i, 1);
        } else {
            held[n++] = it;
        }
    }
    is(n, PAGES, "a value is held in each page");
    fill_pages(&r, LARGE_FIRST, LARGE, 3);
    make_room(&r, LARGE_FIRST, LARGE, 1);
    is(tuner_reassign(r.t, -1, 0, 1), TUNER_OK, "a page of any class");
    struct tuner_facts f = at_rest(&r);
    ok(f.moved.pages == 1 && f.moved.did.evicted == 0 && f.moved.given_up == 0, "comes at once, from a class with pages that can move");
    while (n > 0) {
        give_back(&r, held[--n]);
    }
    rig_close(&r);
}

TEST(test_pages_of_drafts_go_to_the_pool) {
    enum { DRAFTS = 4, VALUE_BYTES = 1000 * 1000 };
    struct rig r;
    struct cache_upload drafts[DRAFTS];
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = VALUE_BYTES};
    struct cache_facts before, after;
    uint32_t classes = 0; /* classes with pages: the heads of large values have one of their own */
    open_tuner(&r, 64);
    cache_turn_begin(r.ct);
    for (unsigned i = 0; i < DRAFTS; i++) {
        struct key key = FIXTURE_KEY(i);
        cache_upload_begin(r.ct, &key, &s, &drafts[i]);
        cache_upload_extend(r.ct, &key, &s, &drafts[i], VALUE_BYTES / 2);
    }
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_upload_abandon(r.ct, &drafts[i]);
    }
    for (unsigned i = 1; i <= cache_slab(r.c)->class_count; i++) {
        classes += pages_of(&r, i) > 0;
    }
    cache_facts(r.c, &before);
    step_for(&r, CLOCK_SECOND_US);
    cache_facts(r.c, &after);
    ok(before.pages_out > classes && after.pages_out == before.pages_out, "while the turn lasts in which drafts were abandoned none of their %u pages goes", before.pages_out);
    cache_turn_end(r.ct);
    step_for(&r, CLOCK_SECOND_US);
    cache_facts(r.c, &after);
    is(after.pages_out, classes, "when it has ended all go, but the one that each class keeps");
    struct tuner_facts f = at_rest(&r);
    ok(f.moved.pages == before.pages_out - classes && f.moved.given_up == 0, "once");
    rig_close(&r);
}

struct shift {
    struct cache *cache;
    uint64_t first, count;
    size_t   bytes;
    unsigned refused, wrong;
};
static void *shift_main(void *arg) {
    struct shift *s = arg;
    struct cache_thread *ct = cache_thread_create(s->cache);
    char *value = malloc(s->bytes + 8), *read = malloc(s->bytes + 16);
    for (uint64_t n = s->first; n < s->first + s->count; n++) {
        fixture_value(value, s->bytes, n, 1);
        cache_turn_begin(ct);
        s->refused += fixture_set(ct, n, value, s->bytes) != CACHE_OK;
        long bytes = fixture_get(ct, n, read);
        cache_turn_end(ct);
        s->wrong += bytes >= 0 && ((size_t)bytes != s->bytes || memcmp(read, value, s->bytes) != 0);
    }
    free(value);
    free(read);
    cache_thread_destroy(&ct);
    return NULL;
}

/* The number of moves. *unsaid counts those without a number, time, reason or one of the four causes. */
static unsigned records_by(struct tuner *t, const char *by, unsigned *unsaid) {
    static struct move_record moves[MOVES_SAVED];
    unsigned n = move_log_copy(tuner_moves(t), moves);
    *unsaid = 0;
    for (unsigned i = 0; i < n; i++) {
        bool known = strcmp(moves[i].by, by) == 0 || strstr("steal limit drafts", moves[i].by) != NULL;
        *unsaid += !known || moves[i].reason[0] == '\0' || moves[i].unix_ms == 0 || (i > 0 && moves[i].number != moves[i - 1].number + 1);
    }
    return n;
}

TEST(test_the_tuner_ends_during_a_move) {
    enum { ITEMS = 100000 };
    struct rig r;
    struct cache_class_values counters;
    struct tuner_facts f = {.moving = true};
    unsigned wrong = 0;
    open_tuner(&r, 24);
    fill(&r, ITEMS, 100, 100);
    unsigned from = class_of(&r, 100);
    is(tuner_reassign(r.t, (int)from, 10, pages_of(&r, from)), TUNER_OK, "all of a class's pages are to move");
    while (f.moved.pages == 0 && f.moving) { /* in slices, so that the tuner is stopped amid its work */
        moves_step_all(r.t, r.now_us++);
        tuner_facts(r.t, &f);
    }
    tuner_destroy(&r.t);
    cache_classes_counters(r.c, &counters);
    ok(f.moved.pages > 0 && check_values(&r, ITEMS, &wrong) == ITEMS - counters.evicted && wrong == 0, "every item that was not dropped for a move is there");
    ok(accounts_agree(r.c), "and all chunks, pages and items are accounted for");
    rig_close(&r);
}

static void test_size_shift(const char *mode) {
    enum { WRITERS = 3, MIB = 1 << 20 };
    static const size_t phases[] = {400, 1000, 10000, 100000};
    struct cache_config cfg = fixture_config(8 * MIB);
    struct tuner_config tc = rig_tuning();
    struct tuner_facts f;
    struct cache_facts facts;
    unsigned refused = 0, wrong = 0, unsaid;
    tc.automove = mode;
    tc.by_hand = false;
    struct cache *c = cache_create(&cfg);
    struct tuner *t = tuner_create(c, &tc);
    for (unsigned i = 0; i < 4; i++) {
        struct shift shifts[WRITERS];
        pthread_t threads[WRITERS];
        for (unsigned w = 0; w < WRITERS; w++) {
            shifts[w] = (struct shift){c, (i * WRITERS + w) * 1000000u, 24 * MIB / phases[i] / WRITERS, phases[i], 0, 0};
            pthread_create(&threads[w], NULL, shift_main, &shifts[w]);
        }
        for (unsigned w = 0; w < WRITERS; w++) {
            pthread_join(threads[w], NULL);
            refused += shifts[w].refused, wrong += shifts[w].wrong;
        }
    }
    ok(refused == 0 && wrong == 0, "%s: shifts of the values' size at full speed: nothing is refused, and no value wrong", mode);
    do { /* pages over the limit have followed, too, and go back to the pool */
        sched_yield();
        tuner_facts(t, &f);
    } while (f.pages_over > 0 || f.moving);
    cache_facts(c, &facts);
    ok(f.moved.pages + facts.counters.page_steals > 0, "%s: pages followed (%" PRIu64 ", and %" PRIu64 " at once)", mode, f.moved.pages,
       facts.counters.page_steals);
    ok(records_by(t, mode, &unsaid) > 0 && unsaid == 0, "%s: each with its number, time and reason", mode);
    tuner_destroy(&t);
    ok(accounts_agree(c), "%s: all chunks, pages and items are accounted for", mode);
    cache_destroy(&c);
}

int main(void) {
    clock_start();
    tap_run_tests();
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    own_clock_runs = true;
    for (const struct automove_mode *const *mode = automove_modes; *mode != NULL; mode++) {
        if (strchr((*mode)->name, ':') == NULL) {
            test_size_shift((*mode)->name);
        }
    }
    return tap_done();
}
