/* Changing the chunk sizes of a live cache: every value is right or gone, every chunk accounted for, ids come back, and a change
 * can be paused, reverted and replaced. Run under the sanitizers too. */
#include "tap.h"

#include <math.h>
#include <pthread.h>
#include "cache/partition.h"
#include "geometry_fixture.h"

enum { WRITERS = 3, KEYS_EACH = 3000, OPERATIONS_A_TURN = 4 };

static void test_a_change_keeps_what_fits(void) {
    struct rig r;
    unsigned wrong = 0;
    enum { ITEMS = 30000 };
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, ITEMS, 100, 1000);
    fill(&r, 20, 600 * 1000, VALUE_MAX); /* chains, over the first items' keys */
    uint64_t before = check_values(&r, ITEMS, &wrong);
    is(strcmp(ask(&r, GEOMETRY_AUTO, false), "OK"), 0, "auto is accepted when it saves");
    ok(settles(&r), "and comes to its end");
    struct geometry_facts f;
    tuner_geometry(r.t, &f);
    printf("# %.1f s, %u classes, %" PRIu64 " pages, %" PRIu64 " copied, %" PRIu64 " dropped, waste %.1f -> %.1f (predicted %.1f)\n", f.seconds,
           f.now.count, f.pages_drained, f.did.rescued, f.did.evicted, f.waste_before_pct, f.waste_now_pct, f.waste_predicted_pct);
    is(f.did.evicted, 0, "with room for copies nothing is dropped");
    is(check_values(&r, ITEMS, &wrong), before, "every item is there");
    is(wrong, 0, "every value is right");
    ok(f.waste_now_pct < f.waste_before_pct && f.waste_now_pct < f.waste_predicted_pct + 1, "the waste is what was predicted");
    is(retired_classes(&r), 0, "no class is left over");
    ok(f.did.rescued > ITEMS / 2 && f.did.chunks_rescued > 0, "items and pieces of chains were copied");
    const char *answer = ask(&r, GEOMETRY_AUTO, false);
    ok(strncmp(answer, "NOGAIN", 6) == 0 || strncmp(answer, "SAME", 4) == 0, "a second auto is refused: it saves nothing (%s)", answer);
    is(strcmp(ask(&r, GEOMETRY_REVERT, false), "OK"), 0, "the change can be reverted");
    ok(settles(&r), "which ends too");
    tuner_geometry(r.t, &f);
    is(check_values(&r, ITEMS, &wrong), before, "every item is still there");
    is(f.now.bytes[0], 96, "in the sizes of the start");
    nothing_is_left(&r, "after a change and back");
    rig_close(&r);
}

/* A change of one class is soon over: no look at the sizes of items falls due between its last page and its end. */
static void test_the_waste_is_what_it_is_at_the_end(void) {
    struct rig r;
    struct geometry_facts f;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 20000, 640, 640);
    is(strcmp(ask(&r, GEOMETRY_AUTO, false), "OK"), 0, "chunks are fitted to items of one size");
    ok(settles(&r), "and come");
    tuner_geometry(r.t, &f);
    ok(f.waste_before_pct > 5 && fabs(f.waste_now_pct - f.waste_predicted_pct) < 1, "the waste that is told is that of the end: %.1f, %.1f predicted, %.1f before",
       f.waste_now_pct, f.waste_predicted_pct, f.waste_before_pct);
    rig_close(&r);
}

/* Queues of ids that no class has, and that remember what they evicted. */
static unsigned memories_left(const struct rig *r) {
    unsigned left = 0;
    for (unsigned i = 0; i < r->c->partition_count * SLAB_CLASSES_MAX; i++) {
        const struct shelf *s = r->c->partitions[i / SLAB_CLASSES_MAX].shelves[i % SLAB_CLASSES_MAX];
        left += s != NULL && s->queue.memory != NULL && slab_class_state(cache_slab(r->c), i % SLAB_CLASSES_MAX) == SLAB_CLASS_UNUSED;
    }
    return left;
}

static void test_a_full_cache_loses_the_oldest(const struct evict_policy *policy) {
    struct rig r;
    unsigned wrong = 0;
    enum { ITEMS = 120000, YOUNG = 20000 };
    rig_open(&r, 24, policy, true);
    fill(&r, ITEMS, 200, 700); /* more than fits */
    uint64_t before = check_values(&r, ITEMS, &wrong);
    ask(&r, GEOMETRY_AUTO, true);
    ok(settles(&r), "%s: a full cache is converted", policy->name);
    struct geometry_facts f;
    struct cache_class_values v;
    tuner_geometry(r.t, &f);
    cache_classes_counters(r.c, &v);
    uint64_t after = check_values(&r, ITEMS, &wrong);
    printf("# %" PRIu64 " of %" PRIu64 " items, %" PRIu64 " copied, %" PRIu64 " dropped\n", after, before, f.did.rescued, f.did.evicted);
    is(after, before - f.did.evicted, "%s: what is gone was counted", policy->name);
    ok(f.did.evicted < before / 5, "%s: and is little", policy->name);
    is(wrong, 0, "%s: every value is right", policy->name);
    is(memories_left(&r), 0, "%s: classes that are gone remember no key", policy->name);
    nothing_is_left(&r, policy->name);
    rig_close(&r);
}

static void test_nothing_is_dropped_without_evictions(void) {
    struct rig r;
    unsigned wrong = 0;
    rig_open(&r, 16, &evict_slru, false);
    fill(&r, 60000, 200, 700);
    uint64_t before = check_values(&r, 60000, &wrong);
    ask(&r, GEOMETRY_AUTO, true);
    step_for(&r, 3 * CLOCK_SECOND_US);
    is(check_values(&r, 60000, &wrong), before, "with -M nothing is dropped, whether there is room or not");
    is(wrong, 0, "and every value is right");
    rig_close(&r);
}

static void test_orders_are_checked(void) {
    struct rig r;
    static const uint32_t down[] = {200, 100}, tiny[] = {16, 100}, same[] = {96}, large[] = {96, 600000}, whole[] = {96, 524288};
    uint32_t many[GEOMETRY_SIZES_MAX];
    rig_open(&r, 16, &evict_slru, true);
    fill(&r, 1000, 200, 700);
    ok(strncmp(ask_sizes(&r, down, 2, true), "BADSIZES", 8) == 0, "sizes that do not ascend are refused");
    ok(strncmp(ask_sizes(&r, tiny, 2, true), "BADSIZES", 8) == 0, "and chunks that hold no item");
    ok(strncmp(ask_sizes(&r, large, 2, true), "BADSIZES", 8) == 0, "and one that is larger than the largest chunk");
    ok(strncmp(ask_sizes(&r, whole, 2, false), "NOGAIN", 6) == 0, "but the largest chunk itself may be named");
    for (unsigned i = 0; i < GEOMETRY_SIZES_MAX; i++) {
        many[i] = 104 + i * 8;
    }
    const char *many_answer = ask_sizes(&r, many, GEOMETRY_SIZES_MAX, true);
    ok(strncmp(many_answer, "BADSIZES", 8) == 0 && strstr(many_answer, "at most 254 beside the largest chunk's 524288") != NULL,
       "and more than there are ids: %s", many_answer);
    ok(strncmp(ask_sizes(&r, many, GEOMETRY_SIZES_MAX - 1, true), "NOIDS", 5) == 0, "and so many that both generations have no ids");
    const char *answer = ask_sizes(&r, same, 1, false);
    ok(strncmp(answer, "NOGAIN", 6) == 0 && strstr(answer, "fewer items in 16 pages, ") != NULL,
       "what gains too little is refused, with figures (%s)", answer);
    ok(strncmp(ask(&r, GEOMETRY_REVERT, false), "NOREVERT", 8) == 0, "nothing can be reverted before a change");
    ok(strncmp(ask(&r, GEOMETRY_PAUSE, false), "NOTRUNNING", 10) == 0, "nothing paused before it runs");
    ok(strncmp(ask(&r, GEOMETRY_RESUME, false), "NOTPAUSED", 9) == 0, "nor resumed");
    is(strcmp(ask_sizes(&r, many, 150, true), "OK"), 0, "150 classes beside those of the start are accepted");
    ok(settles(&r), "and made");
    struct geometry_facts f;
    tuner_geometry(r.t, &f);
    is(f.now.count, 151, "they are 151 with the largest");
    ok(cache_slab(r.c)->class_count > 63, "ids go beyond 63");
    ask_factor(&r, 1.25);
    ok(settles(&r), "back to a factor");
    ok(strncmp(ask_factor(&r, 1.25), "SAME", 4) == 0, "which is then the same");
    tuner_destroy(&r.t);
    struct tune_config tc = {.automove = "off", .ratio = 0.8, .window_s = 10, .geometry_rate_pct = 2, .by_hand = true};
    r.t = tuner_create(r.c, &tc);
    ok(strncmp(ask(&r, GEOMETRY_AUTO, true), "CLIENT_ERROR", 12) == 0, "without slab_reassign no page moves for it");
    rig_close(&r);
}

static void test_a_dry_order_changes_nothing(void) {
    struct rig r;
    struct geometry_facts f;
    rig_open(&r, 16, &evict_slru, true);
    fill(&r, 60000, 200, 700);
    const char *answer = order(&r, &(struct geometry_order){.verb = GEOMETRY_AUTO, .dry = true});
    ok(strncmp(answer, "PREDICTED", 9) == 0 && strstr(answer, " more items in 16 pages, ") != NULL, "a dry order tells the prediction: %s", answer);
    answer = order(&r, &(struct geometry_order){.verb = GEOMETRY_FACTOR, .factor = 1.05, .first_bytes = 96, .dry = true});
    ok(strstr(answer, " fewer items ") != NULL && strstr(answer, "it would be refused without force") != NULL, "also of what would be refused: %s",
       answer);
    tuner_geometry(r.t, &f);
    ok(f.generation == 0 && f.now.bytes[1] == 120, "and nothing changes");
    rig_close(&r);
}

/* Pages of classes and of the pool. */
static uint64_t pages_in_all(struct rig *r, uint32_t *limit) {
    static struct cache_class_facts facts[SLAB_CLASSES_MAX];
    struct class_set all = class_set_all();
    struct cache_facts cf;
    cache_facts(r->c, &cf);
    cache_classes_facts(r->c, &all, facts);
    uint64_t pages = cf.pages_free;
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        pages += facts[i].slab.pages;
    }
    *limit = cf.pages_limit;
    return pages;
}

static void adds_up(struct rig *r, const char *claim) {
    uint32_t limit;
    uint64_t pages = pages_in_all(r, &limit);
    is(pages, limit, "%s", claim);
}

static void test_pages_add_up_during_a_change(void) {
    struct rig r;
    struct geometry_facts f;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 150000, 100, 1000);
    ask_factor(&r, 1.4);
    do {
        step(&r);
        tuner_geometry(r.t, &f);
    } while (f.pages_held == 0 && f.state != GEOMETRY_STEADY);
    adds_up(&r, "pages of classes and of the pool are all pages");
    ok(f.pages_held > 0 && f.state == GEOMETRY_DRAINING, "also while some are kept ready for the next class");
    tuner_set_geometry_rate(r.t, 100);
    ok(settles(&r), "the change ends");
    adds_up(&r, "and they still are");
    rig_close(&r);
}

static void test_pages_over_the_limit_count_for_the_rate(void) {
    enum { PAGES_MOST = 2, DRAINED = 4 };
    struct rig r;
    struct geometry_facts f = {0};
    static char many[VALUE_MAX];
    rig_open(&r, PAGES_MOST, &evict_lru, true);
    is_str(ask_factor(&r, 1.05), "OK", "many classes for two pages");
    ok(settles(&r), "are there");
    for (uint64_t n = 0; n < 100; n++) { /* the first page of a class comes over the limit */
        fixture_set(r.ct, n, many, (size_t)(100 * pow(1.06, (double)n)));
    }
    tuner_set_geometry_rate(r.t, 2); /* of two pages, one in 25 s */
    is_str(ask_factor(&r, 1.5), "OK", "then fewer");
    for (int i = 0; i < PATIENCE_MS && f.pages_drained < DRAINED; i++) {
        step(&r);
        tuner_geometry(r.t, &f);
    }
    ok(f.pages_drained >= DRAINED && f.seconds < 25, "pages over the limit count: %u are emptied before one of two pages would be due",
       (unsigned)f.pages_drained);
    rig_close(&r);
}

static void test_a_higher_rate_holds_at_once(void) {
    struct rig r;
    struct geometry_facts f;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 100000, 100, 1000);
    tuner_set_geometry_rate(r.t, 0.01); /* a page in 150 s */
    ask_factor(&r, 1.4);
    do {
        step(&r);
        tuner_geometry(r.t, &f);
    } while (f.pages_drained == 0);
    tuner_set_geometry_rate(r.t, 100);
    uint64_t raised_us = r.now_us;
    ok(settles(&r) && r.now_us - raised_us < 100 * CLOCK_SECOND_US, "a change that waits minutes for its next page goes on when the rate is raised");
    rig_close(&r);
}

static void test_seconds_are_those_of_work(void) {
    struct rig r;
    struct geometry_facts f, later;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 60000, 100, 1000);
    tuner_set_geometry_rate(r.t, 0.01);
    ask_factor(&r, 1.4);
    tuner_geometry(r.t, &f);
    step_for(&r, CLOCK_SECOND_US / 10);
    tuner_geometry(r.t, &later);
    ok(later.state == GEOMETRY_DRAINING && later.seconds > f.seconds + 0.05, "seconds pass while the next page is not due");
    ask(&r, GEOMETRY_PAUSE, false);
    tuner_geometry(r.t, &f);
    step_for(&r, CLOCK_SECOND_US);
    tuner_geometry(r.t, &later);
    ok(!(later.seconds > f.seconds), "they stand still in a pause");
    ask(&r, GEOMETRY_RESUME, false);
    tuner_set_geometry_rate(r.t, 100);
    ok(settles(&r), "the change ends");
    tuner_geometry(r.t, &f);
    step_for(&r, CLOCK_SECOND_US);
    tuner_geometry(r.t, &later);
    ok(!(later.seconds > f.seconds), "and they stand still after the end");
    rig_close(&r);
}

static void test_pause_resume_and_revert_midway(void) {
    struct rig r;
    struct geometry_facts f, later;
    unsigned wrong = 0;
    rig_open(&r, 64, &evict_slru, true);
    fill(&r, 60000, 100, 1000);
    uint64_t before = check_values(&r, 60000, &wrong);
    tuner_set_geometry_rate(r.t, 0.01); /* a page in 150 s: it cannot end before it is paused */
    ask_factor(&r, 1.08);
    is(strcmp(ask(&r, GEOMETRY_PAUSE, false), "OK"), 0, "a change is paused");
    is_str(ask(&r, GEOMETRY_PAUSE, false), "NOTRUNNING the change is paused already", "once");
    tuner_set_geometry_rate(r.t, 20);
    tuner_geometry(r.t, &f);
    step_for(&r, 10 * CLOCK_SECOND_US);
    tuner_geometry(r.t, &later);
    ok(later.state == GEOMETRY_PAUSED && later.pages_drained == f.pages_drained, "and rests");
    is(strcmp(ask(&r, GEOMETRY_RESUME, false), "OK"), 0, "it is resumed");
    for (int i = 0; i < PATIENCE_MS && later.pages_drained < f.pages_drained + 2; i++) {
        step(&r);
        tuner_geometry(r.t, &later);
    }
    ok(later.pages_drained >= f.pages_drained + 2, "and goes on");
    is(strcmp(ask(&r, GEOMETRY_REVERT, false), "OK"), 0, "reverted midway");
    tuner_set_geometry_rate(r.t, 100);
    ok(settles(&r), "it ends");
    tuner_geometry(r.t, &f);
    ok(f.now.bytes[0] == 96 && f.now.bytes[1] == 120, "with the sizes of the start");
    ok(check_values(&r, 60000, &wrong) == before && wrong == 0, "and every value");
    is(retired_classes(&r), 0, "no class is left over");
    nothing_is_left(&r, "after a revert midway");
    rig_close(&r);
}

/* --- under load --- */

static _Atomic bool load_ends;

struct writer {
    struct cache *c;
    uint64_t      seed, first_key;
    unsigned      wrong, hits, refused;
    pthread_t     thread;
};

static size_t some_bytes(uint64_t *x) {
    uint64_t dice = tap_random(x) % 1000;
    return dice == 0 ? 1 + tap_random(x) % VALUE_MAX : dice < 20 ? 1 + tap_random(x) % 60000 : 1 + tap_random(x) % 1500;
}

static void *write_and_check(void *arg) {
    struct writer *w = arg;
    struct cache_thread *ct = cache_thread_create(w->c);
    uint64_t x = w->seed | 1;
    char *value = malloc(VALUE_MAX + 16), *expected = malloc(VALUE_MAX + 16);
    while (!atomic_load_explicit(&load_ends, memory_order_relaxed)) {
        cache_turn_begin(ct);
        for (unsigned i = 0; i < OPERATIONS_A_TURN; i++) {
            uint64_t key = w->first_key + tap_random(&x) % KEYS_EACH, dice = tap_random(&x) % 10;
            char name[64];
            if (dice < 4) {
                size_t bytes = some_bytes(&x);
                struct key k = fixture_key(name, key);
                struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = (uint32_t)bytes};
                s.exptime_s = tap_random(&x) % 8 == 0 ? cache_now_s(ct) + 1 : 0;
                fixture_value(value, bytes, key, bytes);
                w->refused += cache_store(ct, &k, &s, NULL) != CACHE_OK;
            } else if (dice < 9) {
                long bytes = fixture_get(ct, key, value);
                if (bytes >= 0) {
                    fixture_value(expected, (size_t)bytes, key, (uint64_t)bytes);
                    w->wrong += memcmp(value, expected, (size_t)bytes) != 0;
                    w->hits++;
                }
            } else {
                struct key k = fixture_key(name, key);
                cache_delete(ct, &k, &(struct cache_delete){0});
            }
        }
        cache_turn_end(ct);
    }
    free(value);
    free(expected);
    cache_thread_destroy(&ct);
    return NULL;
}

/* Some order, most of them changes. */
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
    enum { LEAST_CHANGES = 4 };
    const char *given = getenv("GEOMETRY_SECONDS");
    uint64_t stop_us = clock_mono_us() + (given != NULL ? strtoull(given, NULL, 10) : 3) * 1000000, x = seed | 1;
    struct rig r;
    struct writer writers[WRITERS];
    unsigned orders = 0, wrong = 0, hits = 0, refused = 0;
    fixture_patience_us = FIXTURE_NEVER_REFUSE_US;
    rig_open(&r, 48, &evict_slru, true);
    for (unsigned i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.c = r.c, .seed = seed * (i + 3), .first_key = (uint64_t)i * KEYS_EACH};
        pthread_create(&writers[i].thread, NULL, write_and_check, &writers[i]);
    }
    struct geometry_facts f = {.generation = 0};
    run_beside_threads(&r);
    while (clock_mono_us() < stop_us || (f.generation < LEAST_CHANGES && clock_mono_us() < stop_us + PATIENCE_MS * 1000ull)) {
        random_order(&r, &x);
        orders++;
        step_for(&r, tap_random(&x) % 60000);
        tuner_geometry(r.t, &f);
    }
    bool ends = settles(&r);
    atomic_store(&load_ends, true);
    for (unsigned i = 0; i < WRITERS; i++) {
        pthread_join(writers[i].thread, NULL);
        wrong += writers[i].wrong, hits += writers[i].hits, refused += writers[i].refused;
    }
    tuner_geometry(r.t, &f);
    printf("# %u orders, %" PRIu64 " changes, %u hits\n", orders, f.generation, hits);
    ok(ends, "under load every change comes to its end");
    r.beside_threads = false;
    is(wrong, 0, "no value is wrong");
    is(refused, 0, "no set is refused");
    ok(hits > 0 && f.generation >= LEAST_CHANGES, "values were read while the classes changed");
    is(retired_classes(&r), 0, "no class is left over");
    nothing_is_left(&r, "after random changes under load");
    rig_close(&r);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    clock_start();
    test_a_change_keeps_what_fits();
    test_the_waste_is_what_it_is_at_the_end();
    test_a_full_cache_loses_the_oldest(&evict_slru);
    test_a_full_cache_loses_the_oldest(&evict_s3fifo);
    test_nothing_is_dropped_without_evictions();
    test_orders_are_checked();
    test_a_dry_order_changes_nothing();
    test_pages_add_up_during_a_change();
    test_a_higher_rate_holds_at_once();
    test_pages_over_the_limit_count_for_the_rate();
    test_seconds_are_those_of_work();
    test_pause_resume_and_revert_midway();
    test_random_changes_under_load(seed);
    return tap_done();
}
