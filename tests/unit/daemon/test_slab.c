/* Sets of class ids, and the slab store: class sizes, chunks in and out, pages that drain and change hands, memory given back. */
#include "tap.h"

#include <errno.h>
#include <sys/mman.h>

#include "mem/class_set.h"
#include "mem/slab.h"

static const struct slab_config defaults = {.chunk_bytes_min = 80, .growth_factor = 1.25, .chunk_bytes_max = 512 << 10};

TEST(test_sizes) {
    struct arena *a = arena_create(64u << 20, 0, false);
    struct slab *s = slab_create(a, &defaults);
    uint32_t last = 0;
    unsigned bad = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        uint32_t bytes = s->classes[i].chunk_bytes;
        bad += bytes <= last || bytes % 8 != 0 || slab_class_of(s, bytes) != i || slab_class_of(s, last + 1) != i;
        last = bytes;
    }
    is(bad, 0, "%u classes ascend, are aligned, and each size finds its class", s->class_count);
    ok(s->classes[1].chunk_bytes == 80 && last == 512 << 10, "the first has the smallest requested size, the last the largest chunk");
    is(slab_class_of(s, (512 << 10) + 1), SLAB_CLASS_NONE, "a larger size has no class");
    slab_destroy(&s);

    uint32_t sizes[] = {100, 200, 400};
    struct slab_config own = {.sizes = sizes, .size_count = 3, .chunk_bytes_min = 80, .growth_factor = 2, .chunk_bytes_max = 1 << 20};
    s = slab_create(a, &own);
    ok(s->class_count == 4 && s->classes[1].chunk_bytes == 104, "a list of sizes makes those classes, rounded up to eight bytes, and the largest");
    slab_destroy(&s);
    struct slab_config factor = defaults, tiny = defaults;
    factor.growth_factor = 1.0;
    ok(slab_create(a, &factor) == NULL && errno == EINVAL, "a growth factor of 1 is refused");
    factor.growth_factor = 1.01;
    s = slab_create(a, &factor);
    ok(s != NULL && s->class_count == 63, "a factor that changes no aligned size still makes classes, %u", s->class_count);
    slab_destroy(&s);
    tiny.chunk_bytes_max = SLAB_CHUNK_MAX_LEAST - 8;
    ok(slab_create(a, &tiny) == NULL && errno == EINVAL, "chunks too small for the longest key are refused");
    sizes[2] = 150;
    ok(slab_create(a, &own) == NULL && errno == EINVAL, "sizes that do not ascend are refused");
    arena_destroy(&a);
}

static void test_random_streaks_keep_every_chunk_apart(uint64_t x) {
    struct arena *a = arena_create(8u << 20, 0, false);
    struct slab *s = slab_create(a, &defaults);
    enum { MOST = 20000 };
    static uint32_t held[MOST];
    unsigned n = 0, overlaps = 0;
    for (int i = 0; i < 200000; i++) {
        tap_random(&x);
        if (n < MOST && x & 1) {
            uint32_t ref;
            if (slab_take(s, 1 + (unsigned)(x >> 8) % 20, &ref, 1) == 1) {
                struct item *it = node_at(&a->space, ref);
                overlaps += it->exptime_s != 0;
                it->exptime_s = 1;
                held[n++] = ref;
            }
        } else if (n > 0) {
            unsigned i2 = (unsigned)(x >> 8) % n;
            ((struct item *)node_at(&a->space, held[i2]))->exptime_s = 0;
            slab_release(s, held[i2]);
            held[i2] = held[--n];
        }
    }
    is(overlaps, 0, "no chunk is handed out twice");
    while (n > 0) {
        slab_release(s, held[--n]);
    }
    uint32_t lost = 0;
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(s, i, &f);
        lost += f.pages * f.chunks_per_page - f.free_chunks;
    }
    is(lost, 0, "and all come back");
    slab_destroy(&s);
    arena_destroy(&a);
}

static void open_slab(struct arena **a, struct slab **s) {
    *a = arena_create(4u << 20, 0, false);
    *s = slab_create(*a, &defaults);
}

static void close_slab(struct arena **a, struct slab **s) {
    slab_destroy(s);
    arena_destroy(a);
}

TEST(test_the_limit_is_the_limit) {
    struct arena *a;
    struct slab *s;
    uint32_t ref;
    unsigned n = 0;
    open_slab(&a, &s);
    while (slab_take(s, s->class_count, &ref, 1) == 1) {
        n++;
    }
    is(n, 8, "four pages hold eight chunks of 512 KiB and no more");
    close_slab(&a, &s);
}

TEST(test_pages_drain_and_change_hands) {
    struct arena *a;
    struct slab *s;
    uint32_t refs[3], page;
    open_slab(&a, &s);
    slab_take(s, 5, refs, 3);
    page = arena_page_of_ref(a, refs[0]);
    ok(!slab_drain_begin(s, page, 6, 0), "a page drains only for the class that owns it");
    ok(!slab_drain_begin(s, page, 5, 1), "nor where the class is to keep a page that it has not beside");
    ok(slab_drain_begin(s, page, 5, 0), "it begins to drain");
    ok(!slab_drain_begin(s, page, 5, 0), "once");
    uint32_t other;
    slab_take(s, 5, &other, 1);
    ok(arena_page_of_ref(a, other) != page, "no chunk is taken from a draining page");
    slab_release(s, refs[0]);
    ok(!slab_drain_empty(s, page), "it is not empty before its last chunk is back");
    slab_drain_cancel(s, page);
    ok(slab_drain_begin(s, page, 5, 0), "a cancelled drain can begin again");
    slab_release(s, refs[1]);
    slab_release(s, refs[2]);
    ok(slab_drain_empty(s, page), "then it is");
    slab_drain_end(s, page, 9);
    struct slab_class_facts from, to;
    slab_facts(s, 5, &from);
    slab_facts(s, 9, &to);
    ok(from.pages == 1 && to.pages == 1 && to.free_chunks == to.chunks_per_page, "the donor has a page less, the receiver one more, all of it free");
    slab_release(s, other);
    close_slab(&a, &s);
}

TEST(test_a_page_given_back_leaves_memory) {
    struct arena *a = arena_create(4u << 20, 0, false);
    uint32_t page = arena_take_page(a, false);
    char *start = arena_page_start(a, page);
    memset(start, 7, PAGE_BYTES);
    arena_release_page(a, page);
    unsigned char resident[PAGE_BYTES / 4096];
    unsigned left = 0;
    mincore(start, PAGE_BYTES, resident);
    for (unsigned i = 0; i < sizeof resident; i++) {
        left += resident[i] & 1;
    }
    is(left, 0, "nothing of it stays resident");
    is(arena_pages_free(a), 4, "and the page can be had again");
    arena_destroy(&a);
}

TEST(test_references_stay_fine_while_they_can) {
    static const struct { size_t limit_gb, reserve_gb; unsigned shift; } cases[] = {
        {1, 4, 3}, {20, 80, 3}, {31, 124, 3}, {32, 128, 4}, {60, 240, 4}, {100, 100, 5},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena *a = arena_create(cases[i].limit_gb << 30, cases[i].reserve_gb << 30, false);
        if (a == NULL) {
            tap_skip("this machine does not map so much");
            continue;
        }
        is(a->space.shift, cases[i].shift, "%zu GB are addressed in units of %u bytes", cases[i].limit_gb, 1u << cases[i].shift);
        ok(((size_t)a->page_max << PAGE_SHIFT) >= cases[i].limit_gb << 30, "all of them");
        struct slab *s = slab_create(a, &defaults);
        uint32_t refs[3], odd = 0;
        slab_take(s, 3, refs, 3);
        for (unsigned j = 0; j < 3; j++) {
            odd += node_ref(&a->space, node_at(&a->space, refs[j])) != refs[j];
        }
        for (unsigned j = 1; j <= s->class_count; j++) {
            odd += s->classes[j].chunk_bytes % (1u << a->space.shift) != 0;
        }
        is(odd, 0, "and chunks lie on units");
        slab_destroy(&s);
        arena_destroy(&a);
    }
}

TEST(test_rounds_over_the_pages_of_a_class) {
    enum { PAGES = 10 };
    struct arena *a = arena_create(64u << 20, 0, false);
    struct slab *s = slab_create(a, &defaults);
    uint32_t pages[PAGES + 5], seen[64] = {0};
    unsigned wrong = 0, class_id = 5;
    is(slab_next_pages(s, class_id, pages, 4), 0, "a class without pages has none to look at");
    for (int i = 0; i < PAGES; i++) {
        wrong += !slab_grow(s, class_id) + !slab_grow(s, class_id + 1);
    }
    is(slab_next_pages(s, class_id, pages, PAGES + 5), PAGES, "one look never finds a page twice");
    for (int i = 0; i < 5; i++) {
        unsigned n = slab_next_pages(s, class_id, pages, 4);
        wrong += n != 4;
        while (n > 0) {
            seen[pages[--n]]++;
        }
    }
    unsigned twice = 0;
    for (uint32_t page = 0; page < 64; page++) {
        wrong += seen[page] != (slab_page_class(s, page) == class_id ? 2 : 0);
        twice += seen[page] == 2;
    }
    ok(wrong == 0 && twice == PAGES, "looks at 4 of %u pages find each twice in five, and none of another class", PAGES);
    slab_next_pages(s, class_id, pages, 4);
    uint32_t next[1], leaving;
    slab_next_pages(s, class_id, next, 1);
    for (int i = 0; i < PAGES - 1; i++) { /* once round, to just before that page */
        slab_next_pages(s, class_id, &leaving, 1);
    }
    leaving = next[0];
    ok(slab_drain_begin(s, leaving, class_id, 0), "a page that is next drains");
    unsigned n = slab_next_pages(s, class_id, pages, PAGES + 5), has = 0;
    for (unsigned i = 0; i < n; i++) {
        has += pages[i] == leaving;
    }
    ok(n == PAGES - 1 && has == 0, "and is looked at no more, while all others are");
    slab_drain_end(s, leaving, SLAB_CLASS_NONE);
    is(slab_next_pages(s, class_id, pages, PAGES + 5), PAGES - 1, "also when it has left");
    close_slab(&a, &s);
}

TEST(test_ids_of_a_set_keep_to_themselves) {
    unsigned wrong = 0;
    for (unsigned id = 0; id < CLASS_SET_IDS; id++) {
        struct class_set s = class_set_one(id), others = class_set_all();
        class_set_remove(&others, id);
        struct class_set both = class_set_meet(s, &others);
        wrong += class_set_count(&s) != 1 || !class_set_has(&s, id) || !class_set_empty(&both);
    }
    is(wrong, 0, "each of the %d ids has a place of its own", CLASS_SET_IDS);
    struct class_set all = class_set_all(), few = class_set_first(70);
    ok(class_set_count(&all) == 255 && !class_set_has(&all, 0), "all are 1 to 255");
    ok(class_set_count(&few) == 70 && class_set_has(&few, 70) && !class_set_has(&few, 71), "the first 70 are 1 to 70");

    struct class_set_shared shared = {{0}};
    ok(class_set_shared_add(&shared, 5), "the first class of a word is reported");
    ok(!class_set_shared_add(&shared, 5) && !class_set_shared_add(&shared, 63), "one that is there, or not the first, is not");
    ok(class_set_shared_add(&shared, 200), "another word has its own first");
    struct class_set taken = class_set_shared_take(&shared), again = class_set_shared_take(&shared);
    ok(class_set_count(&taken) == 3 && class_set_has(&taken, 200), "all that was added is taken");
    ok(class_set_empty(&again), "once");
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    tap_run_tests();
    test_random_streaks_keep_every_chunk_apart(seed);
    return tap_done();
}
