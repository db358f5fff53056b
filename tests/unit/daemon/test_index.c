/* The bucket index against a plain array, while it grows, and while it is read without a lock. */
#include "tap.h"

#include <pthread.h>

#include "base/clock.h"
#include "index/bucket.h"
#include "mem/arena.h"
#include "mem/item.h"

enum { ITEMS = 60000, CHUNK = 64 };

static struct arena *arena;
static struct index_pool pool;
static uint32_t refs[ITEMS];

/* Items are laid out one after the other; the key is the number. */
static struct key key_of(uint32_t n, char *to) {
    int len = snprintf(to, 32, "item-%u", n);
    return key_make(to, (size_t)len);
}

static void make_items(void) {
    for (uint32_t n = 0; n < ITEMS; n++) {
        struct item *it = (void *)(arena->pages + (size_t)n * CHUNK);
        char name[40] = {0};
        struct key key = key_of(n, name);
        item_set_flags(it, CHUNK_LINKED);
        atomic_store(&it->node.key_len, key.len);
        item_store_bytes((char *)it + item_key_offset(CHUNK_LINKED, 0), key.ptr, key.len);
        refs[n] = node_ref(&arena->space, it);
    }
}

static void test_random_changes_match_a_plain_array(uint64_t x) {
    struct index ix;
    static bool there[ITEMS];
    uint32_t count = 0, wrong = 0;
    ok(index_init(&ix, &pool, &arena->space), "an index can be made");
    for (int i = 0; i < 400000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t n = (uint32_t)(x % ITEMS);
        char name[40];
        struct key key = key_of(n, name);
        uint32_t found = index_find(&ix, &key, NULL);
        wrong += found != (there[n] ? refs[n] : 0);
        if (!there[n]) {
            wrong += !index_insert(&ix, key.hash, refs[n]);
            there[n] = true;
            count++;
        } else if (x >> 60 < 6) {
            index_remove(&ix, key.hash, refs[n]);
            there[n] = false;
            count--;
        }
    }
    is(wrong, 0, "400000 random finds, inserts and removes match a plain array");
    is(ix.item_count, count, "the count is the array's");
    uint32_t chain[256], seen = 0;
    unsigned n = 0;
    for (uint32_t i = 0; index_chain(&ix, i, chain, 256, &n); i++) {
        seen += n;
    }
    is(seen, count, "walking the chains meets every item once");
    double per_item = (double)index_bytes(&ix) / count;
    ok(per_item < 9.5, "the index takes %.2f bytes an item", per_item);
    for (uint32_t i = 0; i < ITEMS; i++) {
        char name[40];
        struct key key = key_of(i, name);
        if (there[i]) {
            index_remove(&ix, key.hash, refs[i]);
            there[i] = false;
        }
    }
    is(ix.overflow_used, 0, "an emptied index keeps no overflow bucket");
    index_fini(&ix);
}

static void test_colliding_hashes_are_refused_before_they_harm(void) {
    struct index ix;
    index_init(&ix, &pool, &arena->space);
    uint32_t put = 0;
    while (put < ITEMS && index_insert(&ix, 42, refs[put])) {
        put++;
    }
    ok(put > 300 && put < 1000, "keys made to collide are refused after %u", put);
    for (uint32_t i = 0; i < put; i++) {
        index_remove(&ix, 42, refs[i]);
    }
    is(ix.item_count, 0, "and those that were taken can all be removed");
    index_fini(&ix);
}

/* --- readers without a lock --- */

static struct index shared;
static _Atomic bool stop;

struct reader {
    uint64_t looks, false_misses;
};

/* The even items are always there: a look that holds must find them, at their place. */
static void *read_on(void *arg) {
    struct reader *r = arg;
    uint64_t x = (uintptr_t)arg | 1;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t n = (uint32_t)(x % ITEMS) & ~1u;
        char name[40];
        struct key key = key_of(n, name);
        struct index_look look;
        uint32_t ref;
        do {
            ref = index_find(&shared, &key, &look);
        } while (!index_unchanged(&shared, &key, &look));
        r->looks++;
        r->false_misses += ref != refs[n];
    }
    return NULL;
}

static void test_readers_without_a_lock_miss_nothing(uint64_t x) {
    index_init(&shared, &pool, &arena->space);
    char name[40];
    for (uint32_t n = 0; n < ITEMS; n += 2) {
        index_insert(&shared, key_of(n, name).hash, refs[n]);
    }
    pthread_t threads[2];
    struct reader readers[2] = {{0}};
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, read_on, &readers[i]);
    }
    static bool there[ITEMS];
    for (int i = 0; i < 300000; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        uint32_t n = (uint32_t)(x % ITEMS) | 1u;
        struct key key = key_of(n, name);
        if (there[n]) {
            index_remove(&shared, key.hash, refs[n]);
        } else {
            index_insert(&shared, key.hash, refs[n]);
        }
        there[n] = !there[n];
    }
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    is(readers[0].false_misses + readers[1].false_misses, 0, "no false miss in %" PRIu64 " lock-free looks while it changes",
       readers[0].looks + readers[1].looks);
    ok(readers[0].looks + readers[1].looks > 0, "and there were looks");
    index_fini(&shared);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    clock_start();
    arena = arena_create(8u << 20, 0, false);
    index_pool_init(&pool, 16u << 20);
    make_items();
    test_random_changes_match_a_plain_array(seed);
    test_colliding_hashes_are_refused_before_they_harm();
    test_readers_without_a_lock_miss_nothing(seed);
    index_pool_fini(&pool);
    arena_destroy(&arena);
    return tap_done();
}
