/* The cache against a plain array: every verb, every size, with and without room. */
#include "tap.h"

#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cache_fixture.h"

enum { KEYS = 400, VALUE_MAX = 1500000 };

static char value[VALUE_MAX + 64], got[VALUE_MAX + 64];

static size_t random_bytes(uint64_t *x) {
    switch (tap_random(x) % 10) {
    case 0: return 0;
    case 1: return tap_random(x) % 10;
    case 2: return ITEM_COPY_MAX - 2 + tap_random(x) % 5;
    case 3: return 3000 + tap_random(x) % 20000;
    case 4: return tap_random(x) % 8 == 0 ? 500000 + tap_random(x) % 600000 : 100;
    default: return tap_random(x) % 600;
    }
}

struct shadow {
    bool     there;
    size_t   bytes;
    uint64_t version;
};

static void test_random_verbs_match_a_plain_array(uint64_t x) {
    enum { CHANGES = 15000 / TAP_SLOWER };
    static struct cache_walked out[64];
    struct cache_config cfg = fixture_config(256u << 20);
    cfg.item_bytes_max = 2 << 20;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    struct shadow shadow[KEYS] = {{0}};
    struct cache_walk walk = {0};
    struct cache_facts f;
    uint64_t wrong = 0, there = 0, walked = 0;
    cache_turn_begin(ct);
    for (int i = 0; i < CHANGES; i++) {
        uint64_t n = tap_random(&x) % KEYS, verb = tap_random(&x) % 6;
        struct shadow *s = &shadow[n];
        if (verb < 2) {
            *s = (struct shadow){true, random_bytes(&x), s->version + 1};
            fixture_value(value, s->bytes, n, s->version);
            wrong += fixture_set(ct, n, value, s->bytes) != CACHE_OK;
        } else if (verb == 2) {
            wrong += fixture_delete(ct, n) != (s->there ? CACHE_OK : CACHE_MISS);
            s->there = false;
        } else {
            long bytes = fixture_get(ct, n, got);
            fixture_value(value, s->bytes, n, s->version);
            wrong += bytes != (s->there ? (long)s->bytes : -1) || (s->there && memcmp(value, got, s->bytes) != 0);
        }
    }
    is(wrong, 0, "%d random sets, deletes and gets of 0 to 1.1 MB match a plain array", CHANGES);
    for (int i = 0; i < KEYS; i++) {
        there += shadow[i].there;
    }
    cache_facts(c, &f);
    is(f.items, there, "the item count is the array's");
    for (int n; (n = cache_walk_next(ct, &walk, out, 64)) >= 0; walked += (uint64_t)n) {
    }
    is(walked, there, "a walk sees every item once");
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

static void test_eviction_never_shows_a_wrong_value(uint64_t x, const struct evict_policy *policy) {
    enum { MANY = 50000, CHANGES = 120000 / TAP_SLOWER };
    static uint64_t version[MANY];
    static uint32_t bytes[MANY];
    struct cache_config cfg = fixture_config(16u << 20);
    cfg.policy = policy;
    struct cache *c = cache_create(&cfg);
    struct cache_thread *ct = cache_thread_create(c);
    uint64_t wrong = 0, refused = 0, hits = 0;
    memset(version, 0, sizeof version);
    cache_turn_begin(ct);
    for (int i = 0; i < CHANGES; i++) {
        uint64_t n = tap_random(&x) % MANY;
        if (tap_random(&x) % 2) {
            bytes[n] = (uint32_t)(tap_random(&x) % 2000 == 0 ? tap_random(&x) % 700000 : tap_random(&x) % 900);
            fixture_value(value, bytes[n], n, ++version[n]);
            refused += fixture_set(ct, n, value, bytes[n]) != CACHE_OK;
            continue;
        }
        long len = fixture_get(ct, n, got);
        if (len >= 0) {
            hits++;
            fixture_value(value, bytes[n], n, version[n]);
            wrong += len != (long)bytes[n] || memcmp(value, got, bytes[n]) != 0;
        }
    }
    ok(wrong == 0 && hits > 100, "%s: no wrong value among %" PRIu64 " hits under eviction", policy->name, hits);
    if (policy->victim != NULL || TAP_SLOWER == 1) { /* without a victim the cache does not fill */
        ok((refused > 0) == (policy->victim == NULL), "%s: no set is refused, but where nothing is evicted", policy->name);
    }
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

static void test_cas_values_differ_over_all_keys(struct cache_thread *ct) {
    enum { ROUNDS = 3 };
    uint64_t last[KEYS] = {0}, highest = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < ROUNDS * KEYS; i++) {
        struct key key = FIXTURE_KEY(i % KEYS);
        struct cache_view v;
        fixture_store_key(ct, &key, "x", 1, &v);
        bool is_known = v.cas <= last[i % KEYS];
        for (unsigned k = 0; k < KEYS && v.cas <= highest; k++) {
            is_known |= last[k] == v.cas;
        }
        wrong += is_known;
        last[i % KEYS] = v.cas;
        highest = v.cas > highest ? v.cas : highest;
    }
    is(wrong, 0, "no store gets a CAS that another key has, and a key's grows");
}

static void test_appends_join_values_of_any_size(struct cache_thread *ct) {
    static char want[VALUE_MAX];
    struct key key = key_make("join", 4);
    size_t bytes = 5;
    uint64_t wrong = 0;
    fixture_value(want, bytes, 1, 1);
    fixture_store_key(ct, &key, want, bytes, NULL);
    for (size_t step = 1; bytes + step < 900000; step = step * 3 + 1) {
        bool append = step % 2;
        fixture_value(value, step, step, 2);
        memmove(append ? want : want + step, want, bytes);
        memcpy(append ? want + bytes : want, value, step);
        struct cache_store s = {.mode = append ? CACHE_APPEND : CACHE_PREPEND, .value = value, .value_bytes = (uint32_t)step};
        wrong += cache_store(ct, &key, &s, NULL) != CACHE_OK;
        bytes += step;
        wrong += fixture_read(ct, &key, got) != (long)bytes || memcmp(got, want, bytes) != 0;
    }
    is(wrong, 0, "appends and prepends join values from 5 bytes to chains of chunks");
}

/* Chunks that are neither free nor in a partition's stock. */
static uint64_t chunks_in_use(struct cache *c) {
    struct cache_facts all;
    uint64_t used = 0;
    cache_facts(c, &all);
    for (unsigned i = 1; i <= all.class_count; i++) {
        struct cache_class_facts f;
        cache_class_facts(c, i, &f);
        used += (uint64_t)f.slab.pages * f.slab.chunks_per_page - f.slab.free_chunks - f.magazine_chunks;
    }
    return used;
}

static void test_a_new_value_of_the_same_class_takes_the_old_ones_place(struct cache *c, struct cache_thread *ct) {
    struct key key = key_make("rewritten", 9);
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = 100, .client_flags = 7};
    struct cache_view first, second;
    struct cache_facts before, after;
    cache_store(ct, &key, &s, &first);
    cache_facts(c, &before);
    uint64_t used = chunks_in_use(c);
    fixture_value(value, 110, 3, 3);
    s.value_bytes = 110;
    s.client_flags = 0;
    is(cache_store(ct, &key, &s, &second), CACHE_OK, "a key is stored again");
    is(second.class_id, first.class_id, "in the same class");
    cache_facts(c, &after);
    is(chunks_in_use(c), used, "and takes no more memory");
    is(after.bytes - before.bytes, 110 - 100 - 4, "the sum of bytes follows value and client flags");
    is(after.items, before.items, "it is one item");
    is(after.counters.total_items - before.counters.total_items, 1, "stored twice");
    ok(second.cas > first.cas, "its CAS has grown");
    ok(fixture_fetch(ct, &key, got, &second) == CACHE_OK && second.value_bytes == 110 && second.client_flags == 0 &&
           memcmp(got, value, 110) == 0, "and reads as stored last");
}

static void test_a_join_that_fails_leaves_no_chunk_behind(struct cache *c, struct cache_thread *ct) {
    struct key key = key_make("over", 4);
    struct cache_store s = {.mode = CACHE_SET, .value = value, .value_bytes = 700000};
    cache_store(ct, &key, &s, NULL);
    uint64_t before = chunks_in_use(c), refused = 0;
    s = (struct cache_store){.mode = CACHE_APPEND, .value = value, .value_bytes = 500000};
    for (int i = 0; i < 20; i++) {
        refused += cache_store(ct, &key, &s, NULL) != CACHE_OK;
    }
    is(refused, 20, "appends past the item limit are refused");
    is(chunks_in_use(c), before, "and hold no memory");
    struct cache_view v;
    ok(cache_peek(ct, &key, &v) == CACHE_OK && v.value_bytes == 700000, "the value there was stays");
}

static void test_more_classes_than_pages_keep_their_items(unsigned pages) {
    enum { SIZES = 24, ROUNDS = 30 };
    struct cache_thread *ct;
    struct cache *c = fixture_cache((size_t)pages << 20, &ct);
    uint64_t refused = 0, kept = 0;
    cache_turn_begin(ct);
    for (uint64_t n = 0; n < SIZES * ROUNDS; n++) {
        refused += fixture_set(ct, n, value, (size_t)(60 * pow(1.3, (double)(n % SIZES)))) != CACHE_OK;
    }
    for (uint64_t n = 0; n < SIZES * ROUNDS; n++) {
        kept += fixture_get(ct, n, got) >= 0;
    }
    struct cache_facts f;
    cache_facts(c, &f);
    is(refused, 0, "%u sizes in a cache of %u pages: no set is refused", SIZES, pages);
    is(kept, SIZES * ROUNDS, "and a fitting item is stored: a class's first page goes over the limit");
    ok(f.pages_out > f.pages_limit && f.pages_out <= SIZES, "by a page a class at most (%u pages)", f.pages_out);
    ok(!cache_set_limit(c, ((size_t)pages << 20) * 4 + (1u << 20)), "the limit grows to four times the first, and no further");
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

static void test_store(enum cache_store_kind store, uint64_t seed) {
    fixture_store = store;
    printf("# the %s store\n", cache_store_name(store));
    test_random_verbs_match_a_plain_array(seed | 1);
    for (int i = 0; evict_policies[i] != NULL && (store == CACHE_STORE_SLAB || i < 2); i++) {
        test_eviction_never_shows_a_wrong_value(seed | 1, evict_policies[i]);
    }
    if (store == CACHE_STORE_SLAB) {
        test_more_classes_than_pages_keep_their_items(8);
        test_more_classes_than_pages_keep_their_items(2); /* so many first pages are far more than four times the limit */
    }
    struct cache_thread *ct;
    struct cache *c = fixture_cache(64u << 20, &ct);
    cache_turn_begin(ct);
    test_cas_values_differ_over_all_keys(ct);
    test_appends_join_values_of_any_size(ct);
    test_a_new_value_of_the_same_class_takes_the_old_ones_place(c, ct);
    test_a_join_that_fails_leaves_no_chunk_behind(c, ct);
    cache_turn_end(ct);
    fixture_end(&c, &ct);
}

/* Runs in a child process that may map so many bytes; 0: no limit. */
static size_t limit_most_with(size_t address_bytes, size_t wanted_bytes) {
    int to[2];
    size_t most = 0;
    if (pipe(to) != 0) {
        return 0;
    }
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (address_bytes != 0) {
            setrlimit(RLIMIT_AS, &(struct rlimit){address_bytes, address_bytes});
        }
        struct cache_config cfg = fixture_config(16u << 20);
        cfg.limit_bytes_most = wanted_bytes;
        struct cache *c = cache_create(&cfg);
        most = c != NULL ? cache_limit_most(c) : 0;
        _exit(write(to[1], &most, sizeof most) != sizeof most);
    }
    close(to[1]);
    if (read(to[0], &most, sizeof most) != sizeof most) {
        most = 0;
    }
    close(to[0]);
    waitpid(child, NULL, 0);
    return most;
}

static void test_the_limit_grows_as_far_as_there_are_addresses(void) {
    size_t usual = (size_t)64 << 20, wanted = (size_t)8 << 30;
    fixture_store = CACHE_STORE_SLAB;
    is((long)limit_most_with(0, 0), (long)usual, "the limit grows to four times the start");
    is((long)limit_most_with(0, wanted), (long)wanted, "or as far as is wanted");
#if !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
    is((long)limit_most_with((size_t)2 << 30, wanted), (long)usual, "or to four times, without addresses for more");
#endif
    ok(limit_most_with(0, (size_t)1 << 40) >= (size_t)30 << 30, "or as far as references reach");
    fixture_store = CACHE_STORE_HEAP;
    is((long)limit_most_with(0, wanted), (long)usual, "a heap's limit grows to four times the start");
}

int main(void) {
    uint64_t seed = tap_seed();
    clock_start();
    test_the_limit_grows_as_far_as_there_are_addresses();
    for (enum cache_store_kind store = 0; store < CACHE_STORE_KINDS; store++) {
        test_store(store, seed);
    }
    return tap_done();
}
