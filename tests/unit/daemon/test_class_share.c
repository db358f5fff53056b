/* The share of each class in a cache of another size, where every class keeps a page. */
#include "tap.h"

#include <math.h>

#include "base/key.h"
#include "sample/class_share.h"

enum { PAGE = 1 << 20, ITEM_BYTES = 1024, MANY = 20, LARGE = 1, READS = 200000 };

static uint64_t hash_of(uint64_t n) { return key_hash((const char *)&n, sizeof n); }
static void key_read(struct curve *c, uint64_t hash, unsigned class_id, uint32_t bytes) {
    curve_read(c, (struct curve_use){.hash = hash, .class_id = class_id, .bytes = bytes}, false, 1);
}
static bool near(double a, double b) { return fabs(a - b) <= 0.05 * b; }

/* Uniform reads of as many keys as fill so many pages, so that the class's hits grow with its bytes. */
static void read_class(struct curve *c, unsigned class_id, double pages, uint64_t *x) {
    uint64_t keys = (uint64_t)(pages * PAGE / ITEM_BYTES);
    for (unsigned i = 0; i < READS; i++) {
        tap_random(x);
        key_read(c, hash_of((uint64_t)class_id << 32 | *x % keys), class_id, ITEM_BYTES);
    }
}

static void test_a_class_keeps_a_page(uint64_t x) {
    struct curve *c = curve_create(1 << 16, 8);
    struct share_classes k = {.page_bytes = PAGE};
    k.bytes[LARGE] = MANY * PAGE;
    ok(near(share_at(c, &k, MANY * PAGE, 0.5, 1), MANY / 2 * PAGE), "nothing was read: half of it is half");
    read_class(c, LARGE, MANY, &x);
    ok(near(share_at(c, &k, MANY * PAGE, 0.5, 1), MANY / 2 * PAGE), "one class: half of it is half");
    for (unsigned i = 0; i < MANY; i++) {
        k.bytes[LARGE + 1 + i] = PAGE; /* unread, but present */
    }
    double bytes = share_at(c, &k, 2 * MANY * PAGE, 0.55, 1);
    ok(near(bytes, 2 * MANY * PAGE * 0.1), "%d pages of which the large class has two: as if all had a tenth, %.2f pages", MANY + 2, bytes / PAGE);
    bytes = share_at(c, &k, 2 * MANY * PAGE, 0.25, 1);
    ok(near(bytes, 2 * MANY * PAGE * 0.05), "fewer pages than classes: one is left to it, and all count as a twentieth, %.2f pages", bytes / PAGE);
    ok(share_at(c, &k, 4 * MANY * PAGE, 0.75, 1) >= 3 * MANY * PAGE, "pages that nobody has yet are there first");
    ok(near(share_at(c, &k, 2 * MANY * PAGE, 2, 1), 4 * MANY * PAGE), "twice of it is twice");
    ok(near(share_at(c, &k, MANY * PAGE, 1, 1), 2 * MANY * PAGE), "classes that hold more than the limit have it");
    curve_destroy(&c);
}

static void test_idle_chunks_go_first(uint64_t x) {
    struct curve *c = curve_create(1 << 16, 8);
    struct share_classes k = {.page_bytes = PAGE};
    k.bytes[LARGE] = MANY * PAGE;
    k.idle[LARGE] = 0.6 * MANY * PAGE;
    read_class(c, LARGE, 0.4 * MANY, &x);
    ok(near(share_at(c, &k, MANY * PAGE, 1, 1), 0.5 * MANY * PAGE), "six tenths idle count as half");
    ok(near(share_at(c, &k, MANY * PAGE, 0.5, 1), 0.4 * MANY * PAGE), "the used part has room in half of it");
    ok(near(share_at(c, &k, MANY * PAGE, 2, 1), 1.4 * MANY * PAGE), "and twice of it has as much idle");
    curve_destroy(&c);
}

static void test_large_items_stand_apart(void) {
    struct curve *c = curve_create(1 << 10, 8);
    struct share_classes k = {.page_bytes = PAGE};
    k.bytes[LARGE] = MANY * PAGE;
    k.chunk_bytes[LARGE] = ITEM_BYTES;
    k.bytes[LARGE + 1] = PAGE;
    k.chunk_bytes[LARGE + 1] = PAGE / 8.0;
    ok(!share_apart(&k, LARGE + 1, 0.5) && share_apart(&k, LARGE + 1, 0.2), "eight items: with half of them sampled their class does not stand apart, with a fifth it does");
    ok(!share_apart(&k, LARGE, 0.001) && !share_apart(&k, LARGE + 2, 0.001), "many items do at any rate, and a class without pages waits for some");
    ok(near(share_at(c, &k, (MANY + 1) * PAGE, 1, 0.2), MANY * PAGE), "a class that stands apart keeps its page");
    ok(near(share_at(c, &k, (MANY + 1) * PAGE, 2, 0.2), 2 * MANY * PAGE), "and grows like others");
    curve_destroy(&c);
}

int main(void) {
    uint64_t seed = tap_sample_seed() | 1;
    test_a_class_keeps_a_page(seed);
    test_idle_chunks_go_first(seed);
    test_large_items_stand_apart();
    return tap_done();
}
