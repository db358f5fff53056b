/* Changes of the chunk sizes of a live cache: every value is right or gone, every chunk accounted for, and ids are reused. A change can be
 * paused, reverted and replaced, and can begin by itself. A value that is being sent delays only its own pages. Run under the sanitizers
 * too. */
#include "tap.h"

#include <math.h>
#include <pthread.h>
#include "tune_fixture.h"
#include "workers.h"

enum { WORKERS = 3, KEYS = 9000 };

TEST(test_a_change_keeps_fitting_items) {
    struct rig r;
    unsigned wrong = 0;
    enum { ITEMS = 30000 };
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, ITEMS, 100, 1000);
    fill(&r, 20, 600 * 1000, VALUE_MAX); /* chains, over the first items' keys */
    uint64_t before = check_values(&r, ITEMS, &wrong);
    is_str(ask(&r, GEOMETRY_AUTO, false), "OK", "auto is accepted when it saves");
    ok(settles(&r), "and comes to its end");
    struct geometry_facts f = facts_of(&r);
    is(f.did.evicted, 0, "with room for copies nothing is dropped");
    is(check_values(&r, ITEMS, &wrong), before, "every item is there");
    ok(f.waste_now_pct < f.waste_before_pct && f.waste_now_pct < f.waste_predicted_pct + 1, "the waste is as predicted");
    ok(f.did.rescued > ITEMS / 2 && f.did.chunks_rescued > 0, "items and pieces of chains were copied");
    const char *answer = ask(&r, GEOMETRY_AUTO, false);
    ok(says(answer, "NOGAIN") || says(answer, "SAME"), "a second auto is refused: it saves nothing (%s)", answer);
    is_str(ask(&r, GEOMETRY_REVERT, false), "OK", "the change can be reverted");
    ok(settles(&r) && facts_of(&r).now.bytes[0] == 96, "which ends in the sizes of the start");
    ok(check_values(&r, ITEMS, &wrong) == before && wrong == 0, "every item is still there, and every value right");
    nothing_is_left(r.c, r.ct, "after a change and back");
    rig_close(&r);
}

/* A change of one class is so short that no reading of the items' sizes falls between its last page and its end. */
TEST(test_the_waste_is_that_of_the_end) {
    struct rig r;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 20000, 640, 640);
    is_str(ask(&r, GEOMETRY_AUTO, false), "OK", "chunks are fitted to items of one size");
    settles(&r);
    struct geometry_facts f = facts_of(&r);
    ok(f.waste_before_pct > 5 && fabs(f.waste_now_pct - f.waste_predicted_pct) < 1, "the reported waste is that of the end: %.1f, %.1f predicted, %.1f before",
       f.waste_now_pct, f.waste_predicted_pct, f.waste_before_pct);
    rig_close(&r);
}

/* Queues of ids without a class, with ghosts of evicted items. */
static unsigned memories_left(const struct rig *r) {
    unsigned left = 0;
    for (unsigned i = 0; i < r->c->partition_count * SLAB_CLASSES_MAX; i++) {
        const struct class_queue *s = r->c->partitions[i / SLAB_CLASSES_MAX].class_queues[i % SLAB_CLASSES_MAX];
        left += s != NULL && s->queue.memory != NULL && slab_class_state(cache_slab(r->c), i % SLAB_CLASSES_MAX) == SLAB_CLASS_UNUSED;
    }
    return left;
}

static void test_a_full_cache_loses_the_oldest(const struct evict_policy *policy) {
    struct rig r;
    unsigned wrong = 0;
    enum { ITEMS = 120000 };
    rig_open(&r, 24, policy, true);
    fill(&r, ITEMS, 200, 700); /* more than fits */
    uint64_t before = check_values(&r, ITEMS, &wrong);
    ask(&r, GEOMETRY_AUTO, true);
    ok(settles(&r), "%s: a full cache is converted", policy->name);
    uint64_t evicted = facts_of(&r).did.evicted;
    is(check_values(&r, ITEMS, &wrong), before - evicted, "%s: lost items were counted", policy->name);
    ok(evicted < before / 5 && wrong == 0, "%s: and is little, and every value is right", policy->name);
    is(memories_left(&r) + retired_classes(&r), 0, "%s: no class is left over, nor its ghosts", policy->name);
    nothing_is_left(r.c, r.ct, policy->name);
    rig_close(&r);
}

/* The policy of the class that serves items of a size. */
static const char *policy_at(const struct rig *r, uint32_t bytes) {
    return cache_class_policy(r->c, slab_class_of(cache_slab(r->c), bytes))->name;
}

static void set_policy_at(struct rig *r, uint32_t bytes, const struct evict_policy *policy) {
    cache_set_policy(r->c, policy, slab_class_of(cache_slab(r->c), bytes));
}

static void change_sizes(struct rig *r, const uint32_t *sizes, unsigned count) {
    is_str(ask_sizes(r, sizes, count, true), "OK", "the sizes change");
    ok(settles(r), "all of them");
}

TEST(test_a_policy_of_a_class_belongs_to_its_sizes) {
    static const uint32_t before[] = {104, 200, 400, 800}, wider[] = {304, 800}, finer[] = {80, 96, 104, 160, 200, 400, 800};
    struct rig r;
    rig_open(&r, 16, &evict_s3fifo, true);
    change_sizes(&r, before, 4);
    fill(&r, 4000, 20, 700);
    set_policy_at(&r, 104, &evict_lru);
    set_policy_at(&r, 400, &evict_sieve);
    change_sizes(&r, wider, 2);
    ok(strcmp(policy_at(&r, 304), "sieve") == 0 && strcmp(policy_at(&r, 800), "s3fifo") == 0,
       "a class has the policy of the largest size that it serves: 201 to 400 were sieve's");
    set_policy_at(&r, 800, &evict_clock);
    is_str(ask(&r, GEOMETRY_REVERT, false), "OK", "the sizes go back");
    ok(settles(&r), "all of them");
    ok(strcmp(policy_at(&r, 104), "lru") == 0 && strcmp(policy_at(&r, 200), "s3fifo") == 0, "and the classes have their old policies");
    ok(strcmp(policy_at(&r, 800), "clock") == 0 && strcmp(policy_at(&r, 400), "clock") == 0, "but for sizes whose policy was set meanwhile");
    cache_change_policy(r.c, &evict_lru);
    cache_change_policy(r.c, &evict_slru);
    ok(strcmp(policy_at(&r, 104), "lru") == 0 && strcmp(policy_at(&r, 200), "slru") == 0,
       "a class keeps its own policy, also if the cache's was the same for a while");
    change_sizes(&r, finer, 7);
    ok(strcmp(policy_at(&r, 80), "lru") == 0 && strcmp(policy_at(&r, 96), "lru") == 0 && strcmp(policy_at(&r, 160), "slru") == 0,
       "each of several classes has the policy of the one that they came from");
    cache_set_policy(r.c, &evict_sieve, SLAB_CLASS_NONE);
    change_sizes(&r, before, 4);
    ok(strcmp(policy_at(&r, 104), "sieve") == 0 && strcmp(policy_at(&r, 400), "sieve") == 0, "a policy for all classes holds for all sizes");
    unsigned others = 0;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        others += cache_class_policy(r.c, i) != &evict_sieve;
    }
    is(others, 0, "and no id, with a class or without, has another");
    rig_close(&r);
}

TEST(test_nothing_is_dropped_without_evictions) {
    struct rig r;
    unsigned wrong = 0;
    rig_open(&r, 16, &evict_slru, false);
    fill(&r, 60000, 200, 700);
    uint64_t before = check_values(&r, 60000, &wrong);
    ask(&r, GEOMETRY_AUTO, true);
    step_for(&r, 3 * CLOCK_SECOND_US);
    ok(check_values(&r, 60000, &wrong) == before && wrong == 0, "with -M nothing is dropped, whether there is room or not");
    rig_close(&r);
}

TEST(test_orders_are_checked) {
    static const struct {
        struct geometry_order order;
        const char *says, *also, *claim;
    } rows[] = {
        {{.verb = GEOMETRY_SIZES, .sizes = {200, 100}, .size_count = 2, .force = true}, "BADSIZES", "", "sizes that do not ascend are refused"},
        {{.verb = GEOMETRY_SIZES, .sizes = {16, 100}, .size_count = 2, .force = true}, "BADSIZES", "", "and chunks that hold no item"},
        {{.verb = GEOMETRY_SIZES, .sizes = {96, 600000}, .size_count = 2, .force = true}, "BADSIZES", "", "and one larger than the largest chunk"},
        {{.verb = GEOMETRY_SIZES, .sizes = {96, 524288}, .size_count = 2}, "NOGAIN", "", "but the largest chunk itself may be named"},
        {{.verb = GEOMETRY_SIZES, .sizes = {96}, .size_count = 1}, "NOGAIN", "fewer items in 16 pages, ", "what gains too little is refused, with figures"},
        {{.verb = GEOMETRY_REVERT}, "NOREVERT", "", "nothing can be reverted before a change"},
        {{.verb = GEOMETRY_PAUSE}, "NOTRUNNING", "", "nothing paused before it runs"},
        {{.verb = GEOMETRY_RESUME}, "NOTPAUSED", "", "nor resumed"},
        {{.verb = GEOMETRY_FACTOR, .factor = 1.05, .first_bytes = 96, .dry = true}, "PREDICTED", "it would be refused without force",
         "a dry order tells what would be refused"},
    };
    struct rig r;
    uint32_t many[CLASS_SIZES_MAX];
    rig_open(&r, 16, &evict_slru, true);
    fill(&r, 1000, 200, 700);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *answer = order(&r, &rows[i].order);
        ok(says(answer, rows[i].says) && strstr(answer, rows[i].also) != NULL, "%s: %s", rows[i].claim, answer);
    }
    for (unsigned i = 0; i < CLASS_SIZES_MAX; i++) {
        many[i] = 104 + i * 8;
    }
    const char *answer = ask_sizes(&r, many, CLASS_SIZES_MAX, true);
    ok(says(answer, "BADSIZES") && strstr(answer, "at most 254 beside the largest chunk's 524288") != NULL, "more than there are ids: %s", answer);
    ok(says(ask_sizes(&r, many, CLASS_SIZES_MAX - 1, true), "NOIDS"),
       "and so many that both generations have no ids");
    is(facts_of(&r).generation, 0, "none of these changes anything");
    is_str(ask_sizes(&r, many, 150, true), "OK", "150 classes beside those of the start are accepted");
    ok(settles(&r) && facts_of(&r).now.count == 151 && cache_slab(r.c)->class_count > 63, "they are 151 with the largest, and ids go beyond 63");
    ask_factor(&r, 1.25);
    ok(settles(&r) && says(ask_factor(&r, 1.25), "SAME"), "back to a factor, which is then the same");
    tuner_destroy(&r.t);
    struct tuner_config tc = rig_tuning();
    tc.reassign = false;
    r.t = tuner_create(r.c, &tc);
    ok(says(ask(&r, GEOMETRY_AUTO, true), "CLIENT_ERROR"), "without slab_reassign no page moves for it");
    rig_close(&r);
}

static void pages_add_up(struct rig *r, const char *claim) {
    struct cache_facts cf;
    cache_facts(r->c, &cf);
    uint64_t pages = cf.pages_free;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        pages += pages_of(r, i);
    }
    is(pages, cf.pages_limit, "%s", claim);
}

TEST(test_pages_add_up_during_a_change) {
    struct rig r;
    struct geometry_facts f;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 150000, 100, 1000);
    ask_factor(&r, 1.4);
    STEP_UNTIL(&r, (f = facts_of(&r)).pages_held > 0);
    ok(f.pages_held > 0 && f.state == GEOMETRY_DRAINING, "a change keeps pages ready for the next class");
    pages_add_up(&r, "pages of classes and of the pool are all pages then");
    ok(settles(&r), "the change ends");
    pages_add_up(&r, "and they still are");
    rig_close(&r);
}

TEST(test_pages_over_the_limit_count_for_the_rate) {
    enum { PAGES_MOST = 2, DRAINED = 4 };
    struct rig r;
    struct geometry_facts f = {0};
    static char many[VALUE_MAX];
    rig_open(&r, PAGES_MOST, &evict_lru, true);
    ask_factor(&r, 1.05);
    ok(settles(&r), "many classes for two pages");
    for (uint64_t n = 0; n < 100; n++) { /* the first page of a class comes over the limit */
        fixture_set(r.ct, n, many, (size_t)(100 * pow(1.06, (double)n)));
    }
    r.t->settings.geometry.rate_pct = 2; /* percent of two pages, one in 25 s */
    is_str(ask_factor(&r, 1.5), "OK", "then fewer");
    STEP_UNTIL(&r, (f = facts_of(&r)).pages_drained >= DRAINED);
    ok(f.pages_drained >= DRAINED && f.seconds < 25, "pages over the limit count: %u are emptied before one of two pages would be due",
       (unsigned)f.pages_drained);
    rig_close(&r);
}

TEST(test_a_higher_rate_holds_at_once) {
    struct rig r;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 100000, 100, 1000);
    r.t->settings.geometry.rate_pct = 0.01; /* a page in 150 s */
    ask_factor(&r, 1.4);
    STEP_UNTIL(&r, facts_of(&r).pages_drained > 0);
    r.t->settings.geometry.rate_pct = 100;
    uint64_t raised_us = r.now_us;
    ok(settles(&r) && r.now_us - raised_us < 100 * CLOCK_SECOND_US, "a change that waits minutes for its next page goes on when the rate is raised");
    rig_close(&r);
}

TEST(test_pause_resume_and_revert_midway) {
    struct rig r;
    struct geometry_facts f, later;
    unsigned wrong = 0;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 60000, 100, 1000);
    uint64_t before = check_values(&r, 60000, &wrong);
    r.t->settings.geometry.rate_pct = 0.01; /* a page in 150 s: the change cannot end before the pause */
    ask_factor(&r, 1.08);
    f = facts_of(&r);
    STEP_UNTIL(&r, facts_of(&r).seconds > f.seconds + 0.05);
    ok(facts_of(&r).state == GEOMETRY_DRAINING && facts_of(&r).seconds > f.seconds + 0.05, "seconds pass while the next page is not due");
    is_str(ask(&r, GEOMETRY_PAUSE, false), "OK", "a change is paused");
    is_str(ask(&r, GEOMETRY_PAUSE, false), "NOTRUNNING the change is paused already", "once");
    r.t->settings.geometry.rate_pct = 20;
    f = facts_of(&r);
    step_for(&r, 10 * CLOCK_SECOND_US);
    later = facts_of(&r);
    ok(later.state == GEOMETRY_PAUSED && later.pages_drained == f.pages_drained && !(later.seconds > f.seconds), "it rests, and its seconds stand still");
    is_str(ask(&r, GEOMETRY_RESUME, false), "OK", "it is resumed");
    STEP_UNTIL(&r, facts_of(&r).pages_drained >= f.pages_drained + 2);
    ok(facts_of(&r).pages_drained >= f.pages_drained + 2, "and goes on");
    is_str(ask(&r, GEOMETRY_REVERT, false), "OK", "reverted midway");
    r.t->settings.geometry.rate_pct = 100;
    ok(settles(&r), "it ends");
    f = facts_of(&r);
    step_for(&r, CLOCK_SECOND_US);
    ok(!(facts_of(&r).seconds > f.seconds), "its seconds stand still after the end");
    ok(f.now.bytes[0] == 96 && f.now.bytes[1] == 120 && retired_classes(&r) == 0, "with the sizes of the start, and no other");
    ok(check_values(&r, 60000, &wrong) == before && wrong == 0, "and every value");
    nothing_is_left(r.c, r.ct, "after a revert midway");
    rig_close(&r);
}

/* --- readings of the sizes while the memory fills --- */

enum { PAGE_ITEMS = 1500, NO_ITEMS = 0 };

/* Stores so many items; then runs all due tasks from a second on, for so many tenths. Returns the number of changes of the sizes until
 * then. */
struct look {
    uint64_t items;
    size_t   least, most;
    uint64_t at_s;
    unsigned tenths, changes;
    const char *claim;
};

TEST(test_sizes_are_fitted_while_the_memory_fills) {
    enum { LOOKS = 4 };
    static const struct look stories[][LOOKS] = {
        {{10, 610, 630, 1, 3, 0, "with a page in use nothing is fitted"},
         {2 * PAGE_ITEMS, 610, 630, 2, 3, 0, "a look that finds more items changes nothing yet"},
         {4 * PAGE_ITEMS, 610, 630, 3, 1, 1, "the next does, with a quarter of the memory in use, as it finds the same"}},
        {{2 * PAGE_ITEMS, 610, 630, 2, 95, 0, "nine seconds after a first look nothing is fitted"},
         {NO_ITEMS, 1, 1, 12, 20, 1, "after ten it is, though the memory has not filled meanwhile"},
         {2 * PAGE_ITEMS, 1220, 1240, 20, 120, 2, "others are, in the same minute, when twice as much is in use"}},
        {{2 * PAGE_ITEMS, 650, 655, 2, 3, 0, "a first look"},
         {4 * PAGE_ITEMS, 770, 775, 3, 90, 0, "no change begins when the second finds other sizes"},
         {NO_ITEMS, 1, 1, 12, 20, 1, "it does when two looks in turn find the same"}},
        {{200, 20, 8000, 2, 100, 0, "while pages are nearly empty"}, {NO_ITEMS, 1, 1, 80, 100, 0, "nothing is fitted"}},
    };
    struct rig r;
    struct cache_config cfg = fixture_config(16 << 20);
    struct tuner_config tc = rig_tuning();
    tc.settings.geometry.rate_pct = 2;
    tc.settings.geometry.follow = true;
    for (size_t i = 0; i < sizeof stories / sizeof *stories; i++) {
        rig_make(&r, &cfg, &tc);
        step_for(&r, CLOCK_SECOND_US / 10); /* sizes are read when `auto` is switched on, too */
        for (const struct look *l = stories[i]; l < stories[i] + LOOKS && l->claim != NULL; l++) {
            fill(&r, l->items, l->least, l->most);
            r.now_us = l->at_s * CLOCK_SECOND_US;
            step_for(&r, l->tenths * CLOCK_SECOND_US / 10);
            is(facts_of(&r).generation, l->changes, "%s", l->claim);
        }
        rig_close(&r);
    }
    tc.settings.geometry.follow = false;
    rig_make(&r, &cfg, &tc);
    fill(&r, 2 * PAGE_ITEMS, 610, 630);
    r.now_us = 2 * CLOCK_SECOND_US;
    step_for(&r, 10 * CLOCK_SECOND_US);
    ok(facts_of(&r).generation == 0 && facts_of(&r).auto_gain_pct > 5, "without slab_geometry_auto no size changes, and the gain of a change is reported");
    rig_close(&r);
}

TEST(test_a_slow_client_holds_up_its_page_alone) {
    struct rig r;
    struct geometry_facts f = {0};
    unsigned wrong = 0;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 20000, 200, 1000);
    fill(&r, 40, 5000, 20000);
    uint64_t before = check_values(&r, 20000, &wrong);
    struct item *held = borrow(&r, 7);
    ask_factor(&r, 1.4);
    STEP_UNTIL(&r, (f = facts_of(&r), f.ranges_done == f.ranges && f.pages_in_use > 2 && retired_classes(&r) == 1));
    ok(held != NULL && f.ranges_done == f.ranges && f.state == GEOMETRY_DRAINING, "all ranges are converted, and the page of a value that is being sent waited for");
    is(retired_classes(&r), 1, "only its class is left");
    give_back(&r, held);
    ok(settles(&r), "once it is sent the change ends");
    ok(check_values(&r, 20000, &wrong) == before && wrong == 0, "with every value");
    nothing_is_left(r.c, r.ct, "after a slow client");
    rig_close(&r);
}

/* Pages that readers hold cannot be freed, so no item is dropped for them: they are left for the end, and then for later. */
TEST(test_slow_clients_cost_no_items) {
    enum { BYTES = 90 * 1000, ITEMS = 230, HELD = 72, OF_A_PAGE = 11, LOOKS = 4 };
    struct rig r;
    struct geometry_facts f;
    struct item *held[HELD];
    unsigned wrong = 0, strange = 0;
    rig_open(&r, 24, &evict_slru, true);
    fill(&r, ITEMS, BYTES, BYTES);
    uint64_t pages_in_use = 0;
    for (unsigned i = 0; i < HELD; i++) {
        held[i] = borrow(&r, i);
    }
    ok(check_values(&r, ITEMS, &wrong) == ITEMS && arena_pages_free(cache_slab(r.c)->arena) < 3, "memory is full, %d of %d values are on their way", HELD, ITEMS);
    is_str(ask_factor(&r, 1.3), "OK", "other sizes");
    for (int i = 0, looks = 0; i < PATIENCE_MS && looks < LOOKS; i++) {
        f = facts_of(&r);
        bool at_work = f.pages_drained > 3 && f.pages_drained < (ITEMS - HELD) / OF_A_PAGE - 3;
        strange += at_work && !says(f.why, "converting range");
        looks += f.ranges_done == f.ranges && f.pages_in_use > pages_in_use;
        pages_in_use = f.pages_in_use;
        step(&r);
    }
    is(strange, 0, "while others are emptied it does not say that it waits for them");
    ok(f.state == GEOMETRY_DRAINING && strstr(f.why, "old pages are in use") != NULL, "then it does: %s", f.why);
    ok(f.did.evicted <= OF_A_PAGE, "%" PRIu64 " items are dropped, no more than a page holds", f.did.evicted);
    for (unsigned i = 0; i < HELD; i++) {
        give_back(&r, held[i]);
    }
    ok(settles(&r), "once all is sent the change ends");
    f = facts_of(&r);
    ok(f.did.evicted <= OF_A_PAGE && check_values(&r, ITEMS, &wrong) == ITEMS - f.did.evicted && wrong == 0, "and the others are there, and right");
    nothing_is_left(r.c, r.ct, "after slow clients");
    rig_close(&r);
}

TEST(test_a_value_that_is_always_read_moves) {
    struct rig r;
    rig_open(&r, 24, &evict_slru, true);
    fill(&r, 40, 90 * 1000, 90 * 1000);
    struct item *last = borrow(&r, 7);
    ask_factor(&r, 1.3);
    for (int i = 0; i < PATIENCE_MS && facts_of(&r).state != GEOMETRY_STEADY; i++) {
        struct item *next = borrow(&r, 7);
        give_back(&r, last);
        last = next;
        step(&r);
    }
    is(facts_of(&r).state, GEOMETRY_STEADY, "a value that is always being sent holds up no change");
    give_back(&r, last);
    nothing_is_left(r.c, r.ct, "after a busy value");
    rig_close(&r);
}

static _Atomic bool load_ends;

/* Issues a random order; most of them change the sizes. */
static void random_order(struct rig *r, uint64_t *x) {
    uint32_t sizes[60], bytes = 48;
    unsigned n = 0;
    switch (tap_random(x) % 6) {
    case 0: ask_factor(r, 1.03 + (double)(tap_random(x) % 100) / 100); return;
    case 1: ask(r, GEOMETRY_REVERT, false); return;
    case 2:
        ask(r, GEOMETRY_PAUSE, false);
        step_for(r, tap_random(x) % 5000);
        ask(r, GEOMETRY_RESUME, false);
        return;
    case 3:
        for (; n < 60 && bytes < 300000; n++) {
            bytes += 8 + (uint32_t)(tap_random(x) % (bytes / 2));
            sizes[n] = (bytes + 7) / 8 * 8;
        }
        ask_sizes(r, sizes, n, true);
        return;
    case 4:
        cache_set_policy(r->c, evict_policies[tap_random(x) % 10], SLAB_CLASS_NONE);
        return;
    default: ask(r, GEOMETRY_AUTO, true); return;
    }
}

static void test_random_changes_under_load(uint64_t seed) {
    const unsigned least_changes = getenv("ALL") ? 4 : 2;
    uint64_t x = seed | 1;
    struct rig r;
    struct worker workers[WORKERS];
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    own_clock_runs = true;
    rig_open(&r, 24, &evict_slru, true);
    r.t->settings.geometry.rate_pct = 2000;
    run_beside_threads(&r);
    workers_start(workers, WORKERS, (struct worker){.cache = r.c, .seed = seed, .keys = KEYS, .ends = &load_ends, .may_begin = &r.worker_turns});
    while (facts_of(&r).generation < least_changes) {
        random_order(&r, &x);
        step_for(&r, tap_random(&x) % 60000);
    }
    bool ends = settles(&r);
    atomic_store(&load_ends, true);
    workers_go_on(&r);
    struct worker sum = workers_join(workers, WORKERS);
    uint64_t changes = facts_of(&r).generation;
    struct tuner_facts moves;
    do { /* a page may be a job of the pace's thread */
        step(&r);
        tuner_facts(r.t, &moves);
    } while (moves.moving);
    ok(ends && retired_classes(&r) == 0, "under load every change comes to its end, and leaves no class");
    ok(sum.wrong == 0 && sum.refused == 0, "no value is wrong, and no set refused");
    ok(sum.hits > 0 && changes >= least_changes, "%" PRIu64 " values were read during %" PRIu64 " changes", sum.hits, changes);
    nothing_is_left(r.c, r.ct, "after random changes under load");
    rig_close(&r);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    clock_start();
    tap_run_tests();
    test_a_full_cache_loses_the_oldest(&evict_slru);
    test_a_full_cache_loses_the_oldest(&evict_s3fifo);
    test_random_changes_under_load(seed);
    return tap_done();
}
