/* The tuner's thread: requests, automove, crawling, and a size shift under load. Run under TSan too. */
#include "tap.h"

#include <pthread.h>
#include <unistd.h>

#include "cache_fixture.h"
#include "tune/tune.h"

enum { PATIENCE_MS = 20000 };

static struct tune_config config(enum automove_mode mode) {
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
    struct tune_config tc = config(AUTOMOVE_OFF);
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

static void test_crawl(void) {
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct tune_config tc = config(AUTOMOVE_OFF);
    struct tuner *t = tuner_create(c, &tc);
    char name[64], value[100] = {0};
    cache_turn_begin(ct);
    for (uint64_t i = 0; i < 20000; i++) {
        struct key key = fixture_key(name, i);
        struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = 100, .exptime_s = i % 2 ? CLOCK_EXPIRED : 0};
        cache_store(ct, &key, &s, NULL);
    }
    cache_turn_end(ct);
    is(tuner_crawl(t, 0), CRAWL_BAD_CLASS, "no class to crawl");
    is(tuner_crawl(t, ~(uint64_t)0), CRAWL_OK, "all classes");
    ok(wait_for(t, crawled_so_often, 1), "the crawler runs and ends");
    struct cache_facts f;
    cache_facts(c, &f);
    is(f.items, 10000, "it frees every expired item and no other");
    tuner_set_crawler(t, false, 100, 0);
    is(tuner_crawl(t, ~(uint64_t)0), CRAWL_NOT_STARTED, "not while it is disabled");
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

static void test_size_shift(void) {
    enum { WRITERS = 3 };
    static const size_t phases[] = {100, 1000, 10000, 100000};
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config(AUTOMOVE_EVICTION);
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
        is(refused, 0, "a shift to %zu bytes at full speed: nothing refused", phases[i]);
    }
    tuner_facts(t, &f);
    ok(f.pages_moved > 0, "pages followed (%" PRIu64 ")", f.pages_moved);
    tuner_destroy(&t);
    cache_destroy(&c);
}

static void test_settings(void) {
    struct cache_config cfg = fixture_config(16u << 20);
    struct cache *c = cache_create(&cfg);
    struct tune_config tc = config(AUTOMOVE_RATIO);
    struct tuner *t = tuner_create(c, &tc);
    struct tune_facts f;
    ok(!tuner_set_ratio(t, 0) && !tuner_set_ratio(t, 1.5) && tuner_set_ratio(t, 0.5), "a ratio is from 0.01 to 1");
    ok(!tuner_set_window(t, 2) && !tuner_set_window(t, 1801) && tuner_set_window(t, 1800), "a window is from 3 to 1800 s");
    tuner_set_automove(t, AUTOMOVE_OFF);
    tuner_facts(t, &f);
    ok(f.automove == AUTOMOVE_OFF && f.window_s == 1800 && f.ratio == 0.5 && f.reassign, "facts show what was set");
    tuner_destroy(&t);
    ok(t == NULL, "the tuner stops when asked");
    cache_destroy(&c);
}

int main(void) {
    clock_start();
    test_reassign();
    test_crawl();
    test_size_shift();
    test_settings();
    return tap_done();
}
