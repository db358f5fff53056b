/* Pages that the tuner moves: by request, for the pool, under a limit, in each mode of automove, and an end amid a move.
 * Run under TSan too. */
#include "tap.h"

#include <pthread.h>

#include "tune_fixture.h"
#include "tune/pages/moves.h"

static uint32_t pages_of(struct cache *c, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(cache_slab(c), class_id, &f);
    return f.pages;
}

static bool moved_so_many(const struct tune_facts *f, uint64_t n) { return f->moved.pages >= n && !f->moving; }
static bool has_moved(const struct tune_facts *f, uint64_t n) { return f->moved.pages >= n; }
static bool holds_the_limit(const struct tune_facts *f, uint64_t n) { return f->pages_over == n; }

/* Slice by slice, so that the tuner is caught amid its work. */
static void step_until_some_have_moved(struct tuner *t) {
    struct tune_facts f = {.moving = true};
    while (f.moved.pages == 0 && f.moving) {
        tuner_tend_pages(t, hand_us++);
        tuner_facts(t, &f);
    }
    ok(f.moved.pages > 0, "some have moved");
}

static void test_reassign(void) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(64u << 20, &ct);
    struct tune_config tc = config("off");
    tc.by_hand = true;
    struct tuner *t = tuner_create(c, &tc);
    int most = (int)cache_slab(c)->class_count;
    is(tuner_reassign(t, 3, 3, 1), TUNE_SAME, "from a class to itself");
    is(tuner_reassign(t, -2, 3, 1), TUNE_BAD_CLASS, "from a class below -1");
    is(tuner_reassign(t, most + 1, 3, 1), TUNE_BAD_CLASS, "from a class that is not");
    is(tuner_reassign(t, 3, most + 1, 1), TUNE_BAD_CLASS, "to a class that is not");
    is(tuner_reassign(t, 3, -1, 1), TUNE_BAD_CLASS, "to -1");
    is(tuner_reassign(t, 3, 4, 1), TUNE_NO_SPARE, "from a class without pages");
    is(tuner_reassign(t, -1, 4, 1), TUNE_BAD_CLASS, "from any class while none has two pages: memcached's answer");
    fill(ct, 0, 5000, 1000);
    cache_turn_begin(ct);
    for (uint64_t i = 500; i < 5000; i++) { /* room for what lives in the pages that will move */
        fixture_delete(ct, i);
    }
    cache_turn_end(ct);
    unsigned from = slab_class_of(cache_slab(c), 1050);
    uint32_t had = pages_of(c, from);
    is(tuner_reassign(t, -1, 4, 3), TUNE_OK, "from any class once one has pages");
    ok(step_until(t, moved_so_many, 3), "three pages move");
    is(pages_of(c, from), had - 3, "from the class that has most");
    is(pages_of(c, 4), 3, "to the class that was named");
    is(tuner_reassign(t, 4, 0, 50), TUNE_OK, "more pages than there are");
    ok(step_until(t, moved_so_many, 5), "as many move as can be spared");
    is(pages_of(c, 4), 1, "but the last page");
    is(tuner_reassign(t, 0, 7, 2), TUNE_OK, "from the pool");
    ok(step_until(t, moved_so_many, 7) && pages_of(c, 7) == 2, "two pages come");
    tuner_destroy(&t);
    tc.reassign = false;
    t = tuner_create(c, &tc);
    is(tuner_reassign(t, from, 4, 1), TUNE_DISABLED, "no moves with no_slab_reassign");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

static struct move_record newest(struct tuner *t) {
    static struct move_record moves[MOVES_KEPT];
    unsigned n = move_log_copy(tuner_moves(t), moves);
    return n > 0 ? moves[n - 1] : (struct move_record){.number = 0};
}

/* A page to the pool costs what finds no free chunk in its class, for a page of the pool in its place would be none moved. */
static void test_pages_for_the_pool_say_what_they_cost(void) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(16u << 20, &ct);
    struct tuner *t = tuner_by_hand(c, "off");
    unsigned class_id = slab_class_of(cache_slab(c), 1050);
    struct slab_class_facts f;
    for (uint64_t i = 0; i == 0 || f.free_chunks > 0 || f.pages < 4; i++) {
        fill(ct, i, 1, 1000);
        slab_facts(cache_slab(c), class_id, &f);
    }
    ok(arena_pages_free(cache_slab(c)->arena) > 4, "a class of full pages, while the pool has pages");
    is(tuner_reassign(t, (int)class_id, 0, 1), TUNE_OK, "a page is to go there");
    ok(step_until(t, moved_so_many, 1), "it does");
    struct move_record full = newest(t);
    ok(full.result.did.evicted > 100 && strstr(full.reason, " free chunks: what finds none is dropped") != NULL, "what lived in it is lost, and the reason says so: %s",
       full.reason);
    cache_flush_now(c);
    is(tuner_reassign(t, (int)class_id, 0, 1), TUNE_OK, "another");
    ok(step_until(t, moved_so_many, 2), "goes too");
    is(newest(t).result.did.evicted, 0, "of what is flushed nothing is lost");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

struct cancelling {
    unsigned moved, wanted;
    bool     is_done;
};
static void cancelling_done(void *arg, unsigned moved, unsigned wanted) { *(struct cancelling *)arg = (struct cancelling){moved, wanted, true}; }

/* A burst is ended half way: what had moved is told, the page on the move is back in its class, and moves that nobody asked for
 * go on. */
static void test_cancel(void) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(48u << 20, &ct);
    struct tuner *t = tuner_by_hand(c, "off");
    struct cancelling told = {0};
    ok(!tuner_cancel(t, cancelling_done, &told), "nothing to cancel");
    fill(ct, 0, 600000, 100);
    unsigned from = slab_class_of(cache_slab(c), 150);
    uint32_t had = pages_of(c, from);
    is(tuner_reassign(t, (int)from, 10, had), TUNE_OK, "all of a class's %u pages are to move", had);
    while (t->request.moved == 0 || !t->request.served) { /* until some have moved, and others are on the move */
        control_step(tuner_control(t), hand_us);
    }
    bool caught = tuner_cancel(t, cancelling_done, &told);
    is(tuner_reassign(t, (int)from, 10, 1), TUNE_BUSY, "no other request is taken before the page on the move is back");
    for (int i = 0; i < 1000 && !told.is_done; i++) {
        step(t);
    }
    ok(caught && told.wanted == had && told.moved > 0 && told.moved < had, "cancelled when %u of %u had moved", told.moved, told.wanted);
    struct slab_class_facts f;
    ok(step_until(t, moved_so_many, told.moved), "the move that was under way ends");
    is(pages_of(c, from), had - told.moved, "the others are still the class's");
    slab_facts(cache_slab(c), from, &f);
    is(f.draining, 0, "and none is on the move");
    ok(cache_set_limit(c, 24u << 20) && step_until(t, holds_the_limit, 0), "pages over a lower limit go all the same");
    struct tune_facts facts;
    tuner_facts(t, &facts);
    is(tuner_reassign(t, (int)from, 10, 1), TUNE_OK, "another request is taken");
    ok(step_until(t, moved_so_many, facts.moved.pages + 1), "and served");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

static void fill_sizes(struct cache_thread *ct, unsigned sizes) {
    for (unsigned n = 0; n < sizes; n++) {
        fill(ct, n, 1, 60u << n / 2);
        fill(ct, n + sizes, 1, 80u << n / 2);
    }
}

static void test_a_limit_that_fell_before_the_first_turn(void) {
    enum { SIZES = 20, LIMIT_PAGES = 4 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(32u << 20, &ct);
    struct tune_config tc = config("off");
    tc.by_hand = true; /* its first turn is the first step below */
    struct tuner *t = tuner_create(c, &tc);
    fill_sizes(ct, SIZES);
    ok(cache_set_limit(c, (size_t)LIMIT_PAGES << 20) && tuner_pages_over(t) > 0, "classes with a page each, %u pages over a limit that fell",
       tuner_pages_over(t));
    ok(step_until(t, holds_the_limit, 0), "are given back, although the tuner has not seen the limit of before");
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

/* Below a page a class, a limit takes the last page of each class once: those that are stored to get a page over the limit, and
 * keep it. */
static void test_a_limit_below_a_page_a_class(void) {
    enum { SIZES = 20, ROUNDS = 100 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(32u << 20, &ct);
    struct tuner *t = tuner_by_hand(c, "off");
    fill_sizes(ct, SIZES);
    struct cache_facts cf;
    cache_facts(c, &cf);
    uint32_t had = cf.pages_out;
    ok(had > 8 && cache_set_limit(c, 4u << 20), "%u classes with a page each, a limit of four", had);
    ok(step_until(t, has_moved, 1), "pages are given back");
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill_sizes(ct, SIZES);
        step(t);
    }
    struct tune_facts facts;
    tuner_facts(t, &facts);
    ok(facts.moved.pages <= had, "each class's page at most once, not again whenever it is stored to: %u moves", (unsigned)facts.moved.pages);
    tuner_destroy(&t);
    fixture_end(&c, &ct);
}

struct shift {
    struct cache *cache;
    uint64_t first, count;
    size_t   bytes;
    unsigned refused;
};
static void *shift_main(void *arg) {
    struct shift *s = arg;
    struct cache_thread *ct = cache_thread_create(s->cache);
    s->refused = fill(ct, s->first, s->count, s->bytes);
    cache_thread_destroy(&ct);
    return NULL;
}

static unsigned records_by(struct tuner *t, const char *by, unsigned *without_reason) {
    static struct move_record moves[MOVES_KEPT];
    unsigned n = move_log_copy(tuner_moves(t), moves), found = 0;
    *without_reason = 0;
    for (unsigned i = 0; i < n; i++) {
        found += strcmp(moves[i].by, by) == 0;
        *without_reason += moves[i].reason[0] == '\0' || moves[i].unix_ms == 0 || (i > 0 && moves[i].number != moves[i - 1].number + 1);
    }
    return found;
}

/* Every chunk of every page is an item's, or is free and known to be. */
static void check_chunks(struct cache *c, const char *mode) {
    struct slab *slab = cache_slab(c);
    uint64_t free_chunks[SLAB_CLASSES_MAX] = {0}, in_between = 0, held = 0;
    struct cache_facts facts;
    unsigned lost = 0;
    for (uint32_t page = 0; page < slab->arena->page_max; page++) {
        unsigned class_id = slab_page_class(slab, page);
        struct item *it;
        for (uint32_t i = 0; class_id != SLAB_CLASS_NONE && (it = slab_page_chunk(slab, page, i)) != NULL; i++) {
            free_chunks[class_id] += item_state(it) == CHUNK_FREE;
            in_between += item_state(it) == CHUNK_DRAFT || item_state(it) == CHUNK_LOOSE;
        }
    }
    for (unsigned i = 1; i <= slab->class_count; i++) {
        struct cache_class_facts f;
        cache_class_facts(c, i, &f);
        held += f.slab.pages;
        lost += free_chunks[i] != (uint64_t)f.slab.free_chunks + f.stock_chunks || f.slab.draining != 0;
    }
    cache_facts(c, &facts);
    is(held, facts.pages_out, "%s: no page is lost", mode);
    is(lost, 0, "%s: every free chunk can be found", mode);
    is(in_between, 0, "%s: and every other is an item's", mode);
}

/* The tuner ends in the middle of what it was asked for: the page on the move is back, and nothing is lost. */
static void test_the_tuner_ends_during_a_move(void) {
    enum { ITEMS = 300000 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(64u << 20, &ct);
    struct tuner *t = tuner_by_hand(c, "off");
    char value[200];
    unsigned there = 0;
    fill(ct, 0, ITEMS, 100);
    unsigned from = slab_class_of(cache_slab(c), 150);
    uint32_t had = pages_of(c, from);
    is(tuner_reassign(t, (int)from, 10, had), TUNE_OK, "all of a class's %u pages are to move", had);
    step_until_some_have_moved(t);
    tuner_destroy(&t);
    struct cache_class_values counters;
    cache_classes_counters(c, &counters);
    cache_turn_begin(ct);
    for (uint64_t i = 0; i < ITEMS; i++) {
        there += fixture_get(ct, i, value) >= 0;
    }
    cache_turn_end(ct);
    is(there, ITEMS - counters.evicted, "every item that was not dropped for a move is there");
    check_chunks(c, "an end during a move");
    fixture_end(&c, &ct);
}

static void test_size_shift(const char *mode) {
    enum { WRITERS = 3 };
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    static const size_t phases[] = {TAP_SLOWER > 1 ? 400 : 100, 1000, 10000, 100000};
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tuner *t = tuner_of(c, mode);
    struct tune_facts f;
    for (unsigned i = 0; i < 4; i++) {
        struct shift shifts[WRITERS];
        pthread_t threads[WRITERS];
        unsigned refused = 0;
        for (unsigned w = 0; w < WRITERS; w++) {
            shifts[w] = (struct shift){c, (i * WRITERS + w) * 1000000u, (48u << 20) / phases[i] / WRITERS, phases[i], 0};
            pthread_create(&threads[w], NULL, shift_main, &shifts[w]);
        }
        for (unsigned w = 0; w < WRITERS; w++) {
            pthread_join(threads[w], NULL);
            refused += shifts[w].refused;
        }
        is(refused, 0, "%s: a shift to %zu bytes at full speed: nothing refused", mode, phases[i]);
    }
    tuner_facts(t, &f);
    struct cache_facts facts;
    unsigned nameless;
    cache_facts(c, &facts);
    ok(f.moved.pages + facts.counters.page_steals > 0, "%s: pages followed (%" PRIu64 ", and %" PRIu64 " at once)", mode, f.moved.pages,
       facts.counters.page_steals);
    unsigned recorded = records_by(t, mode, &nameless), steals = records_by(t, "steal", &nameless);
    ok(recorded + steals > 0 && nameless == 0, "%s: each with its number, time and reason", mode);
    tuner_destroy(&t);
    check_chunks(c, mode);
    cache_destroy(&c);
}

int main(void) {
    clock_start();
    test_reassign();
    test_pages_for_the_pool_say_what_they_cost();
    for (const struct automove_mode *const *mode = automove_modes; *mode != NULL; mode++) {
        if (strchr((*mode)->name, ':') == NULL) {
            test_size_shift((*mode)->name);
        }
    }
    test_cancel();
    test_the_tuner_ends_during_a_move();
    test_a_limit_that_fell_before_the_first_turn();
    test_a_limit_below_a_page_a_class();
    return tap_done();
}
