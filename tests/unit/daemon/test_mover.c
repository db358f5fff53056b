/* Pages change classes: what lives in them survives when there is room, and what is in use stops the move. */
#include "tap.h"

#include "cache_fixture.h"
#include "tune/mover.h"

enum { VALUE_MAX = 1 << 20 };

struct rig {
    struct cache        *cache;
    struct slab         *slab;
    struct cache_thread *client, *ct; /* ct: the mover's */
    struct mover         mover;
    char                *value, *read;
};

static void rig_open(struct rig *r, size_t limit_bytes) {
    struct cache_config cfg = fixture_config(limit_bytes);
    r->cache = cache_create(&cfg);
    r->slab = cache_slab(r->cache);
    r->client = cache_thread_create(r->cache);
    r->ct = cache_thread_create(r->cache);
    r->value = malloc(VALUE_MAX);
    r->read = malloc(VALUE_MAX + 16);
    mover_init(&r->mover, r->cache, r->ct);
}

static void rig_close(struct rig *r) {
    free(r->value);
    free(r->read);
    cache_thread_destroy(&r->ct);
    cache_thread_destroy(&r->client);
    cache_destroy(&r->cache);
}

static uint32_t pages_of(const struct rig *r, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(r->slab, class_id, &f);
    return f.pages;
}

static enum cache_status set(struct rig *r, uint64_t n, size_t bytes) {
    fixture_value(r->value, bytes, n, bytes);
    cache_turn_begin(r->client);
    enum cache_status status = fixture_set(r->client, n, r->value, bytes);
    cache_turn_end(r->client);
    return status;
}

/* Whether the key is there; a wrong value counts in *wrong. */
static bool get(struct rig *r, uint64_t n, size_t bytes, unsigned *wrong) {
    cache_turn_begin(r->client);
    long got = fixture_get(r->client, n, r->read);
    cache_turn_end(r->client);
    fixture_value(r->value, bytes, n, bytes);
    *wrong += got >= 0 && ((size_t)got != bytes || memcmp(r->read, r->value, bytes) != 0);
    return got >= 0;
}

static void drop(struct rig *r, uint64_t n) {
    char name[64];
    struct key key = fixture_key(name, n);
    struct cache_delete d = {0};
    cache_turn_begin(r->client);
    cache_delete(r->client, &key, &d);
    cache_turn_end(r->client);
}

/* The class that items of so many bytes live in. */
static unsigned class_of(struct rig *r, size_t bytes) {
    char name[64];
    struct key key = fixture_key(name, 999999);
    struct cache_view v = {0};
    set(r, 999999, bytes);
    cache_turn_begin(r->client);
    cache_peek(r->client, &key, &v);
    cache_turn_end(r->client);
    drop(r, 999999);
    return v.class_id;
}

static void test_rescues_when_there_is_room(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { ITEMS = 8000, BYTES = 1000 };
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 100), wrong = 0, kept = 0, wanted = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, BYTES);
    }
    for (unsigned i = 0; i < ITEMS; i++) {
        if (i % 3 != 0) {
            drop(&r, i);
        }
    }
    uint32_t had = pages_of(&r, from), had_to = pages_of(&r, to);
    unsigned moved = mover_move(&r.mover, from, to, 4);
    is(moved, 4, "four pages move at once");
    is(pages_of(&r, from), had - 4, "the giver has four less");
    is(pages_of(&r, to), had_to + 4, "the receiver has four more");
    for (unsigned i = 0; i < ITEMS; i += 3) {
        wanted++;
        kept += get(&r, i, BYTES, &wrong);
    }
    is(kept, wanted, "every live item is still there");
    is(wrong, 0, "with its value");
    ok(r.mover.rescues > 0 && r.mover.evictions == 0, "by copying, not by evicting (%" PRIu64 " copied)", r.mover.rescues);
    uint32_t pool = arena_pages_free(r.slab->arena);
    is(mover_move(&r.mover, to, SLAB_CLASS_NONE, 1), 1, "a page goes to the pool");
    is(arena_pages_free(r.slab->arena), pool + 1, "which has one more");
    is(mover_move(&r.mover, SLAB_CLASS_NONE, from, 2), 2, "and two come from it");
    is(arena_pages_free(r.slab->arena), pool - 1, "which then has two less");
    rig_close(&r);
}

static void test_keeps_the_last_page(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    unsigned from = class_of(&r, 1000), wrong = 0;
    set(&r, 1, 1000);
    is(pages_of(&r, from), 1, "a class with one page");
    is(mover_move(&r.mover, from, class_of(&r, 100), 1), 0, "does not give it");
    ok(get(&r, 1, 1000, &wrong) && wrong == 0, "and keeps its item");
    rig_close(&r);
}

static void test_chained_values_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { ITEMS = 20, BYTES = 700000 };
    unsigned wrong = 0, kept = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, BYTES + i);
    }
    for (unsigned i = 0; i < ITEMS; i += 2) {
        drop(&r, i);
    }
    unsigned moved = 0;
    for (unsigned c = 1; c <= r.slab->class_count; c++) {
        moved += mover_move(&r.mover, c, SLAB_CLASS_NONE, 1); /* the others have room for what it holds */
    }
    for (unsigned i = 1; i < ITEMS; i += 2) {
        kept += get(&r, i, BYTES + i, &wrong);
    }
    ok(moved > 0 && r.mover.chunk_rescues > 0, "pieces of chained values move (%" PRIu64 ")", r.mover.chunk_rescues);
    is(kept, ITEMS / 2, "no chained value is lost");
    is(wrong, 0, "nor damaged");
    rig_close(&r);
}

static void test_pages_sent_to_the_pool_stay_there(void) {
    struct rig r;
    rig_open(&r, 32u << 20);
    unsigned from = class_of(&r, 3000), wrong = 0;
    for (unsigned i = 0; i < 5000; i++) {
        set(&r, i, 3000);
    }
    uint32_t pages = pages_of(&r, from), pool = arena_pages_free(r.slab->arena);
    is(mover_move(&r.mover, from, SLAB_CLASS_NONE, 5), 5, "five pages of a full class go to the pool");
    is(pages_of(&r, from), pages - 5, "and the class does not take them back for what they held");
    is(arena_pages_free(r.slab->arena), pool + 5, "so the pool has them");
    for (unsigned i = 0; i < 5000; i++) {
        get(&r, i, 3000, &wrong);
    }
    is(wrong, 0, "what is left is right");
    rig_close(&r);
}

static void test_what_was_read_outlives_a_move_of_a_full_class(void) {
    struct rig r;
    rig_open(&r, 16u << 20);
    enum { ITEMS = 6000, EVERY = 10 };
    unsigned from = class_of(&r, 1000), wrong = 0, kept = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, 1000);
    }
    for (unsigned i = 0; i < ITEMS; i += EVERY) {
        get(&r, i, 1000, &wrong), get(&r, i, 1000, &wrong), get(&r, i, 1000, &wrong);
    }
    is(mover_move(&r.mover, from, SLAB_CLASS_NONE, 3), 3, "pages of a class without a free chunk move");
    for (unsigned i = 0; i < ITEMS; i += EVERY) {
        kept += get(&r, i, 1000, &wrong);
    }
    ok(kept >= ITEMS / EVERY * 99 / 100, "what was read stays (%u of %d), what was not makes room", kept, ITEMS / EVERY);
    rig_close(&r);
}

static void test_drops_when_memory_is_full(void) {
    struct rig r;
    rig_open(&r, 8u << 20);
    unsigned wrong = 0, kept = 0;
    enum { ITEMS = 9000, BYTES = 1000 };
    unsigned from = class_of(&r, BYTES), to = class_of(&r, 100);
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, BYTES);
    }
    is(arena_pages_free(r.slab->arena), 0, "memory is full");
    is(mover_move(&r.mover, from, to, 2), 2, "pages move all the same");
    ok(r.mover.evictions > 0, "what they held is dropped (%" PRIu64 " items)", r.mover.evictions);
    for (unsigned i = 0; i < ITEMS; i++) {
        kept += get(&r, i, BYTES, &wrong);
    }
    is(wrong, 0, "no value is damaged");
    ok(kept > 1000, "the other pages' items stay (%u)", kept);
    rig_close(&r);
}

static void test_slow_reader_stops_a_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { BYTES = 5000, ITEMS = 500 };
    unsigned from = class_of(&r, BYTES), wrong = 0;
    struct cache_view views[ITEMS] = {0};
    for (unsigned i = 0; i < ITEMS; i++) {
        set(&r, i, BYTES);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < ITEMS; i++) { /* every item is being sent */
        char name[64];
        struct key key = fixture_key(name, i);
        struct cache_fetch f = {.want_value = true};
        cache_fetch(r.client, &key, &f, r.read, &views[i]);
    }
    cache_turn_end(r.client);
    uint32_t had = pages_of(&r, from);
    is(mover_move(&r.mover, from, class_of(&r, 100), 1), 0, "a page whose items are being sent does not move");
    is(r.mover.given_up, 1, "the move is given up and counted");
    is_str(r.mover.last_busy, "reader", "with the reason");
    ok(pages_of(&r, from) >= had, "the page stays with its class");
    cache_turn_begin(r.client);
    unsigned damaged = 0;
    for (unsigned i = 0; i < ITEMS; i++) {
        struct iovec iov[4];
        fixture_value(r.value, BYTES, i, BYTES);
        int pieces = views[i].borrowed ? cache_value_iov(r.client, views[i].borrowed, 0, iov, 4) : 0;
        damaged += pieces != 1 || memcmp(iov[0].iov_base, r.value, BYTES) != 0;
        cache_return(r.client, views[i].borrowed);
    }
    cache_turn_end(r.client);
    is(damaged, 0, "the reader's values are whole");
    ok(get(&r, 7, BYTES, &wrong) && wrong == 0, "and the items are still there");
    is(mover_move(&r.mover, from, class_of(&r, 100), 1), 1, "when it is done, another page moves");
    rig_close(&r);
}

static void test_draft_stops_a_move(void) {
    struct rig r;
    rig_open(&r, 64u << 20);
    enum { BYTES = 300000 };
    unsigned from = class_of(&r, BYTES);
    for (unsigned i = 0; i < 8; i++) {
        set(&r, i, BYTES);
    }
    char name[64];
    struct key key = fixture_key(name, 77);
    struct cache_store s = {.mode = CACHE_SET, .value_bytes = BYTES};
    enum { DRAFTS = 8 };
    struct item *drafts[DRAFTS] = {0};
    for (unsigned i = 0; i < 8; i++) {
        drop(&r, i);
    }
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_reserve(r.client, &key, &s, &drafts[i]);
    }
    cache_turn_end(r.client);
    is(mover_move(&r.mover, from, class_of(&r, 100), 1), 0, "a page with half-received values does not move");
    is_str(r.mover.last_busy, "draft", "the reason says so");
    cache_turn_begin(r.client);
    for (unsigned i = 0; i < DRAFTS; i++) {
        cache_abandon(r.client, drafts[i]);
    }
    cache_turn_end(r.client);
    is(mover_move(&r.mover, from, class_of(&r, 100), 1), 1, "once they are abandoned, another page does");
    rig_close(&r);
}

int main(void) {
    clock_start();
    test_rescues_when_there_is_room();
    test_keeps_the_last_page();
    test_chained_values_move();
    test_pages_sent_to_the_pool_stay_there();
    test_what_was_read_outlives_a_move_of_a_full_class();
    test_drops_when_memory_is_full();
    test_slow_reader_stops_a_move();
    test_draft_stops_a_move();
    return tap_done();
}
