/* The victim of a full class whose items are too large for magazines: the oldest item of all partitions, whatever was noted earlier. */
#include "tap.h"

#include "cache/partition.h"
#include "cache_fixture.h"

enum { PARTITIONS = 16, VALUE_BYTES = 9000, ITEMS = 1000, LIMIT_BYTES = 2 << 20 };

static struct cache *cache;
static struct cache_thread *ct;
static char value[VALUE_BYTES], to[VALUE_BYTES + 8];

static bool lives(uint64_t n) {
    struct key key = FIXTURE_KEY(n);
    struct cache_view view;
    return cache_peek(ct, &key, &view) == CACHE_OK;
}

/* One store a second. */
static void store(uint64_t n) {
    fixture_next_turn(ct, 1);
    if (fixture_set(ct, n, value, sizeof value) != CACHE_OK) {
        ok(false, "item %" PRIu64 " is stored", n);
    }
}

/* Stores until the first item is evicted; returns the number of items then. */
static uint64_t fill(void) {
    uint64_t n = 0;
    while (n < ITEMS && (n == 0 || lives(0))) {
        store(n++);
    }
    return n - 1;
}

static uint64_t gone_before(uint64_t end) {
    uint64_t gone = 0;
    while (gone < end && !lives(gone)) {
        gone++;
    }
    return gone;
}

static void begin(void) {
    struct cache_config config = fixture_config(LIMIT_BYTES);
    config.partitions = PARTITIONS;
    config.policy = &evict_fifo;
    cache = cache_create(&config);
    ct = cache_thread_create(cache);
    cache_turn_begin(ct);
}

static void end(void) {
    cache_turn_end(ct);
    fixture_end(&cache, &ct);
}

TEST(test_the_oldest_of_all_partitions_goes) {
    begin();
    uint64_t room = fill(), wrong = 0;
    ok(room > 4 * PARTITIONS && room < ITEMS, "the cache has room for %" PRIu64 " items", room);
    for (uint64_t n = room + 1; n < ITEMS; n++) {
        store(n);
        wrong += gone_before(n) != n - room + 1 || !lives(n - room + 1);
    }
    is(wrong, 0, "each store of %" PRIu64 " evicts the oldest", ITEMS - room - 1);
    end();
}

TEST(test_the_note_of_a_read_item_is_not_believed) {
    begin();
    uint64_t room = fill(), kept = 0, wrong = 0;
    for (uint64_t n = room + 1; n < room + 1 + PARTITIONS / 2; n++) {
        uint64_t oldest = n - room + kept;
        while (!lives(oldest)) {
            oldest++;
        }
        wrong += fixture_get(ct, oldest, to) != VALUE_BYTES;
        store(n);
        kept += lives(oldest);
    }
    is(wrong, 0, "the oldest items are read, one before each store");
    is(kept, PARTITIONS / 2, "and another partition's goes each time");
    end();
}

TEST(test_an_item_that_left_is_not_looked_for) {
    begin();
    uint64_t room = fill(), refused = 0;
    for (uint64_t n = 1; n <= room; n++) {
        fixture_delete(ct, n);
    }
    for (uint64_t n = 0; n < 2 * room; n++) {
        refused += fixture_set(ct, ITEMS + n, value, VALUE_BYTES) != CACHE_OK;
    }
    is(refused, 0, "emptied behind the notes, the class takes twice the items that it has room for");
    end();
}

int main(void) {
    clock_start();
    return tap_main();
}
