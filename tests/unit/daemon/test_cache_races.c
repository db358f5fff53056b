/* States that several threads must never see half done. Run under TSan too. */
#include "tap.h"

#include <pthread.h>

#include "cache_fixture.h"

enum { KEYS = 20000, THREADS = 3 };

static struct cache *cache;
static _Atomic uint32_t won[KEYS];
static _Atomic uint64_t clean, missed;

/* Every thread gets every key and adds the missing ones: one add succeeds, the others return NOT_STORED. */
static void *vivify_all(void *arg) {
    struct cache_thread *ct = cache_thread_create(cache);
    char to[ITEM_COPY_MAX + 8], name[64];
    (void)arg;
    for (uint64_t i = 0; i < KEYS; i++) {
        struct key key = fixture_key(name, i);
        struct cache_fetch f = {.meta = true, .vivify = true, .want_value = true};
        struct cache_view v = {0};
        cache_turn_begin(ct);
        if (cache_fetch(ct, &key, &f, to, &v) != CACHE_OK) {
            atomic_fetch_add(&missed, 1);
        } else if (v.won) {
            atomic_fetch_add(&won[i], 1);
        } else if (!v.lost) {
            atomic_fetch_add(&clean, 1);
        }
        cache_turn_end(ct);
    }
    cache_thread_destroy(&ct);
    return NULL;
}

static void test_one_wins_a_key_that_all_make(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, vivify_all, NULL);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    unsigned wrong = 0;
    for (int i = 0; i < KEYS; i++) {
        wrong += atomic_load(&won[i]) != 1;
    }
    is(wrong, 0, "each of %d keys is won by one of %d threads", KEYS, THREADS);
    is(atomic_load(&clean), 0, "the others learn that it was won");
    is(atomic_load(&missed), 0, "and nobody misses");
}

static _Atomic bool stop;
static _Atomic uint64_t torn, looks;

/* Odd CAS values are given to invalidated items only. */
static void *watch_one(void *arg) {
    struct cache_thread *ct = cache_thread_create(cache);
    const struct key *key = arg;
    char to[64];
    while (!atomic_load(&stop)) {
        struct cache_reader r;
        enum cache_read how;
        cache_turn_begin(ct);
        do {
            how = cache_read_begin(ct, key, (struct index_hint){0}, &r);
            if (how == CACHE_READ_COPY) {
                cache_read_copy(&r, to);
            }
        } while (how != CACHE_READ_SLOW && !cache_read_end(ct, &r, false));
        if (how == CACHE_READ_COPY) {
            atomic_fetch_add(&looks, 1);
            atomic_fetch_add(&torn, (r.cas & 1) && !r.marked);
        }
        cache_turn_end(ct);
    }
    cache_thread_destroy(&ct);
    return NULL;
}

static void test_a_new_cas_comes_with_its_stale_mark(void) {
    struct cache_thread *ct = cache_thread_create(cache);
    struct key key = key_make("invalid", 7);
    pthread_t reader;
    pthread_create(&reader, NULL, watch_one, &key);
    for (uint64_t n = 1; n < 100000 || atomic_load(&looks) < 1000; n++) {
        cache_turn_begin(ct);
        struct cache_store s = {.mode = CACHE_SET, .value = "v", .value_bytes = 1, .cas = 2 * n};
        struct cache_delete d = {.mark_stale = true, .cas = 2 * n + 1};
        cache_store(ct, &key, &s, NULL);
        cache_delete(ct, &key, &d);
        cache_turn_end(ct);
    }
    atomic_store(&stop, true);
    pthread_join(reader, NULL);
    is(atomic_load(&torn), 0, "no reader sees an invalidated item's CAS without its mark (%" PRIu64 " looks)",
       (uint64_t)atomic_load(&looks));
    cache_thread_destroy(&ct);
}

/* A neighbour in the index that changes all the time. */
static void *disturb(void *arg) {
    struct cache_thread *ct = cache_thread_create(cache);
    uint64_t n = *(uint64_t *)arg;
    while (!atomic_load(&stop)) {
        cache_turn_begin(ct);
        fixture_set(ct, n, "x", 1);
        cache_turn_end(ct);
    }
    cache_thread_destroy(&ct);
    return NULL;
}

static void test_a_large_append_ends_beside_a_busy_neighbour(void) {
    enum { BYTES = 4 << 20 };
    struct cache_thread *ct = cache_thread_create(cache);
    struct key key = key_make("big", 3);
    char *value = calloc(1, BYTES), name[64];
    cache_turn_begin(ct);
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = BYTES};
    is(cache_store(ct, &key, &s, NULL), CACHE_OK, "a value of 4 MiB is stored");
    struct cache_reader mine, theirs;
    cache_read_begin(ct, &key, (struct index_hint){0}, &mine);
    uint64_t n = KEYS; /* a key of the same chain */
    do {
        struct key other = fixture_key(name, ++n);
        cache_read_begin(ct, &other, (struct index_hint){0}, &theirs);
    } while (theirs.seen.at != mine.seen.at);
    atomic_store(&stop, false);
    pthread_t neighbour;
    pthread_create(&neighbour, NULL, disturb, &n);
    s = (struct cache_store){.mode = CACHE_APPEND, .value = "y", .value_bytes = 1};
    struct cache_view v;
    unsigned stored = 0;
    for (unsigned i = 0; i < 10; i++) {
        stored += cache_store(ct, &key, &s, &v) == CACHE_OK && v.value_bytes == BYTES + i + 1;
    }
    atomic_store(&stop, true);
    cache_turn_end(ct);
    pthread_join(neighbour, NULL);
    is(stored, 10, "ten appends to it end, whatever its neighbours do");
    free(value);
    cache_thread_destroy(&ct);
}

static void test_store(enum cache_store_kind store) {
    fixture_store = store;
    memset(won, 0, sizeof won);
    printf("# the %s store\n", cache_store_name(store));
    struct cache_config cfg = fixture_config(256u << 20);
    cfg.item_bytes_max = 16 << 20;
    cache = cache_create(&cfg);
    test_one_wins_a_key_that_all_make();
    test_a_new_cas_comes_with_its_stale_mark();
    test_a_large_append_ends_beside_a_busy_neighbour();
    cache_destroy(&cache);
}

int main(void) {
    clock_start();
    for (enum cache_store_kind store = 0; store < CACHE_STORE_KINDS; store++) {
        test_store(store);
    }
    return tap_done();
}
