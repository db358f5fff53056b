/* Ghosts against an exact list of evictions and their order. */
#include "tap.h"

#include <pthread.h>

#include "base/key.h"
#include "sample/ghost.h"

enum { SMALL = 1, LARGE = 2, OTHER = 3, SMALL_CHUNKS = 8000, LARGE_CHUNKS = 100, NOW_S = 100000 };

static uint64_t hash_of(uint64_t n) { return key_hash((const char *)&n, sizeof n); }

static struct ghost *fresh(void) {
    struct ghost *g = ghost_create();
    ghost_set_class(g, SMALL, SMALL_CHUNKS);
    ghost_set_class(g, LARGE, LARGE_CHUNKS);
    ghost_set_class(g, OTHER, SMALL_CHUNKS);
    return g;
}

static void evict(struct ghost *g, unsigned class_id, uint64_t from, uint64_t to) {
    for (uint64_t n = from; n < to; n++) {
        ghost_evicted(g, class_id, hash_of(n), 0, NOW_S);
    }
}

/* Misses of the keys from … to that are found at `depth`, each with its weight. */
static uint64_t found_at(const struct ghost *g, unsigned class_id, uint64_t from, uint64_t to, unsigned depth) {
    uint64_t found = 0;
    for (uint64_t n = from; n < to; n++) {
        unsigned at;
        if (ghost_missed(g, hash_of(n), NOW_S, &at) == class_id && at == depth) {
            found += ghost_weight(g, class_id);
        }
    }
    return found;
}

TEST(test_depths_of_a_small_class) {
    struct ghost *g = fresh();
    enum { PAGES = 128 };
    evict(g, SMALL, 0, (uint64_t)PAGES * SMALL_CHUNKS);
    is(ghost_weight(g, SMALL), 16, "one of 16 keys of a class of small items is sampled");
    uint64_t newest = (uint64_t)PAGES * SMALL_CHUNKS, pages = 1, before = 0;
    for (unsigned depth = 0; depth < 6; depth++, pages *= 2) { /* the table holds 64 pages of 500 ghosts */
        uint64_t want = (pages - before) * SMALL_CHUNKS, got = found_at(g, SMALL, newest - (pages + 1) * SMALL_CHUNKS, newest, depth);
        ok(got > want * 85 / 100 && got < want * 115 / 100, "depth %u: %" PRIu64 " keys found of %" PRIu64 ", within 15 %%",
           depth, got, want);
        before = pages;
    }
    is(found_at(g, SMALL, 0, 32 * SMALL_CHUNKS, 0), 0, "an old eviction is not taken for a recent one");
    ghost_destroy(&g);
}

TEST(test_a_large_class_is_sampled_whole) {
    struct ghost *g = fresh();
    evict(g, LARGE, 0, 10 * LARGE_CHUNKS);
    is(ghost_weight(g, LARGE), 1, "every key of a class of large items is sampled");
    for (unsigned depth = 0; depth < 4; depth++) {
        unsigned pages = depth == 0 ? 1 : 1u << (depth - 1);
        is(found_at(g, LARGE, 0, 10 * LARGE_CHUNKS, depth), pages * LARGE_CHUNKS, "the evictions of %u pages are at depth %u", pages, depth);
    }
    ghost_destroy(&g);
}

TEST(test_a_fast_class_leaves_room_for_a_slow_one) {
    struct ghost *g = fresh();
    evict(g, LARGE, 0, 8 * LARGE_CHUNKS);
    evict(g, SMALL, 1000000, 1000000 + 200 * SMALL_CHUNKS);
    uint64_t found = 0;
    for (unsigned depth = 0; depth < 4; depth++) {
        found += found_at(g, LARGE, 0, 8 * LARGE_CHUNKS, depth);
    }
    ok(found >= 8 * LARGE_CHUNKS * 97 / 100, "200 pages' evictions of one class leave the ghosts of another (%" PRIu64 " of %d)",
       found, 8 * LARGE_CHUNKS);
    ghost_destroy(&g);
}

TEST(test_a_key_has_one_ghost) {
    struct ghost *g = fresh();
    unsigned depth = 99;
    ghost_evicted(g, LARGE, hash_of(7), 0, NOW_S);
    evict(g, LARGE, 1000, 1000 + 3 * LARGE_CHUNKS);
    ok(ghost_missed(g, hash_of(7), NOW_S, &depth) == LARGE && depth == 2, "an evicted key is known, at its depth");
    ghost_evicted(g, LARGE, hash_of(7), 0, NOW_S);
    ok(ghost_missed(g, hash_of(7), NOW_S, &depth) == LARGE && depth == 0, "evicted again, it is known, at the new depth");
    is(ghost_missed(g, hash_of(8), NOW_S, &depth), 0, "another key is not");
    ghost_clear(g);
    is(ghost_missed(g, hash_of(7), NOW_S, &depth), 0, "clearing forgets");
    ghost_set_class(g, LARGE, 0);
    ghost_evicted(g, LARGE, hash_of(7), 0, NOW_S);
    is(ghost_missed(g, hash_of(7), NOW_S, &depth), 0, "a class without chunks leaves no ghosts");
    ghost_destroy(&g);
}

TEST(test_a_ghost_ends_when_its_item_would_have_expired) {
    static const struct {
        uint32_t    expires_s, looked_s;
        bool        known;
        const char *claim;
    } rows[] = {{NOW_S + 100 * 86400, NOW_S + 86400, true, "an item of 100 days is not taken for one of a day"},
                {0, NOW_S + 86400, true, "an item that never expires has a ghost after a day"},
                {NOW_S + 10, NOW_S + 11, false, "evicted with 10 s to live it has none after 11 s"},
                {0, NOW_S + 86400, true, "and again one without an end"}};
    struct ghost *g = fresh();
    unsigned depth, wrong = 0;
    for (unsigned ttl_s = 1; ttl_s <= 20000; ttl_s = ttl_s * 5 / 4 + 1) {
        ghost_evicted(g, LARGE, hash_of(ttl_s), NOW_S + ttl_s, NOW_S);
        wrong += ghost_missed(g, hash_of(ttl_s), NOW_S + ttl_s - 1, &depth) != LARGE || ghost_missed(g, hash_of(ttl_s), NOW_S + ttl_s + 1, &depth) != 0;
    }
    is(wrong, 0, "a ghost lasts to the second as long as its item had to live");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ghost_evicted(g, LARGE, hash_of(2), rows[i].expires_s, NOW_S);
        is(ghost_missed(g, hash_of(2), rows[i].looked_s, &depth), rows[i].known ? LARGE : 0, "%s", rows[i].claim);
    }
    ghost_destroy(&g);
}

/* A set of the table has eight places: dead ghosts go first, though they are the latest. */
TEST(test_dead_ghosts_make_room) {
    enum { KEYS = 30000 };
    struct ghost *g = fresh();
    unsigned depth, kept = 0;
    ghost_set_class(g, OTHER, LARGE_CHUNKS);
    for (uint64_t n = 0; n < KEYS; n++) {
        ghost_evicted(g, LARGE, hash_of(n % 2 == 0 ? n : 1000000 + n), n % 2 == 0 ? 0 : NOW_S + 5, NOW_S);
    }
    for (uint64_t n = 0; n < KEYS / 2; n++) {
        ghost_evicted(g, OTHER, hash_of(2000000 + n), 0, NOW_S + 10);
    }
    ghost_set_class(g, LARGE, KEYS);
    for (uint64_t n = 0; n < KEYS; n += 2) {
        kept += ghost_missed(g, hash_of(n), NOW_S + 10, &depth) == LARGE;
    }
    ok(kept > KEYS / 2 * 3 / 4, "of %d live ghosts %u are left when as many come as others have ended", KEYS / 2, kept);
    ghost_destroy(&g);
}

TEST(test_strangers_are_seldom_taken_for_ghosts) {
    struct ghost *g = fresh();
    unsigned depth, wrong = 0;
    evict(g, SMALL, 0, 100 * SMALL_CHUNKS);
    for (uint64_t n = 0; n < 1000000; n++) {
        wrong += ghost_missed(g, hash_of(((uint64_t)1 << 40) + n), NOW_S, &depth) != 0;
    }
    ok(wrong <= 10, "of a million strangers at most ten are taken for ghosts (%u)", wrong);
    ghost_destroy(&g);
}

static void *evict_much(void *arg) {
    struct ghost *g = arg;
    unsigned depth;
    for (uint64_t n = 0; n < 20 * SMALL_CHUNKS; n++) {
        ghost_evicted(g, n & 1 ? SMALL : OTHER, hash_of(n), 0, NOW_S);
        ghost_missed(g, hash_of(n / 2), NOW_S, &depth);
    }
    return NULL;
}

TEST(test_threads_meet) {
    struct ghost *g = fresh();
    pthread_t threads[4];
    for (unsigned i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, evict_much, g);
    }
    for (unsigned i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
    }
    unsigned wrong = 0, depth;
    for (uint64_t n = 0; n < 20 * SMALL_CHUNKS; n++) {
        unsigned found = ghost_missed(g, hash_of(n), NOW_S, &depth);
        wrong += found != 0 && found != (n & 1 ? SMALL : OTHER);
    }
    is(wrong, 0, "four threads at once: no ghost has a false class");
    ghost_destroy(&g);
}

int main(void) {
    return tap_main();
}
