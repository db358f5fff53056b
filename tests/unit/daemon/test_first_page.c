/* A set that fits a page is never refused: in any mode of automove and any store, whether pages may move or not, when the limit is
 * full of one size. Nothing here runs on a thread: a tuner without one decides between the sets. */
#include "tap.h"

#include "cache/partition.h"
#include "cache/stock.h"
#include "tune_fixture.h"

enum { MIB = 1 << 20, VALUE_MOST = 1000000 };

static char value[VALUE_MOST + 8];

/* A cache that is full of one size, and who asks for others. */
struct world {
    struct cache        *c;
    struct cache_thread *ct;
    struct tuner        *t;
    uint64_t             now_us, next; /* the next key's number */
    unsigned             refused;
};

static void world_open(struct world *w, size_t limit_bytes, const char *mode, bool reassign) {
    struct cache_config cfg = fixture_config(limit_bytes);
    struct tune_config tc = config(mode);
    cfg.steal_pages = tc.reassign = reassign;
    cfg.partitions = 16;
    tc.by_hand = true;
    tc.policy_dir = "lua/slate/policies";
    *w = (struct world){.c = cache_create(&cfg), .now_us = 1};
    w->ct = cache_thread_create(w->c);
    w->t = tuner_create(w->c, &tc);
    cache_turn_begin(w->ct);
}

static void world_close(struct world *w) {
    cache_turn_end(w->ct);
    tuner_destroy(&w->t);
    fixture_end(&w->c, &w->ct);
}

/* Half a second passes. */
static void tend(struct world *w) {
    if (w->t != NULL) {
        cache_turn_end(w->ct);
        w->now_us += 500 * 1000;
        tuner_tend_at(w->t, w->now_us);
        cache_turn_begin(w->ct);
    }
}

static void store(struct world *w, uint64_t n, enum cache_mode mode, size_t bytes) {
    struct key key = FIXTURE_KEY(n);
    struct cache_store s = {.mode = mode, .value = value, .value_bytes = (uint32_t)bytes};
    /* an append may find nothing: what it is for is evicted like others */
    w->refused += cache_store(w->ct, &key, &s, NULL) == CACHE_NO_MEMORY;
}

static void fill_limit(struct world *w, size_t limit_bytes, size_t bytes) {
    for (uint64_t stored = 0; stored < limit_bytes + limit_bytes / 4; stored += bytes + 32) {
        store(w, w->next++, CACHE_SET, bytes);
        if (w->next % 5000 == 0) {
            tend(w);
        }
    }
}

/* A number that grows by a digit, into the chunk of another class. */
static void count_up(struct world *w) {
    struct key key = FIXTURE_KEY(w->next++);
    struct cache_arith add = {.delta = 1};
    struct cache_view v;
    uint64_t number;
    w->refused += fixture_store_key(w->ct, &key, "9999999999999999999", 19, NULL) == CACHE_NO_MEMORY;
    w->refused += cache_arith(w->ct, &key, &add, &number, &v) == CACHE_NO_MEMORY;
}

/* Sets of every size in turn, and values that grow from one byte to that size. */
static void ask_for_all_sizes(struct world *w) {
    static const size_t sizes[] = {1, 40, 100, 230, 600, 1500, 3000, 7000, 15000, 40000, 90000, 150000, 250000, 400000,
                                   500000, 600000, 800000, VALUE_MOST};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 4 };
    for (unsigned i = 0; i < SIZES * ROUNDS; i++) {
        uint64_t grows = w->next++;
        store(w, w->next++, CACHE_SET, sizes[i % SIZES]);
        store(w, grows, CACHE_SET, 1);
        store(w, grows, CACHE_APPEND, sizes[i % SIZES] - 1);
        count_up(w);
        tend(w);
    }
}

static void test_no_set_is_refused(enum cache_store_kind store_kind, const char *mode, bool reassign) {
    static const char *const stores[] = {"slab", "heap", "blocks"};
    static const struct {
        size_t limit_bytes, bytes;
    } full[] = {{4 * MIB, 60}, {4 * MIB, 11000}, {9 * MIB, 1000}, {4 * MIB, 600000}, {9 * MIB, 100000}, {9 * MIB, 600000}};
    unsigned refused = 0, beyond = 0;
    fixture_store = store_kind;
    for (unsigned i = 0; i < sizeof full / sizeof *full; i += TAP_SLOWER > 1 ? 3 : 1) {
        struct world w;
        struct cache_facts f;
        world_open(&w, full[i].limit_bytes, mode, reassign);
        fill_limit(&w, full[i].limit_bytes, full[i].bytes);
        ask_for_all_sizes(&w);
        cache_facts(w.c, &f);
        refused += w.refused;
        beyond += f.pages_out > f.pages_limit + w.c->slab->class_count;
        world_close(&w);
    }
    fixture_store = CACHE_STORE_SLAB;
    is(refused, 0, "%s, %s, moves %s: no set that fits a page is refused, whatever size fills the limit", stores[store_kind], mode,
       reassign ? "on" : "off");
    is(beyond, 0, "and no more than a page a class is over the limit");
}

static void test_the_matrix(void) {
    for (const struct automove_mode *const *mode = automove_modes; *mode != NULL; mode++) {
        const char *name = strchr((*mode)->name, ':') != NULL ? "lua:ratio" : (*mode)->name;
        test_no_set_is_refused(CACHE_STORE_SLAB, name, true);
        test_no_set_is_refused(CACHE_STORE_SLAB, name, false);
    }
    for (int reassign = 0; reassign < 2; reassign++) {
        test_no_set_is_refused(CACHE_STORE_HEAP, "off", reassign);
        test_no_set_is_refused(CACHE_STORE_BLOCKS, "off", reassign);
    }
}

/* Pages of a class may hold nothing but ends of values that are in the queue of another class. */
static void test_pieces_give_way(void) {
    enum { LARGEST = 4096, END_BYTES = 1600, VALUES = 2000 };
    struct cache_config cfg = fixture_config(5 * MIB);
    struct world w = {.next = 0};
    char name[64];
    struct cache_view v;
    cfg.steal_pages = false;
    cfg.slab.chunk_bytes_max = LARGEST;
    w.c = cache_create(&cfg);
    w.ct = cache_thread_create(w.c);
    cache_turn_begin(w.ct);
    unsigned class_id = slab_class_of(w.c->slab, END_BYTES + TAIL_HEADER), kept = 0;
    while (w.next < VALUES) {
        store(&w, w.next++, CACHE_SET, LARGEST - TAIL_HEADER + END_BYTES);
    }
    ok(slab_pages_beyond(w.c->slab, class_id, 0) > 0 && !slab_has_free(w.c->slab, class_id), "a class is full of other values' ends");
    store(&w, w.next, CACHE_SET, END_BYTES - 50);
    struct key key = fixture_key(name, w.next);
    ok(cache_peek(w.ct, &key, &v) == CACHE_OK && v.class_id == class_id, "a value of its own is stored there");
    for (uint64_t n = 0; n < VALUES; n++) {
        key = fixture_key(name, n);
        kept += cache_peek(w.ct, &key, &v) == CACHE_OK;
    }
    is(w.refused, 0, "none was refused, and %u others are kept", kept);
    cache_turn_end(w.ct);
    fixture_end(&w.c, &w.ct);
}

/* Chunks that partitions have at hand serve other partitions when the class has nothing else. */
static void test_stocks_give_way(void) {
    struct cache_config cfg = fixture_config(2 * MIB);
    cfg.steal_pages = false;
    cfg.partitions = 256;
    struct world w = {.c = cache_create(&cfg)};
    w.ct = cache_thread_create(w.c);
    cache_turn_begin(w.ct);
    fill_limit(&w, 2 * MIB, 100000);
    for (uint64_t first = w.next; w.next < first + 4000; w.next++) { /* each is deleted: its chunk stays with its partition */
        struct key key = FIXTURE_KEY(w.next);
        store(&w, w.next, CACHE_SET, 2000);
        cache_delete(w.ct, &key, &(struct cache_delete){0});
    }
    is(w.refused, 0, "no set is refused because other partitions have all free chunks of its class at hand");
    cache_turn_end(w.ct);
    fixture_end(&w.c, &w.ct);
}

static void test_what_is_over_goes_back(void) {
    struct world w;
    world_open(&w, 24 * MIB, "off", false);
    fill_limit(&w, 24 * MIB, 11000);
    ask_for_all_sizes(&w);
    uint32_t over = tuner_pages_over(w.t);
    ok(over > 5 && over <= w.c->slab->class_count, "without page moves %u first pages are over the limit, and told", over);
    tuner_tend_at(w.t, w.now_us);
    is(tuner_pages_over(w.t), over, "they stay");
    struct tune_config tc = config("off");
    tc.by_hand = true;
    tuner_destroy(&w.t);
    w.t = tuner_create(w.c, &tc);
    cache_turn_end(w.ct);
    tuner_tend_at(w.t, w.now_us);
    cache_turn_begin(w.ct);
    is(tuner_pages_over(w.t), 0, "once pages may move, all are given back");
    world_close(&w);
}

static void test_without_evictions_a_set_is_refused(void) {
    struct cache_config cfg = fixture_config(4 * MIB);
    cfg.steal_pages = cfg.evict = false;
    struct world w = {.c = cache_create(&cfg)};
    w.ct = cache_thread_create(w.c);
    cache_turn_begin(w.ct);
    fill_limit(&w, 4 * MIB, 600000);
    ok(w.refused > 0, "-M: what would need an eviction is refused, also where smaller chunks could hold its pieces");
    w.refused = 0;
    store(&w, w.next++, CACHE_SET, 1000);
    is(w.refused, 0, "-M: a class's first page is not");
    cache_turn_end(w.ct);
    fixture_end(&w.c, &w.ct);
}

int main(void) {
    clock_start();
    fixture_patience_us = 0; /* nobody else could give memory back meanwhile */
    memset(value, '7', sizeof value);
    test_the_matrix();
    test_pieces_give_way();
    test_stocks_give_way();
    test_what_is_over_goes_back();
    test_without_evictions_a_set_is_refused();
    return tap_done();
}
