/* The heap store stays within its limit in resident memory, and frees nothing that a reader may still see. */
#include "tap.h"

#include <jemalloc/jemalloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cache/alloc/deferred_free.h"
#include "cache_fixture.h"

enum { VALUE_MAX = 1 << 20 };

static char value[VALUE_MAX + 16], got[VALUE_MAX + 16];

/* Bytes of the arena's resident pages, by the kernel's count. */
static size_t resident_bytes(const struct cache *c) {
    size_t unit = (size_t)sysconf(_SC_PAGESIZE), all = (size_t)c->arena->page_max << PAGE_SHIFT, n = 0;
    unsigned char *in = malloc(all / unit);
    if (in == NULL || mincore(c->arena->pages, all, in) != 0) {
        free(in);
        return SIZE_MAX;
    }
    for (size_t i = 0; i < all / unit; i++) {
        n += in[i] & 1;
    }
    free(in);
    return n * unit;
}

static uint64_t held_bytes(struct cache *c) {
    struct heap_facts f;
    heap_facts(c->heap, &f);
    return f.held_bytes;
}

static void shrink(struct cache_thread *ct) {
    for (int tries = 0; fixture_shrink(ct) && tries < 20; tries++) {
    }
}

static uint64_t item_bytes(struct cache *c) {
    struct cache_facts f;
    cache_facts(c, &f);
    return f.bytes;
}

/* All sizes change from phase to phase, so that the holes of one phase do not fit the next. */
static void test_the_limit_holds_in_resident_memory(uint64_t x) {
    static const struct phase {
        uint32_t least, most;
        int      stores;
    } phases[] = {{50, 150, 200000}, {900, 1900, 30000}, {10, 20, 200000}, {8000, 14000, 5000}, {1, 700000, 250}, {300, 310, 100000}};
    enum { LIMIT_BYTES = 16 << 20 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(LIMIT_BYTES, &ct);
    uint64_t refused = 0;
    cache_turn_begin(ct);
    for (unsigned i = 0; i < sizeof phases / sizeof *phases; i++) {
        const struct phase *p = &phases[i];
        for (int j = 0; j < p->stores; j++) {
            uint32_t bytes = p->least + (uint32_t)(tap_random(&x) % (p->most - p->least));
            refused += fixture_set(ct, tap_random(&x) % 500000, value, bytes) != CACHE_OK;
        }
        size_t resident = resident_bytes(c);
        ok(resident <= LIMIT_BYTES + (2u << 20) && held_bytes(c) + (2u << 20) >= resident, "values of %u to %u bytes: %zu kB are resident of %d, %" PRIu64 " said to be held",
           p->least, p->most, resident >> 10, LIMIT_BYTES >> 10, held_bytes(c) >> 10);
    }
    is(refused, 0, "no store is refused");
    ok(item_bytes(c) > LIMIT_BYTES / 10 * 7, "%" PRIu64 " kB of items live in it after the last phase", item_bytes(c) >> 10);
    for (uint64_t megabytes = 8; megabytes >= 4; megabytes /= 2) {
        cache_set_limit(c, megabytes << 20);
        shrink(ct);
        size_t resident = resident_bytes(c);
        ok(resident <= (megabytes + 1) << 20, "a limit of %" PRIu64 " MB: memory goes back to the system, %zu kB are resident", megabytes, resident >> 10);
        ok(item_bytes(c) > (megabytes << 20) / 2, "but as little as can be: %" PRIu64 " kB of items still live there", item_bytes(c) >> 10);
    }
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

static void some_stores(struct cache_thread *ct, uint64_t *x, unsigned count) {
    cache_turn_begin(ct);
    for (unsigned i = 0; i < count; i++) {
        fixture_set(ct, tap_random(x) % 200000, value, 10 + tap_random(x) % 900);
    }
    cache_turn_end(ct);
}

/* The items in a cache that always had this limit. */
static uint64_t usual_bytes(size_t limit_bytes, uint64_t *x) {
    struct cache_thread *ct;
    struct cache *c = fixture_cache(limit_bytes, &ct);
    some_stores(ct, x, 300000);
    uint64_t bytes = item_bytes(c);
    fixture_end(&c, &ct);
    return bytes;
}

static void nobody_to_wake(void *arg) { (void)arg; }

/* Stores go on between the steps: as many as reach a busy machine during one step. */
static void test_stores_meanwhile_cost_no_more_than_the_limit(uint64_t x) {
    enum { BEFORE_MB = 48, AFTER_MB = 32, STORES_A_STEP = 3 };
    struct cache_config cfg = fixture_config((size_t)BEFORE_MB << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *tuner = cache_thread_create(c), *worker = cache_thread_create(c);
    uint64_t usual = usual_bytes((size_t)AFTER_MB << 20, &x), least = UINT64_MAX;
    enum cache_shrink_state state = CACHE_SHRINK_MORE;
    cache_on_starved(c, nobody_to_wake, NULL);
    some_stores(worker, &x, 300000);
    cache_set_limit(c, (size_t)AFTER_MB << 20);
    for (int rounds = 0; rounds < 20 && state != CACHE_SHRINK_DONE; rounds++) {
        struct cache_shrink *s = cache_shrink_begin(tuner, &state);
        bool more = s != NULL, gives = false;
        for (unsigned steps = 0; more; steps++) {
            cache_turn_begin(tuner);
            more = gives ? cache_shrink_release(s) : cache_shrink_evict(s);
            cache_turn_end(tuner);
            some_stores(worker, &x, STORES_A_STEP);
            if (steps % 256 == 0) {
                uint64_t bytes = item_bytes(c);
                least = bytes < least ? bytes : least;
            }
            if (!more && !gives) {
                gives = more = cache_quiesce(tuner, FIXTURE_NEVER_REFUSE_US);
            }
        }
        state = s != NULL ? cache_shrink_end(&s) : state;
        uint64_t bytes = item_bytes(c);
        least = bytes < least ? bytes : least;
    }
    is(state, CACHE_SHRINK_DONE, "a limit that was lowered holds in the end though stores go on");
    ok(held_bytes(c) <= (uint64_t)AFTER_MB << 20, "in what is held: %" PRIu64 " kB", held_bytes(c) >> 10);
    ok(resident_bytes(c) <= (size_t)(AFTER_MB + 2) << 20, "and in resident memory: %zu kB", resident_bytes(c) >> 10);
    ok(least > usual / 100 * 88, "at any time %" PRIu64 " kB of items or more live there, of %" PRIu64 " kB with such a limit from the start",
       least >> 10, usual >> 10);
    some_stores(worker, &x, 100000);
    ok(item_bytes(c) > usual / 100 * 94, "soon it is as many: %" PRIu64 " kB", item_bytes(c) >> 10);
    cache_thread_destroy(&tuner);
    fixture_end(&c, &worker);
}

/* Neither earlier evictions nor the next store are forgotten. */
static void test_a_limit_raised_meanwhile_ends_it(uint64_t x) {
    enum { KEYS = 60000 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache(32u << 20, &ct);
    enum cache_shrink_state state;
    cache_on_starved(c, nobody_to_wake, NULL);
    some_stores(ct, &x, KEYS);
    uint64_t before = item_bytes(c);
    cache_set_limit(c, 8u << 20);
    struct cache_shrink *s = cache_shrink_begin(ct, &state);
    cache_turn_begin(ct);
    while (item_bytes(c) == before && cache_shrink_evict(s)) {
    }
    cache_set_limit(c, 32u << 20);
    ok(!cache_shrink_evict(s), "a limit that is raised again ends the walk");
    while (cache_quiesce(ct, FIXTURE_NEVER_REFUSE_US) && cache_shrink_release(s)) {
    }
    ok(cache_shrink_end(&s) == CACHE_SHRINK_DONE && cache_shrink_begin(ct, &state) == NULL && state == CACHE_SHRINK_DONE, "nothing is left to be done");
    cache_turn_end(ct);
    ok(item_bytes(c) > before / 10 * 9, "and hardly anything was evicted");
    some_stores(ct, &x, KEYS);
    ok(item_bytes(c) > before / 10 * 9, "stores have the whole limit again: %" PRIu64 " kB of %" PRIu64, item_bytes(c) >> 10, before >> 10);
    struct heap_facts h;
    heap_facts(c->heap, &h);
    is(h.cap_bytes, 0, "and go by it");
    fixture_end(&c, &ct);
}

TEST(test_memory_in_sight_of_a_reader_is_not_used_again) {
    struct cache_config cfg = fixture_config(64u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *reader = cache_thread_create(c), *writer = cache_thread_create(c);
    char name[64];
    struct key key = fixture_key(name, 1);
    struct cache_reader r;
    cache_turn_begin(writer);
    fixture_value(value, 500, 1, 1);
    fixture_set(writer, 1, value, 500);
    cache_turn_begin(reader);
    is(cache_read_begin(reader, &key, (struct index_hint){0}, &r), CACHE_READ_COPY,
       "a reader has found an item");
    struct cache_delete d = {0};
    cache_delete(writer, &key, &d);
    memset(got, 'x', 500);
    for (uint64_t i = 2; i < 20000; i++) {
        fixture_set(writer, i, got, 500);
        fixture_delete(writer, i);
    }
    cache_read_copy(&r, got);
    ok(memcmp(got, value, 500) == 0, "it is deleted and 20000 others come and go, and its bytes are still there");
    ok(!cache_read_end(reader, &r, true), "though the reader learns that it has gone");
    ok(!deferred_free_wait(writer), "while the reader's turn lasts nothing is given back");
    uint64_t before = held_bytes(c);
    cache_turn_end(reader);
    ok(deferred_free_wait(writer), "when it ends all is");
    struct heap_facts f;
    heap_facts(c->heap, &f);
    is(f.used_bytes, 0, "and no allocation is left");
    heap_trim(c->heap);
    ok(held_bytes(c) < before / 4, "nor much memory: %" PRIu64 " kB of %" PRIu64, held_bytes(c) >> 10, before >> 10);
    cache_turn_end(writer);
    cache_thread_destroy(&reader);
    fixture_end(&c, &writer);
}

enum { LEFT_VALUES = 20, LEFT_BYTES = 700 << 10, LEFT_LATER = 30 };

static unsigned count_present(struct cache_thread *ct, uint64_t from, uint64_t to) {
    unsigned n = 0;
    for (; from < to; from++) {
        n += fixture_get(ct, from, got) >= 0;
    }
    return n;
}

/* Retires 14 MB of 32 while a reader may still see them, so that they stay in the thread's list of deferred frees. */
static void retire_much(struct cache_thread *ct, struct cache_thread *reader) {
    cache_turn_begin(ct);
    for (uint64_t i = 0; i < LEFT_VALUES; i++) {
        fixture_set(ct, i, value, LEFT_BYTES);
    }
    cache_turn_begin(reader);
    for (uint64_t i = 0; i < LEFT_VALUES; i++) {
        fixture_set(ct, i, value, 10);
    }
    cache_turn_end(ct);
}

static void test_memory_retired_by_an_idle_thread_serves_others(bool gone) {
    struct cache_config cfg = fixture_config(32u << 20);
    struct cache *c = cache_create(&cfg);
    struct cache_thread *reader = cache_thread_create(c), *idle = cache_thread_create(c), *worker = cache_thread_create(c);
    struct heap_facts f;
    retire_much(idle, reader);
    if (gone) {
        cache_thread_destroy(&idle);
    }
    cache_turn_end(reader);
    heap_facts(c->heap, &f);
    ok(f.retired_bytes >= (uint64_t)LEFT_VALUES * LEFT_BYTES, "a thread that is %s has left %" PRIu64 " kB", gone ? "gone" : "idle",
       f.retired_bytes >> 10);
    cache_turn_begin(worker);
    for (uint64_t i = 100; i < 100 + LEFT_LATER; i++) {
        fixture_set(worker, i, value, LEFT_BYTES);
    }
    ok(count_present(worker, 100, 100 + LEFT_LATER) == LEFT_LATER && count_present(worker, 0, LEFT_VALUES) == LEFT_VALUES,
       "another stores as much as fits with that, and evicts none of it, nor anything else");
    heap_facts(c->heap, &f);
    is(f.retired_bytes, 0, "nothing waits any more");
    cache_turn_end(worker);
    cache_thread_destroy(&idle);
    cache_thread_destroy(&reader);
    fixture_end(&c, &worker);
}

TEST(test_without_evictions_a_full_heap_refuses) {
    struct cache_config cfg = fixture_config(8u << 20);
    cfg.evict = false;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    cache_turn_begin(ct);
    uint64_t n = 0;
    while (n < 100000 && fixture_set(ct, n, value, 1000) == CACHE_OK) {
        n++;
    }
    ok(n > 6000 && n < 8400, "-M refuses once the heap is full: after %" PRIu64 " values of 1000 bytes in 8 MiB", n);
    is(fixture_set(ct, 0, value, 1000), CACHE_OK, "a value of the same size may be written over");
    for (uint64_t i = 0; i < 2000; i++) {
        fixture_delete(ct, i);
    }
    deferred_free_wait(ct);
    uint64_t again = 0;
    for (uint64_t i = 0; i < 1500; i++) {
        again += fixture_set(ct, 200000 + i, value, 1000) == CACHE_OK;
    }
    is(again, 1500, "and memory that deletes free can be stored in");
    ok(!cache_set_limit(c, 4u << 20), "a limit below the memory held is refused, because nothing may be evicted");
    ok(cache_set_limit(c, 16u << 20) && cache_set_limit(c, 10u << 20), "it may grow, and shrink to the memory held");
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

/* A thread that makes an arena at its first call would end the process if no memory is left. */
TEST(test_no_thread_needs_memory_of_its_own) {
    unsigned arenas = 0;
    bool     caches = true;
    size_t   bytes = sizeof arenas;
    mallctl("opt.narenas", &arenas, &bytes, NULL, 0);
    bytes = sizeof caches;
    mallctl("opt.tcache", &caches, &bytes, NULL, 0);
    is(arenas, 1, "threads have no arena of their own");
    ok(!caches, "… and no cache");
}

int main(void) {
    uint64_t seed = tap_seed();
    clock_start();
    fixture_store = CACHE_STORE_HEAP;
    tap_run_tests();
    test_the_limit_holds_in_resident_memory(seed | 1);
    test_stores_meanwhile_cost_no_more_than_the_limit(seed | 1);
    test_a_limit_raised_meanwhile_ends_it(seed | 1);
    test_memory_retired_by_an_idle_thread_serves_others(false);
    test_memory_retired_by_an_idle_thread_serves_others(true);
    return tap_done();
}
