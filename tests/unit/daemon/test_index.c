/* Every kind of index against a plain array: while the index grows, without memory, with colliding keys, while a walk runs, and while
 * lock-free readers read. */
#include "tap.h"

#include <pthread.h>

#include "base/clock.h"
#include "index/index.h"
#include "index/slots.h"
#include "mem/arena.h"
#include "mem/item.h"

enum { ITEMS = 60000, CHUNK = 64, STAY = 2000, POOL_BYTES = 32 << 20, CHANGES = 150000 / TAP_SLOWER };

static struct arena *arena;
static struct index_pool pool;
static const struct index_kind *kind;
static uint32_t refs[ITEMS], copies[ITEMS]; /* every item lies in two places */

/* Items are laid out one after the other; the key is the number. */
static struct key key_of(uint32_t n, char *to) {
    int len = snprintf(to, 32, "item-%u", n);
    return key_make(to, (size_t)len);
}

/* The key's bytes live as long as the enclosing block. */
#define KEY_OF(n) key_of((n), (char[40]){0})

static uint32_t make_item(uint32_t n, size_t place) {
    struct item *it = (void *)(arena->pages + place * CHUNK);
    char name[40] = {0};
    struct key key = key_of(n, name);
    item_set_flags(it, CHUNK_LINKED);
    atomic_store(&it->node.key_len, key.len);
    bytes_store((char *)it + item_key_offset(CHUNK_LINKED, 0), key.ptr, key.len);
    return node_ref(&arena->space, it);
}

static uint32_t find(const struct index *ix, uint32_t n) {
    struct key key = KEY_OF(n);
    return index_find(ix, &key);
}
static bool insert(struct index *ix, uint32_t n, uint32_t ref) {
    return index_insert(ix, KEY_OF(n).hash, ref);
}
static void remove_item(struct index *ix, uint32_t n, uint32_t ref) {
    index_remove(ix, KEY_OF(n).hash, ref);
}
static void replace(struct index *ix, uint32_t n, uint32_t from, uint32_t to) {
    index_replace(ix, KEY_OF(n).hash, from, to);
}

/* An index with the first items. */
static void begin_with(struct index *ix, uint32_t count) {
    index_init(ix, kind, &pool, &arena->space);
    for (uint32_t n = 0; n < count; n++) {
        insert(ix, n, refs[n]);
    }
}

static unsigned walk_all(struct index *ix) {
    uint32_t chain[256];
    unsigned n = 0, seen = 0;
    for (uint32_t i = 0; index_chain(ix, i, chain, 256, &n); i++) {
        seen += n;
    }
    return seen;
}

static void test_random_changes_match_a_plain_array(uint64_t x) {
    static struct index ix;
    static uint32_t there[ITEMS]; /* the reference in the index, or 0 */
    uint32_t count = 0, wrong = 0;
    ok(index_init(&ix, kind, &pool, &arena->space), "%s: an index can be made", kind->name);
    for (int i = 0; i < CHANGES; i++) {
        uint64_t random = tap_random(&x);
        uint32_t n = (uint32_t)(random % ITEMS);
        wrong += find(&ix, n) != there[n];
        if (there[n] == 0) {
            there[n] = random >> 63 ? refs[n] : copies[n];
            wrong += !insert(&ix, n, there[n]);
            count++;
        } else if (random >> 60 < 6) {
            remove_item(&ix, n, there[n]);
            there[n] = 0;
            count--;
        } else if (random >> 60 < 10) {
            uint32_t other = there[n] == refs[n] ? copies[n] : refs[n];
            replace(&ix, n, there[n], other);
            there[n] = other;
        }
    }
    is(wrong, 0, "%s: %d random finds, inserts, replaces and removes match a plain array", kind->name, CHANGES);
    is(ix.item_count, count, "%s: the count is the array's", kind->name);
    is(walk_all(&ix), count, "%s: walking the chains meets every item once", kind->name);
    uint64_t bytes = index_bytes(&ix);
    ok((double)bytes / count < kind->item_bytes_most, "%s: the index takes %.2f bytes an item", kind->name, (double)bytes / count);
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 0; n < ITEMS; n++) {
            if (there[n]) {
                remove_item(&ix, n, there[n]);
            }
        }
        is(walk_all(&ix), 0, "%s: it can be emptied", kind->name);
        for (uint32_t n = 0; n < ITEMS; n++) {
            wrong += there[n] != 0 && !insert(&ix, n, there[n]);
        }
    }
    is(index_bytes(&ix), bytes, "%s: emptied and filled again it takes no more memory", kind->name);
    for (uint32_t n = 0; n < ITEMS; n++) {
        wrong += find(&ix, n) != there[n];
        there[n] = 0;
    }
    is(wrong, 0, "%s: and holds the same", kind->name);
    index_fini(&ix);
}

static void test_a_walk_meets_lasting_items_while_others_come_and_go(uint64_t x) {
    static struct index ix;
    static bool there[ITEMS], met[STAY];
    index_init(&ix, kind, &pool, &arena->space);
    for (uint32_t n = 0; n < ITEMS / 2; n++) {
        insert(&ix, n, refs[n]);
        there[n] = true;
    }
    uint32_t chain[256];
    unsigned count = 0, missed = 0;
    for (uint32_t i = 0; index_chain(&ix, i, chain, 256, &count); i++) {
        for (unsigned j = 0; j < count; j++) {
            char name[40] = {0};
            const struct item *it = node_at(&arena->space, chain[j]);
            name[item_copy_key(it, name)] = 0;
            uint32_t n = (uint32_t)strtoul(name + 5, NULL, 10);
            if (n < STAY) {
                met[n] = true;
            }
        }
        for (int k = 0; k < 20; k++) {
            uint32_t n = STAY + (uint32_t)(tap_random(&x) % (ITEMS - STAY));
            if (!there[n]) {
                insert(&ix, n, refs[n]);
            } else if (tap_random(&x) % 4 != 0) { /* so that the index grows meanwhile */
                remove_item(&ix, n, refs[n]);
            } else {
                continue;
            }
            there[n] = !there[n];
        }
    }
    for (uint32_t n = 0; n < STAY; n++) {
        missed += !met[n];
        met[n] = false;
    }
    is(missed, 0, "%s: a walk meets all that was there for the whole of it, with %u items", kind->name, ix.item_count);
    memset(there, 0, sizeof there);
    index_fini(&ix);
}

/* --- hashes made to collide --- */

static uint64_t collided(const struct node *n) {
    (void)n;
    return UINT64_C(0x77000000002a);
}

static void test_colliding_hashes_are_refused_before_they_harm(void) {
    static struct index ix;
    struct node_space space = arena->space;
    space.hash_of = collided;
    index_init(&ix, kind, &pool, &space);
    uint64_t hash = collided(NULL);
    uint32_t put = 0, wrong = 0, chain[1024];
    while (put < ITEMS && index_insert(&ix, hash, refs[put])) {
        put++;
    }
    ok(put >= 16 && put < 1000, "%s: keys made to collide are refused after %u", kind->name, put);
    is(ix.item_count, put, "%s: and not counted", kind->name);
    uint32_t candidates[INDEX_CHAIN_MOST], rival_count = index_candidates(&ix, hash, candidates);
    ok(rival_count > 0 && rival_count <= put, "%s: one of %u is in the way", kind->name, rival_count);
    for (uint32_t i = 0; i < rival_count; i++) {
        index_remove(&ix, hash, candidates[i]);
        wrong += !index_insert(&ix, hash, candidates[i]);
    }
    is(wrong, 0, "%s: whichever leaves, another is taken", kind->name);
    for (uint32_t n = 0; n < put; n++) {
        struct key key = KEY_OF(n);
        key.hash = hash;
        wrong += index_find(&ix, &key) != refs[n];
    }
    is(wrong, 0, "%s: those that were taken are found", kind->name);
    unsigned seen = 0, count = 0;
    for (uint32_t i = 0; index_chain(&ix, i, chain, 1024, &count); i++) {
        seen += count;
    }
    is(seen, put, "%s: and walked", kind->name);
    char name[40];
    struct key other = key_of(1, name);
    ok(index_insert(&ix, ~hash, refs[ITEMS - 1]), "%s: another hash is still taken", kind->name);
    is(index_find(&ix, &other), 0, "%s: and another is still missed", kind->name);
    index_remove(&ix, ~hash, refs[ITEMS - 1]);
    for (uint32_t n = 0; n < put; n++) {
        index_remove(&ix, hash, refs[n]);
    }
    is(ix.item_count, 0, "%s: and all can be removed", kind->name);
    index_fini(&ix);
}

/* --- states visible to a reader while a bucket's last slot becomes a link --- */

static void test_the_number_of_a_bucket_is_not_taken_for_an_item(void) {
    enum { NUMBER = 3 };
    static struct index ix;
    char name[40], table[CHUNK];
    struct key key = key_of(1, name);
    struct index_lookup look;
    index_init(&ix, &index_bucket, &pool, &arena->space);
    insert(&ix, 1, refs[1]);
    struct index_line *b = (struct index_line *)index_array_segment(&ix.table, 0) + index_place_of(key.hash, ix.count);
    for (unsigned i = 0; i < SLOTS; i++) {
        if (slot_ref(b, i) == refs[1]) {
            uint8_t tag = slot_tag(b, i);
            slot_set(b, i, 0, 0);
            slot_set(b, SLOTS - 1, tag, NUMBER);
        }
    }
    char *at = node_at(&arena->space, NUMBER); /* in the page table, where bytes may look like the item by chance */
    memcpy(table, at, CHUNK);
    memcpy(at, node_at(&arena->space, refs[1]), CHUNK);
    is(index_find_from(&ix, &key, (struct index_hint){0}, &look), 0,
       "the number of an overflow bucket behind the tag of a key leads a reader to no item");
    is(index_guess(&ix, index_prefetch(&ix, key.hash)), 0, "nor to anything that it prefetches");
    is(index_guess_behind(&ix, key.hash, index_prefetch(&ix, key.hash)), 0, "nor behind it");
    memcpy(at, table, CHUNK);
    index_fini(&ix);
}

static void test_without_memory_nothing_is_lost(size_t left_bytes) {
    static struct index ix;
    struct index_pool small;
    index_pool_init(&small, 1 << 20, 0);
    index_pool_take(&small, small.bytes - left_bytes);
    uint32_t put = 0, wrong = 0;
    if (!index_init(&ix, kind, &small, &arena->space)) {
        ok(true, "%s: no index is made with %zu bytes", kind->name, left_bytes);
    } else {
        while (put < ITEMS && insert(&ix, put, refs[put])) {
            put++;
        }
        for (uint32_t n = 0; n < ITEMS; n++) {
            wrong += find(&ix, n) != (n < put ? refs[n] : 0);
        }
        is(wrong, 0, "%s: with %zu bytes it takes %u items and holds them", kind->name, left_bytes, put);
        wrong += walk_all(&ix) != put;
        for (uint32_t n = 0; n < put; n++) {
            remove_item(&ix, n, refs[n]);
        }
        is(wrong + ix.item_count, 0, "%s: and can be walked and emptied", kind->name);
    }
    index_fini(&ix);
    index_pool_fini(&small);
}

/* --- readers without a lock --- */

static struct index shared;
static _Atomic bool stop;
static pthread_barrier_t begun; /* each thread has done one look-up */

struct reader {
    uint64_t looks, false_misses, false_hits, seed;
    struct index_hint hints[2 * STAY]; /* the reader's keys, as they were some time before */
};

/* The first items are always there, at one place or the other: a valid look-up must find them. The last ones never are. */
static void *read_on(void *arg) {
    struct reader *r = arg;
    uint64_t x = r->seed;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        uint64_t random = tap_random(&x);
        bool stays = random >> 63;
        uint32_t n = (uint32_t)(random % STAY) + (stays ? 0 : ITEMS - STAY), ref;
        struct key key = KEY_OF(n);
        struct index_lookup look;
        struct index_hint *hint = &r->hints[n < STAY ? n : n - (ITEMS - 2 * STAY)];
        if (random >> 60 == 0) {
            *hint = index_prefetch(&shared, key.hash);
        }
        do {
            if (hint->at != NULL) {
                index_guess(&shared, *hint);
                index_guess_behind(&shared, key.hash, *hint);
            }
            ref = index_find_from(&shared, &key, *hint, &look);
        } while (!index_unchanged(&look));
        if (r->looks++ == 0) {
            pthread_barrier_wait(&begun);
        }
        r->false_misses += stays && ref != refs[n] && ref != copies[n];
        r->false_hits += !stays && ref != 0;
    }
    return NULL;
}

/* Grows from few items to many, changes them, and empties. Items that stay move from place to place. */
static void write_on(uint64_t x) {
    static bool there[ITEMS];
    for (uint32_t n = STAY; n < ITEMS - STAY; n++) {
        insert(&shared, n, refs[n]);
        there[n] = true;
    }
    for (int i = 0; i < CHANGES / 2; i++) {
        uint32_t n = STAY + (uint32_t)(tap_random(&x) % (ITEMS - 2 * STAY)), moved = n % STAY;
        there[n] ? remove_item(&shared, n, refs[n]) : (void)insert(&shared, n, refs[n]);
        there[n] = !there[n];
        uint32_t from = find(&shared, moved);
        replace(&shared, moved, from, from == refs[moved] ? copies[moved] : refs[moved]);
    }
    for (uint32_t n = STAY; n < ITEMS - STAY; n++) {
        if (there[n]) {
            remove_item(&shared, n, refs[n]);
        }
        there[n] = false;
    }
}

static void test_readers_without_a_lock_miss_nothing(uint64_t seed) {
    begin_with(&shared, STAY);
    pthread_t threads[2];
    static struct reader readers[2];
    memset(readers, 0, sizeof readers);
    readers[0].seed = seed;
    readers[1].seed = seed + 2;
    atomic_store(&stop, false);
    pthread_barrier_init(&begun, NULL, 3);
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, read_on, &readers[i]);
    }
    pthread_barrier_wait(&begun);
    write_on(seed);
    atomic_store(&stop, true);
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    is(readers[0].false_misses + readers[1].false_misses, 0, "%s: no false miss in %" PRIu64 " lock-free looks while it changes",
       kind->name, readers[0].looks + readers[1].looks);
    is(readers[0].false_hits + readers[1].false_hits, 0, "%s: and no false hit", kind->name);
    ok(readers[0].looks + readers[1].looks > 0, "%s: and there were looks", kind->name);
    index_fini(&shared);
}

static void test_a_lookup_notices_changes_since(void) {
    static struct index ix;
    char name[40];
    struct key key = key_of(7, name);
    struct index_lookup look;
    index_init(&ix, kind, &pool, &arena->space);
    is(index_find_from(&ix, &key, (struct index_hint){0}, &look), 0,
       "%s: a look at what is not there", kind->name);
    ok(index_unchanged(&look), "%s: holds as long as nothing happens", kind->name);
    index_insert(&ix, key.hash, refs[7]);
    ok(!index_unchanged(&look), "%s: and no longer once the key is there", kind->name);
    index_find_from(&ix, &key, (struct index_hint){0}, &look);
    _Atomic uint32_t *change = index_change_begin(index_hint_at(&ix, key.hash, refs[7]));
    ok(!index_unchanged(&look), "%s: a look does not hold while the item changes", kind->name);
    struct index_lookup within;
    index_find_from(&ix, &key, (struct index_hint){0}, &within);
    ok(!index_unchanged(&within), "%s: nor one that begins meanwhile", kind->name);
    index_version_end(change);
    ok(!index_unchanged(&look) && !index_unchanged(&within), "%s: nor after", kind->name);
    index_find_from(&ix, &key, (struct index_hint){0}, &look);
    index_replace(&ix, key.hash, refs[7], copies[7]);
    ok(!index_unchanged(&look), "%s: nor once the item is elsewhere", kind->name);
    index_find_from(&ix, &key, (struct index_hint){0}, &look);
    index_remove(&ix, key.hash, copies[7]);
    ok(!index_unchanged(&look), "%s: nor once it is gone", kind->name);
    index_fini(&ix);
}

static void test_a_change_of_a_key_holds_up_few_others(void) {
    enum { HELD_UP_MOST = 64 };
    static struct index ix;
    char name[40];
    uint32_t held_up = 0;
    begin_with(&ix, ITEMS);
    struct key key = key_of(7, name);
    _Atomic uint32_t *change = index_change_begin(index_hint_at(&ix, key.hash, refs[7]));
    for (uint32_t n = 0; n < ITEMS; n++) {
        struct index_lookup look;
        key = key_of(n, name);
        index_find_from(&ix, &key, (struct index_hint){0}, &look);
        held_up += !index_unchanged(&look);
    }
    index_version_end(change);
    ok(held_up > 0 && held_up <= HELD_UP_MOST, "%s: while one key of %d changes, looks for %u wait", kind->name, ITEMS, held_up);
    index_fini(&ix);
}

static void test_a_spot_serves_however_much_changes(void) {
    static struct index ix;
    static struct index_hint hints[ITEMS];
    uint32_t wrong = 0, gone = 0;
    index_init(&ix, kind, &pool, &arena->space);
    for (uint32_t n = 0; n < ITEMS; n++) {
        insert(&ix, n, refs[n]);
        hints[n] = index_prefetch(&ix, KEY_OF(n).hash);
    }
    for (uint32_t n = 0; n < ITEMS; n++) {
        struct key key = KEY_OF(n);
        struct index_lookup look;
        struct index_hint hint = hints[n];
        wrong += index_find_locked(&ix, &key, &hint) != refs[n];
        wrong += index_find_from(&ix, &key, hints[n], &look) != refs[n] || !index_unchanged(&look);
        _Atomic uint32_t *change = index_change_begin(hint);
        wrong += index_unchanged(&look);
        index_version_end(change);
    }
    is(wrong, 0, "%s: a hint from before the index grew finds its key", kind->name);
    for (uint32_t n = 0; n < ITEMS; n++) {
        struct key key = KEY_OF(n);
        index_remove(&ix, key.hash, refs[n]);
        struct index_hint hint = hints[n];
        gone += index_find_locked(&ix, &key, &hint) == 0;
    }
    is(gone, ITEMS, "%s: and misses it once it has gone", kind->name);
    index_fini(&ix);
}

/* A version counts for ever, whatever shares its word: here the counter is about to wrap. */
static void test_a_version_that_ends_begins_anew(void) {
    static struct index ix;
    enum { FULL = 680, TIMES = 64 };
    uint32_t wrong = 0;
    char name[40];
    begin_with(&ix, FULL);
    uint64_t hash = key_of(0, name).hash;
    _Atomic uint32_t *version = index_change_begin(index_hint_at(&ix, hash, refs[0]));
    atomic_fetch_add(version, (UINT32_MAX - atomic_load(version)) / (2 * INDEX_VERSION_ONE) * (2 * INDEX_VERSION_ONE) - TIMES / 2 * INDEX_VERSION_ONE);
    index_version_end(version);
    uint32_t before = atomic_load(version);
    for (int i = 0; i < TIMES; i++) {
        index_replace(&ix, hash, i % 2 == 0 ? refs[0] : copies[0], i % 2 == 0 ? copies[0] : refs[0]);
    }
    ok(atomic_load(version) < before, "%s: it has come to its end", kind->name);
    for (uint32_t n = 0; n < 2 * FULL; n++) {
        wrong += find(&ix, n) != (n < FULL ? refs[n] : 0);
    }
    is(wrong, 0, "%s: and all are where they were", kind->name);
    index_fini(&ix);
}

static void test_items_that_were_expected_are_moved_by_nobody(void) {
    static struct index ix;
    uint32_t wrong = 0;
    index_init(&ix, kind, &pool, &arena->space);
    index_expect(&ix, ITEMS);
    uint32_t lines = ix.count;
    for (uint32_t n = 0; n < ITEMS; n++) {
        insert(&ix, n, refs[n]);
    }
    is(ix.count, lines, "%s: it grows before the items come that are expected", kind->name);
    for (uint32_t n = 0; n < ITEMS; n++) {
        wrong += find(&ix, n) != refs[n];
    }
    is(wrong, 0, "%s: and has all of them", kind->name);
    index_fini(&ix);
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    clock_start();
    arena = arena_create(16u << 20, 0, false);
    for (uint32_t n = 0; n < ITEMS; n++) {
        refs[n] = make_item(n, n);
        copies[n] = make_item(n, ITEMS + (size_t)n);
    }
    for (int i = 0; (kind = index_kinds[i]) != NULL; i++) {
        index_pool_init(&pool, POOL_BYTES, 0);
        test_a_lookup_notices_changes_since();
        test_a_change_of_a_key_holds_up_few_others();
        test_a_spot_serves_however_much_changes();
        test_random_changes_match_a_plain_array(seed);
        test_a_walk_meets_lasting_items_while_others_come_and_go(seed);
        test_colliding_hashes_are_refused_before_they_harm();
        for (size_t left_bytes = 1024; left_bytes <= 65536; left_bytes *= 4) {
            test_without_memory_nothing_is_lost(left_bytes);
        }
        test_readers_without_a_lock_miss_nothing(seed);
        test_items_that_were_expected_are_moved_by_nobody();
        test_a_version_that_ends_begins_anew();
        if (kind == &index_bucket) {
            test_the_number_of_a_bucket_is_not_taken_for_an_item();
        }
        index_pool_fini(&pool);
    }
    ok(index_kind_find("bucket") == index_kinds[0] && index_kind_find("nothing") == NULL, "kinds are found by name, bucket is the default");
    arena_destroy(&arena);
    return tap_done();
}
