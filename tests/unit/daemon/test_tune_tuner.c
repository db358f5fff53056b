/* The tuner's thread: requests, automove, crawling, and a size shift under load. Run under TSan too. */
#include "tap.h"

#include <pthread.h>
#include <unistd.h>

#include "cache_fixture.h"
#include "tune/policies/eviction.h"
#include "tune/pages/moves.h"
#include "tune/tune.h"
#include "tune/state.h"

enum { PATIENCE_MS = 60000 }; /* only a hang takes that long */

static struct tune_config config(const char *mode) {
    return (struct tune_config){
        .automove = mode, .ratio = 0.8, .window_s = 10, .reassign = true, .crawler = true, .crawler_sleep_us = 100};
}

static uint32_t pages_of(struct cache *c, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(cache_slab(c), class_id, &f);
    return f.pages;
}

static unsigned fill(struct cache_thread *ct, uint64_t first, uint64_t count, size_t bytes) {
    char *value = calloc(1, bytes);
    unsigned refused = 0;
    for (uint64_t i = first; i < first + count; i++) {
        if (i % 16 == 0) {
            cache_turn_end(ct);
            cache_turn_begin(ct);
        }
        refused += fixture_set(ct, i, value, bytes) != CACHE_OK;
    }
    free(value);
    return refused;
}

/* Waits until facts say so; false after PATIENCE_MS. */
static bool wait_for(struct tuner *t, bool (*done)(const struct tune_facts *, uint64_t), uint64_t arg) {
    struct tune_facts f;
    for (int i = 0; i < PATIENCE_MS; i++) {
        tuner_facts(t, &f);
        if (done(&f, arg)) {
            return true;
        }
        usleep(1000);
    }
    return false;
}
static bool moved_so_many(const struct tune_facts *f, uint64_t n) { return f->pages_moved >= n && !f->moving; }
static bool crawled_so_often(const struct tune_facts *f, uint64_t n) { return f->crawler_starts >= n && !f->crawling; }

static void test_reassign(void) {
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    int most = (int)cache_slab(c)->class_count;
    is(tuner_reassign(t, 3, 3, 1), TUNE_SAME, "from a class to itself");
    is(tuner_reassign(t, -2, 3, 1), TUNE_BAD_CLASS, "from a class below -1");
    is(tuner_reassign(t, most + 1, 3, 1), TUNE_BAD_CLASS, "from a class that is not");
    is(tuner_reassign(t, 3, most + 1, 1), TUNE_BAD_CLASS, "to a class that is not");
    is(tuner_reassign(t, 3, -1, 1), TUNE_BAD_CLASS, "to -1");
    is(tuner_reassign(t, 3, 4, 1), TUNE_NO_SPARE, "from a class without pages");
    is(tuner_reassign(t, -1, 4, 1), TUNE_BAD_CLASS, "from any class while none has two pages: memcached's answer");
    cache_turn_begin(ct);
    fill(ct, 0, 5000, 1000);
    for (uint64_t i = 500; i < 5000; i++) { /* room for what lives in the pages that will move */
        char name[64];
        struct key key = fixture_key(name, i);
        struct cache_delete d = {0};
        cache_delete(ct, &key, &d);
    }
    cache_turn_end(ct);
    unsigned from = slab_class_of(cache_slab(c), 1050);
    uint32_t had = pages_of(c, from);
    is(tuner_reassign(t, -1, 4, 3), TUNE_OK, "from any class once one has pages");
    ok(wait_for(t, moved_so_many, 3), "three pages move");
    is(pages_of(c, from), had - 3, "from the class that has most");
    is(pages_of(c, 4), 3, "to the class that was named");
    is(tuner_reassign(t, 4, 0, 50), TUNE_OK, "more pages than there are");
    ok(wait_for(t, moved_so_many, 5), "as many move as can be spared");
    is(pages_of(c, 4), 1, "but the last page");
    is(tuner_reassign(t, 0, 7, 2), TUNE_OK, "from the pool");
    ok(wait_for(t, moved_so_many, 7) && pages_of(c, 7) == 2, "two pages come");
    tuner_destroy(&t);
    tc.reassign = false;
    t = tuner_create(c, &tc);
    is(tuner_reassign(t, from, 4, 1), TUNE_DISABLED, "no moves with no_slab_reassign");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

/* Waits for so many items to be left. */
static bool leaves(struct cache *c, uint64_t items) {
    struct cache_facts f = {.items = items + 1};
    for (int i = 0; i < 60000 && f.items != items; i++) {
        usleep(1000);
        cache_facts(c, &f);
    }
    return f.items == items;
}

static void test_sweeps(void) {
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    tc.crawler = false;
    tc.sweeps = true;
    struct tuner *t = tuner_create(c, &tc);
    for (int round = 0; round < 2; round++) { /* the second when it has been idle */
        cache_turn_begin(ct);
        for (uint64_t i = 0; i < 20000; i++) {
            char name[64], value[100] = {0};
            struct key key = fixture_key(name, i);
            struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = 100,
                                    .exptime_s = i % 2 ? cache_now_s(ct) + 1 : 0};
            cache_store(ct, &key, &s, NULL);
        }
        cache_turn_end(ct);
        ok(leaves(c, 10000), "without a crawler the tuner frees what expires, and nothing else");
    }
    cache_turn_begin(ct);
    cache_flush_now(c);
    cache_turn_end(ct);
    ok(leaves(c, 0), "and what was flushed");
    struct cache_class_values counted;
    struct tune_facts tf;
    cache_classes_counters(c, &counted);
    tuner_facts(t, &tf);
    is(counted.reclaimed, 30000, "all of it counts as reclaimed");
    is(tf.crawler_starts, 0, "and the crawler was not needed");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

static void test_crawl(void) {
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    char name[64], value[100] = {0};
    cache_turn_begin(ct);
    for (uint64_t i = 0; i < 20000; i++) {
        struct key key = fixture_key(name, i);
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = 100, .exptime_s = i % 2 ? CLOCK_EXPIRED : 0};
        cache_store(ct, &key, &s, NULL);
    }
    cache_turn_end(ct);
    struct class_set none = {{0}}, all = class_set_all();
    is(tuner_crawl(t, &none), CRAWL_BAD_CLASS, "no class to crawl");
    is(tuner_crawl(t, &all), CRAWL_OK, "all classes");
    ok(wait_for(t, crawled_so_often, 1), "the crawler runs and ends");
    struct cache_facts f;
    cache_facts(c, &f);
    is(f.items, 10000, "it frees every expired item and no other");
    uint64_t walks = 1;
    for (unsigned i = 0; i < 50; i++) { /* most while it walks */
        walks += tuner_crawl(t, &all) == CRAWL_OK;
        usleep(1000);
    }
    ok(wait_for(t, crawled_so_often, walks), "it walks as often as it was asked and not busy");
    struct cache_class_values counted;
    struct tune_facts tf;
    cache_classes_counters(c, &counted);
    tuner_facts(t, &tf);
    is(counted.crawler_items_checked, 20000 + (tf.crawler_starts - 1) * 10000, "and each walk goes over all items, asked again meanwhile or not");
    tuner_set_crawler(t, false, 100, 0);
    is(tuner_crawl(t, &all), CRAWL_NOT_STARTED, "not while it is disabled");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

static bool has_moved(const struct tune_facts *f, uint64_t n) { return f->pages_moved >= n; }
static bool is_at_rest(const struct tune_facts *f, uint64_t n) { return !f->moving && f->pages_moved >= n; }
static bool holds_the_limit(const struct tune_facts *f, uint64_t n) { return f->pages_over == n; }

static struct move_record newest(struct tuner *t) {
    static struct move_record moves[MOVES_KEPT];
    unsigned n = move_log_copy(tuner_moves(t), moves);
    return n > 0 ? moves[n - 1] : (struct move_record){.number = 0};
}

/* A page to the pool costs what finds no free chunk in its class, for a page of the pool in its place would be none moved. */
static void test_pages_for_the_pool_say_what_they_cost(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    unsigned class_id = slab_class_of(cache_slab(c), 1050);
    struct slab_class_facts f;
    cache_turn_begin(ct);
    for (uint64_t i = 0; i == 0 || f.free_chunks > 0 || f.pages < 4; i++) {
        fill(ct, i, 1, 1000);
        slab_facts(cache_slab(c), class_id, &f);
    }
    cache_turn_end(ct);
    ok(arena_pages_free(cache_slab(c)->arena) > 4, "a class of full pages, while the pool has pages");
    is(tuner_reassign(t, (int)class_id, 0, 1), TUNE_OK, "a page is to go there");
    ok(wait_for(t, moved_so_many, 1), "it does");
    struct move_record full = newest(t);
    ok(full.result.lost > 100 && strstr(full.reason, " free chunks: what finds none is dropped") != NULL, "what lived in it is lost, and the reason says so: %s",
       full.reason);
    cache_flush_now(c);
    is(tuner_reassign(t, (int)class_id, 0, 1), TUNE_OK, "another");
    ok(wait_for(t, moved_so_many, 2), "goes too");
    is(newest(t).result.lost, 0, "of what is flushed nothing is lost");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

/* A burst is ended half way: what had moved is told, the page on the move is back in its class, and moves that nobody asked for
 * go on. */
static void test_cancel(void) {
    enum { TRIES = 50 };
    struct cache_config cfg = fixture_config(48u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    unsigned moved = 1, wanted = 1;
    ok(!tuner_cancel(t, &moved, &wanted) && moved == 0, "nothing to cancel");
    cache_turn_begin(ct);
    fill(ct, 0, 600000, 100);
    cache_turn_end(ct);
    unsigned from = slab_class_of(cache_slab(c), 150);
    uint32_t had = pages_of(c, from);
    bool caught = false;
    for (int i = 0; i < TRIES && !caught; i++) { /* on a busy machine all may have moved before this thread runs again */
        struct tune_facts before;
        tuner_facts(t, &before);
        had = pages_of(c, from);
        is(tuner_reassign(t, (int)from, 10, had), TUNE_OK, "all of a class's %u pages are to move", had);
        ok(wait_for(t, has_moved, before.pages_moved + 1), "some have moved");
        caught = tuner_cancel(t, &moved, &wanted);
        if (!caught && tuner_reassign(t, 10, (int)from, had) == TUNE_OK && wait_for(t, is_at_rest, 0)) {
            cache_turn_begin(ct);
            fill(ct, 0, 600000, 100);
            cache_turn_end(ct);
        }
    }
    ok(caught && wanted == had && moved > 0 && moved < had, "cancelled when %u of %u had moved", moved, wanted);
    is(pages_of(c, from), had - moved, "the others are still the class's");
    struct slab_class_facts f;
    slab_facts(cache_slab(c), from, &f);
    is(f.draining, 0, "and none is on the move");
    ok(cache_set_limit(c, 24u << 20) && wait_for(t, holds_the_limit, 0), "pages over a lower limit go all the same");
    struct tune_facts facts;
    tuner_facts(t, &facts);
    is(tuner_reassign(t, (int)from, 10, 1), TUNE_OK, "another request is taken");
    ok(wait_for(t, moved_so_many, facts.pages_moved + 1), "and served");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

static void fill_sizes(struct cache_thread *ct, unsigned sizes) {
    cache_turn_begin(ct);
    for (unsigned n = 0; n < sizes; n++) {
        fill(ct, n, 1, 60u << n / 2);
        fill(ct, n + sizes, 1, 80u << n / 2);
    }
    cache_turn_end(ct);
}

static void test_a_limit_that_fell_before_the_first_turn(void) {
    enum { SIZES = 20, LIMIT_PAGES = 4 };
    struct cache_config cfg = fixture_config(32u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    tc.by_hand = true; /* its first turn is the first tuner_shrink below */
    struct tuner *t = tuner_create(c, &tc);
    fill_sizes(ct, SIZES);
    ok(cache_set_limit(c, (size_t)LIMIT_PAGES << 20) && tuner_pages_over(t) > 0, "classes with a page each, %u pages over a limit that fell",
       tuner_pages_over(t));
    while (tuner_shrink(t)) {
    }
    is(tuner_pages_over(t), 0, "are given back, although the tuner has not seen the limit of before");
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

/* Below a page a class, a limit takes the last page of each class once: those that are stored to get a page over the limit, and
 * keep it. */
static void test_a_limit_below_a_page_a_class(void) {
    enum { SIZES = 20, ROUNDS = 100 };
    struct cache_config cfg = fixture_config(32u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    fill_sizes(ct, SIZES);
    struct cache_facts cf;
    cache_facts(c, &cf);
    uint32_t had = cf.pages_out;
    ok(had > 8 && cache_set_limit(c, 4u << 20), "%u classes with a page each, a limit of four", had);
    ok(wait_for(t, has_moved, 1), "pages are given back");
    for (unsigned round = 0; round < ROUNDS; round++) {
        fill_sizes(ct, SIZES);
        usleep(1000); /* the tuner's turn */
    }
    struct tune_facts facts;
    tuner_facts(t, &facts);
    ok(facts.pages_moved <= had, "each class's page at most once, not again whenever it is stored to: %u moves", (unsigned)facts.pages_moved);
    tuner_destroy(&t);
    cache_thread_destroy(&ct);
    cache_destroy(&c);
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
    cache_turn_begin(ct);
    s->refused = fill(ct, s->first, s->count, s->bytes);
    cache_turn_end(ct);
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
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    char value[200];
    unsigned there = 0;
    cache_turn_begin(ct);
    fill(ct, 0, ITEMS, 100);
    cache_turn_end(ct);
    unsigned from = slab_class_of(cache_slab(c), 150);
    uint32_t had = pages_of(c, from);
    is(tuner_reassign(t, (int)from, 10, had), TUNE_OK, "all of a class's %u pages are to move", had);
    ok(wait_for(t, has_moved, 1), "some have moved");
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
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

static void test_size_shift(const char *mode) {
    enum { WRITERS = 3 };
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    static const size_t phases[] = {TAP_SLOWER > 1 ? 400 : 100, 1000, 10000, 100000};
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config(mode);
    struct tuner *t = tuner_create(c, &tc);
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
        if (strcmp(mode, "off") != 0) { /* which makes do with what a set can take at once */
            is(refused, 0, "%s: a shift to %zu bytes at full speed: nothing refused", mode, phases[i]);
        }
    }
    tuner_facts(t, &f);
    struct cache_facts facts;
    unsigned nameless;
    cache_facts(c, &facts);
    ok(f.pages_moved + facts.counters.page_steals > 0, "%s: pages followed (%" PRIu64 ", and %" PRIu64 " at once)", mode, f.pages_moved,
       facts.counters.page_steals);
    unsigned recorded = records_by(t, mode, &nameless), steals = records_by(t, "steal", &nameless);
    ok(recorded + steals > 0 && nameless == 0, "%s: each with its number, time and reason", mode);
    tuner_destroy(&t);
    check_chunks(c, mode);
    cache_destroy(&c);
}

/* Waits for the tuner's thread; says whether the mode would start. */
static bool tried(struct tuner *t, const char *name, char why[REASON_BYTES]) {
    struct automove_trial *trial = automove_trial_create(name);
    while (tuner_try_automove(t, trial) != ASKED_TAKEN) {
        usleep(100);
    }
    while (!asked_is_answered(&trial->asked)) {
        usleep(100);
    }
    bool starts = trial->starts;
    memcpy(why, trial->why, REASON_BYTES);
    automove_trial_release(&trial);
    return starts;
}

static void test_trials(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    char why[REASON_BYTES], mode[AUTOMOVE_NAME_BYTES];
    ok(tried(t, "utility", why) && tried(t, "1", why), "a mode of the table would start");
    ok(!tried(t, "lua:any", why), "a policy without a folder would not");
    is_str(why, "there is no policy directory: start with --policy-dir=PATH", "and the trial says why");
    tuner_automove(t, mode);
    is_str(mode, "0", "a trial changes nothing");
    struct automove_trial *left = automove_trial_create("utility");
    ok(tuner_try_automove(t, left) == ASKED_TAKEN, "a trial that nobody waits for");
    tuner_destroy(&t);
    ok(asked_is_answered(&left->asked), "is answered before the tuner ends");
    automove_trial_release(&left);
    cache_destroy(&c);
}

/* A takeover has the tuner rest, and may leave this process without one. */
static void test_a_tuner_that_rests_refuses_questions(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config("off");
    struct tuner *t = tuner_create(c, &tc);
    struct automove_trial *trial = automove_trial_create("utility");
    struct geometry_order *order = geometry_order_create(GEOMETRY_REVERT);
    bool taken[2] = {tuner_try_automove(t, trial) == ASKED_TAKEN, tuner_order_geometry(t, order) == ASKED_TAKEN};
    while (!tuner_rest(t, 1000 * 1000)) {
    }
    ok(taken[0] && taken[1] && asked_is_answered(&trial->asked) && asked_is_answered(&order->asked),
       "questions that were taken are answered before the tuner rests");
    is(tuner_try_automove(t, trial), ASKED_RESTS, "while it rests a trial is refused");
    is(tuner_order_geometry(t, order), ASKED_RESTS, "and so is an order of other chunk sizes");
    automove_trial_release(&trial);
    geometry_order_release(&order);
    tuner_go_on(t);
    char why[REASON_BYTES];
    while (tuner_try_automove(t, trial = automove_trial_create("utility")) != ASKED_TAKEN) {
        automove_trial_release(&trial);
        usleep(100);
    }
    automove_trial_release(&trial);
    ok(tried(t, "utility", why), "when it goes on they are taken again");
    tuner_destroy(&t);
    cache_destroy(&c);
}

/* Ages are whole seconds, and those of classes that nobody asked about are taken up to a tenth of a second earlier. */
static void test_a_second_that_passes_makes_no_donor_look_young(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    unsigned donor = slab_class_of(cache_slab(c), 1100), receiver = slab_class_of(cache_slab(c), 10100);
    struct class_set nobody = {{0}}, hungry = class_set_one(receiver);
    struct snapshot s;
    clock_pause();
    cache_turn_begin(ct);
    fill(ct, 0, 16000, 1000);
    fill(ct, 16000, 1000, 10000);
    cache_turn_end(ct);
    snapshot_take(c, &nobody, &s);
    is(s.classes[donor].age_s, 0, "a class that was filled just now");
    clock_shift(1);
    snapshot_refresh(c, &hungry, &s);
    is(s.classes[receiver].age_s, 1, "a second later, the tail of the class that evicts is a second old");
    is(s.classes[donor].age_s, 1, "and so is that of the class that was filled before it");
    struct automove_eviction mode = {0};
    struct decision d = {0};
    bool any = automove_eviction_decide(&mode, &s, &d);
    ok(any, "so that it gives a page: %s", any ? d.moves[0].reason : d.why);
    snapshot_refresh(c, &hungry, &s);
    is(s.classes[donor].age_s, 1, "no second is counted twice");
    clock_resume();
    cache_thread_destroy(&ct);
    cache_destroy(&c);
}

/* However long the tuner is busy with something else. */
static void test_words_are_never_the_mode_s_before(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config("ratio");
    struct tune_words w;
    tc.by_hand = true;
    struct tuner *t = tuner_create(c, &tc);
    tuner_tend_at(t, 1000000);
    tuner_words(t, &w);
    ok(strcmp(w.why, "the pool has 16 pages") == 0 && strstr(w.state, "window 10 s") != NULL, "ratio: %s (%s)", w.why, w.state);
    tuner_set_ratio(t, 0.5);
    tuner_words(t, &w);
    is_str(w.why, "the pool has 16 pages", "a knob changes nothing of what was decided");
    ok(tuner_set_automove(t, "eviction"), "another mode is asked for");
    tuner_words(t, &w);
    ok(strcmp(w.mode, "eviction") == 0 && w.state[0] == '\0', "until it runs it says nothing of itself");
    is_str(w.why, "nothing was decided yet", "and has decided nothing");
    tuner_tend_at(t, 2000000);
    tuner_words(t, &w);
    is_str(w.why, "the pool has 16 pages", "then it has");
    tuner_destroy(&t);
    cache_destroy(&c);
}

static void test_settings(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config("ratio");
    struct tuner *t = tuner_create(c, &tc);
    struct tune_facts f;
    ok(!tuner_set_ratio(t, 0) && !tuner_set_ratio(t, 1.5) && tuner_set_ratio(t, 0.5), "a ratio is from 0.01 to 1");
    ok(!tuner_set_window(t, 2) && !tuner_set_window(t, 1801) && tuner_set_window(t, 1800), "a window is from 3 to 1800 s");
    char mode[AUTOMOVE_NAME_BYTES], why[REASON_BYTES];
    ok(tuner_set_automove(t, "off") && !tuner_set_automove(t, "sideways"), "a mode is one of the table's");
    ok(!automove_check(&(struct automove_config){.cache = c}, "sideways", why), "another does not start");
    is_str(why, "no such mode, there are off|ratio|eviction|random|lra|lrc|utility|lua:NAME", "and who asks for another is told which");
    tuner_automove(t, mode);
    is_str(mode, "0", "the mode is shown as memcached's number");
    tuner_facts(t, &f);
    ok(f.window_s == 1800 && f.ratio == 0.5 && f.reassign, "facts show what was set");
    tuner_destroy(&t);
    ok(t == NULL, "the tuner stops when asked");
    cache_destroy(&c);
}

int main(void) {
    clock_start();
    test_reassign();
    test_pages_for_the_pool_say_what_they_cost();
    test_crawl();
    test_sweeps();
    for (const struct automove_mode *const *mode = automove_modes; *mode != NULL; mode++) {
        if (strchr((*mode)->name, ':') == NULL) {
            test_size_shift((*mode)->name);
        }
    }
    test_cancel();
    test_the_tuner_ends_during_a_move();
    test_a_limit_that_fell_before_the_first_turn();
    test_a_limit_below_a_page_a_class();
    test_a_second_that_passes_makes_no_donor_look_young();
    test_words_are_never_the_mode_s_before();
    test_settings();
    test_trials();
    test_a_tuner_that_rests_refuses_questions();
    return tap_done();
}
