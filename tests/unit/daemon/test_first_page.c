/* A set that fits a page is never refused: in any mode of automove and any store, whether pages may move or not, when one size fills the
 * limit. The tuner has no thread here: it decides between the sets. */
#include "tap.h"

#include "cache/alloc/magazine.h"
#include "cache/partition.h"
#include "tune_fixture.h"

enum { MIB = 1 << 20, VALUE_MOST = 1000000 };

static char value[VALUE_MOST + 8];

/* A cache full of one size, and stores of other sizes. */
struct world {
    struct rig rig;
    uint64_t   next; /* the next key's number */
    unsigned   refused;
};

static void world_open(struct world *w, const struct cache_config *cfg, const char *mode) {
    struct tuner_config tc = rig_tuning();
    tc.automove = mode;
    tc.reassign = cfg->steal_pages;
    tc.policy_dir = "lua/slate/policies";
    w->next = w->refused = 0;
    rig_make(&w->rig, cfg, &tc);
    cache_turn_begin(w->rig.ct);
}

static void world_close(struct world *w) {
    cache_turn_end(w->rig.ct);
    rig_close(&w->rig);
}

/* Lets half a second pass. */
static void tend(struct world *w) {
    cache_turn_end(w->rig.ct);
    w->rig.now_us += 500 * 1000;
    tuner_tend_at(w->rig.t, w->rig.now_us);
    cache_turn_begin(w->rig.ct);
}

static void store(struct world *w, uint64_t n, enum cache_mode mode, size_t bytes) {
    struct key key = FIXTURE_KEY(n);
    struct cache_store s = {.mode = mode, .value = value, .value_bytes = (uint32_t)bytes};
    /* the item to append to may be evicted */
    w->refused += cache_store(w->rig.ct, &key, &s, NULL) == CACHE_NO_MEMORY;
}

static void fill_limit(struct world *w, size_t limit_bytes, size_t bytes) {
    for (uint64_t stored = 0; stored < limit_bytes + limit_bytes / 4; stored += bytes + 32) {
        store(w, w->next++, CACHE_SET, bytes);
        if (w->next % 5000 == 0) {
            tend(w);
        }
    }
}

/* Sets of every size in turn, values that grow from one byte to that size, and numbers that grow by a digit, so that they need another
 * class. */
static void ask_for_all_sizes(struct world *w) {
    static const size_t sizes[] = {1, 40, 100, 230, 600, 1500, 3000, 7000, 15000, 40000, 90000, 150000, 250000, 400000,
                                   500000, 600000, 800000, VALUE_MOST};
    enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 2 };
    for (unsigned i = 0; i < SIZES * ROUNDS; i++) {
        struct key number = FIXTURE_KEY(w->next++);
        struct cache_arith add = {.delta = 1};
        struct cache_view v;
        uint64_t grows = w->next++, sum;
        store(w, w->next++, CACHE_SET, sizes[i % SIZES]);
        store(w, grows, CACHE_SET, 1);
        store(w, grows, CACHE_APPEND, sizes[i % SIZES] - 1);
        w->refused += fixture_store_key(w->rig.ct, &number, "9999999999999999999", 19, NULL) == CACHE_NO_MEMORY;
        w->refused += cache_arith(w->rig.ct, &number, &add, &sum, &v) == CACHE_NO_MEMORY;
        tend(w);
    }
}

static void test_no_set_is_refused(enum cache_store_kind store_kind, const char *mode, bool reassign) {
    static const char *const stores[] = {"slab", "heap", "blocks"};
    static const struct {
        size_t limit_bytes, bytes;
    } full[] = {{4 * MIB, 200}, {4 * MIB, 11000}, {5 * MIB, 600000}};
    unsigned refused = 0, beyond = 0;
    fixture_store = store_kind;
    for (unsigned i = 0; i < sizeof full / sizeof *full; i++) {
        struct world w;
        struct cache_facts f;
        struct cache_config cfg = fixture_config(full[i].limit_bytes);
        cfg.steal_pages = reassign;
        cfg.partitions = 16;
        world_open(&w, &cfg, mode);
        fill_limit(&w, full[i].limit_bytes, full[i].bytes);
        ask_for_all_sizes(&w);
        cache_facts(w.rig.c, &f);
        refused += w.refused;
        beyond += f.pages_out > f.pages_limit + cache_slab(w.rig.c)->class_count;
        world_close(&w);
    }
    fixture_store = CACHE_STORE_SLAB;
    ok(refused == 0 && beyond == 0, "%s, %s, moves %s: no set that fits a page is refused, whatever size fills the limit, nor is more than a page a class over it",
       stores[store_kind], mode, reassign ? "on" : "off");
}

TEST(test_the_matrix) {
    for (int reassign = 0; reassign < 2; reassign++) {
        for (const struct automove_mode *const *mode = automove_modes; *mode != NULL; mode++) {
            test_no_set_is_refused(CACHE_STORE_SLAB, strchr((*mode)->name, ':') != NULL ? "lua:ratio" : (*mode)->name, reassign);
        }
        test_no_set_is_refused(CACHE_STORE_HEAP, "off", reassign);
        test_no_set_is_refused(CACHE_STORE_BLOCKS, "off", reassign);
    }
}

static bool is_there(struct world *w, uint64_t n, unsigned *class_id) {
    struct key key = FIXTURE_KEY(n);
    struct cache_view v;
    bool there = cache_peek(w->rig.ct, &key, &v) == CACHE_OK;
    *class_id = there ? v.class_id : 0;
    return there;
}

/* Pages of a class may hold nothing but ends of values that are in the queue of another class. */
TEST(test_pieces_give_way) {
    enum { LARGEST = 4096, END_BYTES = 1600, VALUES = 2000 };
    struct cache_config cfg = fixture_config(5 * MIB);
    struct world w;
    cfg.steal_pages = false;
    cfg.slab.chunk_bytes_max = LARGEST;
    world_open(&w, &cfg, "off");
    struct slab *slab = cache_slab(w.rig.c);
    unsigned class_id = slab_class_of(slab, END_BYTES + ITEM_TAIL_HEADER), kept = 0, its;
    while (w.next < VALUES) {
        store(&w, w.next++, CACHE_SET, LARGEST - ITEM_TAIL_HEADER + END_BYTES);
    }
    ok(slab_pages_beyond(slab, class_id, 0) > 0 && !slab_has_free(slab, class_id), "a class is full of other values' ends");
    store(&w, w.next, CACHE_SET, END_BYTES - 50);
    ok(is_there(&w, w.next, &its) && its == class_id, "a value of its own is stored there");
    for (uint64_t n = 0; n < VALUES; n++) {
        kept += is_there(&w, n, &its);
    }
    ok(w.refused == 0 && kept > 0, "none was refused, and %u others are kept", kept);
    world_close(&w);
}

/* Chunks in magazines serve other partitions when the class has no others. */
TEST(test_magazines_give_way) {
    struct cache_config cfg = fixture_config(2 * MIB);
    struct world w;
    cfg.steal_pages = false;
    cfg.partitions = 256;
    world_open(&w, &cfg, "off");
    fill_limit(&w, 2 * MIB, 100000);
    for (uint64_t first = w.next; w.next < first + 4000; w.next++) { /* each item is deleted; its chunk stays in its partition */
        store(&w, w.next, CACHE_SET, 2000);
        fixture_delete(w.rig.ct, w.next);
    }
    is(w.refused, 0, "no set is refused because other partitions have all free chunks of its class at hand");
    world_close(&w);
}

TEST(test_pages_over_the_limit_go_back) {
    struct cache_config cfg = fixture_config(24 * MIB);
    struct world w;
    cfg.steal_pages = false;
    world_open(&w, &cfg, "off");
    fill_limit(&w, 24 * MIB, 11000);
    ask_for_all_sizes(&w);
    uint32_t over = limit_pages_over(w.rig.t);
    ok(over > 5 && over <= cache_slab(w.rig.c)->class_count, "without page moves %u first pages are over the limit, and counted", over);
    tend(&w);
    is(limit_pages_over(w.rig.t), over, "they stay");
    struct tuner_config tc = rig_tuning();
    tuner_destroy(&w.rig.t);
    w.rig.t = tuner_create(w.rig.c, &tc);
    tend(&w);
    is(limit_pages_over(w.rig.t), 0, "once pages may move, all are given back");
    world_close(&w);
}

TEST(test_without_evictions_a_set_is_refused) {
    struct cache_config cfg = fixture_config(4 * MIB);
    struct world w;
    cfg.steal_pages = cfg.evict = false;
    world_open(&w, &cfg, "off");
    fill_limit(&w, 4 * MIB, 600000);
    ok(w.refused > 0, "-M: a store that needs an eviction is refused, also where smaller chunks could hold its pieces");
    w.refused = 0;
    store(&w, w.next++, CACHE_SET, 1000);
    is(w.refused, 0, "-M: a class's first page is not");
    world_close(&w);
}

int main(void) {
    clock_start();
    fixture_patience_us = 0; /* no other thread could free memory meanwhile */
    memset(value, '7', sizeof value);
    return tap_main();
}
