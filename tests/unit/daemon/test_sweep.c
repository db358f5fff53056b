/* Dead items are freed in place, and no others; in every store and index, and beside threads that store. Run under TSan too. */
#include "tap.h"

#include <pthread.h>

#include "cache/expire/expire_sweep.h"
#include "cache_fixture.h"

enum { ITEMS = 3000, LARGE_BYTES = 600 * 1000, ROUNDS = 8000 / TAP_SLOWER, THREADS = 2, LASTING = 500 };

static struct cache *cache;
static char value[LARGE_BYTES];

static struct cache_sweep sweep(struct cache_thread *ct) {
    struct cache_sweep pass = {0};
    while (cache_sweep_step(ct, &pass)) {
    }
    return pass;
}

static enum cache_status set(struct cache_thread *ct, uint64_t n, size_t bytes, uint32_t exptime_s) {
    struct key key = FIXTURE_KEY(n);
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = (uint32_t)bytes, .exptime_s = exptime_s};
    return cache_store(ct, &key, &s, NULL);
}

static bool lives(struct cache_thread *ct, uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    struct cache_view v;
    return cache_peek(ct, &key, &v) == CACHE_OK;
}

static char got[LARGE_BYTES + 8];

static uint64_t items(void) {
    struct cache_facts f;
    cache_facts(cache, &f);
    return f.items;
}

static void test_frees_expired_items_and_nothing_else(struct cache_thread *ct) {
    uint32_t now_s = cache_now_s(ct);
    for (uint64_t i = 0; i < ITEMS; i++) { /* behind lasting items, in every place of a queue */
        set(ct, i, 10 + i % 1000, i % 3 == 0 ? 0 : i % 3 == 1 ? now_s + 10 : now_s + 1000);
    }
    for (uint64_t i = 1; i < ITEMS; i += 6) {
        fixture_get(ct, i, got);
    }
    struct cache_sweep pass = sweep(ct);
    ok(pass.examined == ITEMS && pass.freed == 0 && pass.earliest_s == now_s + 10, "a pass sees every item, frees none while all live, and returns the first expiry time");
    fixture_next_turn(ct, 20);
    pass = sweep(ct);
    ok(pass.freed == ITEMS / 3 && items() == ITEMS - ITEMS / 3 && pass.earliest_s == now_s + 1000, "once a third has expired it frees that and no other, and returns the next expiry time");
    struct cache_class_values v;
    cache_classes_counters(cache, &v);
    ok(v.reclaimed == ITEMS / 3 && v.expired_unfetched == ITEMS / 6 && v.crawler_reclaimed + v.evicted == 0,
       "they count as reclaimed, those that nobody read as such, too, and as nothing else");
    cache_flush_now(cache);
    set(ct, ITEMS, 10, 0);
    is(sweep(ct).freed, ITEMS - ITEMS / 3, "flushed items are freed, too");
    ok(lives(ct, ITEMS) && items() == 1, "and later stores are not");
}

static void test_frees_large_values_but_not_from_under_readers(struct cache_thread *ct) {
    uint32_t now_s = cache_now_s(ct);
    struct key key = FIXTURE_KEY(7);
    fixture_value(value, LARGE_BYTES, 7, 1);
    set(ct, 7, LARGE_BYTES, now_s + 10);
    set(ct, 8, LARGE_BYTES, now_s + 10);
    struct cache_view v = {0};
    is(fixture_fetch(ct, &key, got, &v), CACHE_OK, "a reader holds a large value");
    uint64_t before = items();
    fixture_next_turn(ct, 20);
    is(sweep(ct).freed, 2, "it expires, and a pass frees it and its like");
    is(items(), before - 2, "nobody finds them");
    fixture_read_borrowed(ct, v.borrowed, got);
    ok(memcmp(got, value, LARGE_BYTES) == 0, "and the reader still has all of it");
    cache_return(ct, v.borrowed);
}

static void test_changes_are_reported(struct cache_thread *ct) {
    struct key key = FIXTURE_KEY(1);
    struct cache_view v = {0};
    uint32_t soon_s = cache_now_s(ct) + 5;
    set(ct, 1, 10, 0);
    for (unsigned change = 0; change < 5; change++) {
        uint64_t before = cache_sweep_changes(cache);
        switch (change) {
        case 0: fixture_get(ct, 1, got), fixture_get(ct, ITEMS + 5, got); break;
        case 1: set(ct, 1, 10, 0); break;
        case 2: cache_touch(ct, &key, soon_s); break;
        case 3: cache_fetch(ct, &key, &(struct cache_fetch){.touch = true, .exptime_s = soon_s}, got, &v); break;
        case 4: cache_delete(ct, &key, &(struct cache_delete){.mark_stale = true, .touch = true, .exptime_s = soon_s}); break;
        }
        is(cache_sweep_changes(cache) != before, change > 0, "a pass could miss a store, a touch, a get that touches and a delete that leaves a stale item, but no read");
    }
}

static _Atomic unsigned storing;

/* The thread's own keys: some last; the others expire at once, are deleted, or are stored anew with another size. */
static void *store(void *arg) {
    uint64_t mine = 100000 * (1 + *(unsigned *)arg), random = mine;
    struct cache_thread *ct = cache_thread_create(cache);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uint64_t n = random >> 40;
        cache_turn_begin(ct);
        if (n % 4 == 0) {
            set(ct, mine + n % LASTING, 10 + n % 3000, 0);
        } else {
            set(ct, mine + LASTING + n % LASTING, 10 + n % 3000, n % 4 == 1 ? CLOCK_EXPIRED : cache_now_s(ct) + 1000);
        }
        if (n % 4 == 2) {
            struct key key = FIXTURE_KEY(mine + LASTING + n % LASTING);
            cache_delete(ct, &key, &(struct cache_delete){0});
        }
        cache_turn_end(ct);
    }
    cache_thread_destroy(&ct);
    atomic_fetch_sub(&storing, 1);
    return NULL;
}

static void test_takes_nothing_live_beside_stores(struct cache_thread *ct) {
    pthread_t threads[THREADS];
    unsigned numbers[THREADS], lost = 0;
    uint64_t freed = 0;
    for (unsigned i = 0; i < THREADS; i++) {
        for (uint64_t n = 0; n < LASTING; n++) {
            set(ct, 100000 * (1 + i) + n, 10, 0);
        }
    }
    atomic_store(&storing, THREADS);
    cache_turn_end(ct);
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        pthread_create(&threads[i], NULL, store, &numbers[i]);
    }
    while (atomic_load(&storing) > 0) {
        cache_turn_begin(ct);
        freed += sweep(ct).freed;
        cache_turn_end(ct);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    cache_turn_begin(ct);
    freed += sweep(ct).freed;
    for (unsigned i = 0; i < THREADS; i++) {
        for (uint64_t n = 0; n < LASTING; n++) {
            lost += !lives(ct, 100000 * (1 + i) + n);
        }
    }
    ok(freed > 0, "beside %d threads that store, passes free expired items", THREADS);
    is(lost, 0, "and nothing that lives, wherever it is stored anew");
    is(sweep(ct).freed, 0, "after them nothing dead is left");
}

int main(void) {
    clock_start();
    for (enum cache_store_kind kind = 0; kind < CACHE_STORE_KINDS; kind++) {
        for (const struct index_kind *const *index = index_kinds; *index != NULL; index++) {
            printf("# %s, %s\n", cache_store_name(kind), (*index)->name);
            fixture_store = kind;
            fixture_index = *index;
            struct cache_config cfg = fixture_config(64u << 20);
            cfg.item_bytes_max = 8u << 20;
            cache = cache_create(&cfg);
            struct cache_thread *ct = cache_thread_create(cache);
            cache_turn_begin(ct);
            test_frees_expired_items_and_nothing_else(ct);
            test_frees_large_values_but_not_from_under_readers(ct);
            test_changes_are_reported(ct);
            test_takes_nothing_live_beside_stores(ct);
            cache_turn_end(ct);
            fixture_end(&cache, &ct);
        }
    }
    return tap_done();
}
