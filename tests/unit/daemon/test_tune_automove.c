/* Decisions about pages, on snapshots that are made up. */
#include "control/automove/eviction.h"
#include "control/automove/need.h"
#include "control/automove/ratio.h"
#include "tap.h"

enum { CLASSES = 6, CHUNKS = 100, SECOND_US = 1000000 };

/* Memory is used up, every class has 10 pages, nothing is free, every tail is 100 s old. */
static struct snapshot full(uint64_t second) {
    struct snapshot s = {.time_us = second * SECOND_US, .pages_limit = 60, .class_count = CLASSES};
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i] = (struct snapshot_class){
            .chunk_bytes = 1000 * i, .chunks_per_page = CHUNKS, .pages = 10, .items = 1000, .age_s = 100};
    }
    return s;
}

/* Whether a decision moves a page. *m is the first move, unchanged if there is none. Each decision has a reason. */
static bool first_of(bool any, const struct decision *d, struct page_move *m) {
    *m = any ? d->moves[0] : *m;
    if (any != (d->count > 0) || *(any ? m->reason : d->why) == '\0') {
        ok(false, "a decision says the same twice, and why");
    }
    return any;
}
typedef bool need_mode(void *, const struct snapshot *, struct decision *);
static bool moves_at_need(need_mode *mode, void *state, const struct snapshot *s, struct page_move *m) {
    struct decision d = {0};
    return first_of(mode(state, s, &d), &d, m);
}
static bool moves_of_window(bool (*mode)(void *, const struct snapshot *, const struct snapshot *, struct decision *), void *state,
                            const struct snapshot *before, const struct snapshot *after, struct page_move *m) {
    struct decision d = {0};
    return first_of(mode(state, before, after, &d), &d, m);
}

/* Seconds of the same load: class 2 evicts and its tail is `young_s` old, class 5's is `old_s`. */
struct load {
    uint32_t young_s, old_s;
    unsigned evict_every; /* seconds; 0: never */
};

static struct snapshot loaded(const struct load *l, uint64_t second) {
    struct snapshot s = full(second);
    s.classes[2].age_s = l->young_s;
    s.classes[5].age_s = l->old_s;
    s.classes[2].evicted = l->evict_every ? 50 * (second / l->evict_every) : 0;
    return s;
}

/* The first second in which the mode moves a page, or 0 for none within `seconds`. */
static unsigned first_move(const struct load *l, double ratio, unsigned window, unsigned seconds, struct page_move *move) {
    struct automove_ratio a;
    unsigned moved_at = 0;
    if (!automove_ratio_init(&a, ratio, window)) {
        return 0;
    }
    struct snapshot before = loaded(l, 100);
    for (unsigned i = 1; i <= seconds && moved_at == 0; i++) {
        struct snapshot after = loaded(l, 100 + i);
        if (moves_of_window(automove_ratio_decide, &a, &before, &after, move)) {
            moved_at = i;
        }
        before = after;
    }
    automove_ratio_fini(&a);
    return moved_at;
}

TEST(test_ratio) {
    static const struct {
        struct load load;
        double      ratio;
        unsigned    window, moves_at;
        const char *claim;
    } rows[] = {
        {{10, 300, 1}, 0.8, 10, 10, "the first page moves when the window has filled"},
        {{10, 300, 1}, 0.8, 4, 4, "a shorter window decides sooner"},
        {{90, 110, 1}, 0.8, 5, 0, "ages closer than the ratio move nothing"},
        {{90, 110, 1}, 0.95, 5, 5, "unless the ratio is closer still"},
        {{10, 300, 0}, 0.8, 5, 0, "a young class that does not evict gets nothing"},
        {{10, 300, 7}, 0.8, 5, 5, "a page moves only in a second in which the receiver evicts, be it each seventh"},
        {{10, 300, 7}, 0.8, 6, 12, "and not before"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct page_move m = {0};
        is(first_move(&rows[i].load, rows[i].ratio, rows[i].window, 30, &m), rows[i].moves_at, "ratio: %s", rows[i].claim);
        ok(rows[i].moves_at == 0 || (m.from == 5 && m.to == 2 && m.pages == 1), "ratio: one page, from the oldest tail to the youngest that evicts");
    }
}

TEST(test_ratio_keeps_pages) {
    struct automove_ratio a;
    struct page_move m;
    unsigned of_two = 0, beside_pool = 0;
    automove_ratio_init(&a, 0.8, 3);
    struct snapshot before = full(100);
    for (unsigned i = 1; i <= 20; i++) {
        struct snapshot after = loaded(&(struct load){i <= 10 ? 1 : 10, i <= 10 ? 100 : 300, 1}, 100 + i);
        for (unsigned c = 1; i <= 10 && c <= CLASSES; c++) {
            after.classes[c].pages = 2;
        }
        after.pages_free = i > 10;
        *(i <= 10 ? &of_two : &beside_pool) += moves_of_window(automove_ratio_decide, &a, &before, &after, &m);
        before = after;
    }
    is(of_two, 0, "ratio: a class of two pages gives none");
    is(beside_pool, 0, "ratio: nothing moves while the pool has pages");
    automove_ratio_fini(&a);
}

/* The pages that leave a class for the pool in one decision. */
static unsigned to_pool(const struct decision *d, unsigned class_id) {
    unsigned pages = 0;
    for (unsigned i = 0; i < d->count; i++) {
        pages += d->moves[i].from == class_id && d->moves[i].to == SLAB_CLASS_NONE ? d->moves[i].pages : 0;
    }
    return pages;
}

/* Seconds in which classes 2 and 4 have free chunks. */
struct spare_load {
    unsigned free[SLAB_CLASSES_MAX]; /* pages' worth */
    unsigned pool, class_pages;
    unsigned evicts_until, grows_until; /* class 4 does, up to this second */
};

static struct snapshot spare(const struct spare_load *l, unsigned second) {
    struct snapshot s = full(100 + second);
    s.pages_free = l->pool;
    for (unsigned c = 1; c <= CLASSES; c++) {
        s.classes[c].pages = l->class_pages;
        s.classes[c].free_chunks = (uint64_t)CHUNKS * l->free[c];
    }
    s.classes[4].evicted = second < l->evicts_until ? second : l->evicts_until;
    s.classes[4].pages += second < l->grows_until ? second : l->grows_until;
    return s;
}

/* The first second in which pages go to the pool, or 0; *d is that decision. */
static unsigned first_surplus(struct automove_ratio *a, const struct spare_load *l, struct decision *d) {
    for (unsigned i = 1; i <= 20; i++) {
        struct snapshot before = spare(l, i - 1), after = spare(l, i);
        *d = (struct decision){0};
        if (automove_ratio_decide(a, &before, &after, d)) {
            return i;
        }
    }
    return 0;
}

TEST(test_ratio_surplus) {
    static const struct {
        struct spare_load load;
        unsigned    first, of_2, of_4; /* the second of the decision, and the decision */
        bool        never_full;
        const char *claim;
    } rows[] = {
        {{.free = {[2] = 2, [4] = 10}, .class_pages = 20}, 3, 0, 8, false, "free chunks of more than 2.5 pages go to the pool when the window has passed, until no more is left"},
        {{.free = {[2] = 5, [4] = 10}, .class_pages = 20, .pool = 8}, 3, 3, 8, false, "also while the pool has pages, of all classes that have some"},
        {{.free = {[2] = 5, [4] = 10}, .class_pages = 20, .pool = 8}, 0, 0, 0, true, "but not before all pages were in use"},
        {{.free = {[4] = 10}, .class_pages = 20, .evicts_until = 6}, 8, 0, 8, false, "a class that evicts has a use for what is free, until the window has all but passed"},
        {{.free = {[4] = 10}, .class_pages = 20, .grows_until = 6}, 8, 0, 8, false, "so has a class that gets pages"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct automove_ratio a;
        struct decision d;
        automove_ratio_init(&a, 0.8, 3);
        a.full = !rows[i].never_full;
        is(first_surplus(&a, &rows[i].load, &d), rows[i].first, "ratio: %s", rows[i].claim);
        ok(to_pool(&d, 2) == rows[i].of_2 && to_pool(&d, 4) == rows[i].of_4, "ratio: as many pages as that is");
        ok(rows[i].first == 0 || (strstr(d.moves[d.count - 1].reason, "class 4 has") != NULL && d.again_us > 0 && d.again_us < 1000000),
           "ratio: with a reason, and it looks again soon");
        automove_ratio_fini(&a);
    }
}

TEST(test_ratio_gives_more_than_one_decision_holds) {
    struct automove_ratio a;
    struct decision d;
    automove_ratio_init(&a, 0.8, 3);
    struct snapshot was = full(100), now = full(101), later;
    automove_ratio_decide(&a, &was, &now, &d);
    struct spare_load l = {.free = {[4] = 100}, .class_pages = 200};
    is(first_surplus(&a, &l, &d), 2, "ratio: a hundred pages' worth of free chunks");
    is(to_pool(&d, 4), DECISION_MOVES_MAX * MOVE_PAGES_MAX, "ratio: go as far as a decision has room");
    ok(d.extend && d.again_us > 0 && d.again_us < 10000, "ratio: the rest follows at once, in the same sample");
    unsigned at = a.at;
    later = full(102);
    later.classes[4].free_chunks = 36 * CHUNKS;
    d = (struct decision){0};
    ok(automove_ratio_decide(&a, &now, &later, &d) && a.at == at && to_pool(&d, 4) == 34 && !d.extend, "ratio: which the rest ends");
    later = full(103);
    automove_ratio_decide(&a, &now, &later, &d);
    ok(a.at != at, "ratio: then the next sample begins");
    automove_ratio_fini(&a);
}

TEST(test_ratio_survives_reset) {
    struct page_move m = {0};
    struct automove_ratio a;
    automove_ratio_init(&a, 0.8, 3);
    struct load l = {10, 300, 1};
    struct snapshot before = loaded(&l, 1000000);
    unsigned moves = 0;
    for (unsigned i = 1; i <= 5; i++) {
        struct snapshot after = loaded(&l, i);
        moves += moves_of_window(automove_ratio_decide, &a, &before, &after, &m);
        before = after;
    }
    ok(moves > 0 && m.to == 2, "ratio: a counter that starts again, as after `stats reset`, is no endless eviction");
    ok(automove_ratio_resize(&a, 7) && a.seen == 0, "ratio: a new window starts empty");
    automove_ratio_fini(&a);
}

TEST(test_eviction) {
    static const struct {
        unsigned after_us, pages;
        const char *claim;
    } streak[] = {{0, 1, "a starved class gets a page"}, {1000, 2, "still starved, two more"},   {1000, 4, "then four"},
                  {1000, 8, "then eight"},              {1000, 8, "and not more at once"}, {SECOND_US, 1, "after a pause it begins with one again"}};
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    ok(!moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: nobody starved, nothing moves");
    s.classes[3].starved = true;
    s.classes[3].age_s = 1;
    s.classes[6].age_s = 500;
    for (size_t i = 0; i < sizeof streak / sizeof *streak; i++) {
        s.time_us += streak[i].after_us;
        moves_at_need(automove_eviction_decide, &a, &s, &m);
        ok(m.from == 6 && m.to == 3 && m.pages == streak[i].pages, "eviction: %s, from the oldest tail", streak[i].claim);
    }
    s.classes[6].pages = 1;
    s.time_us += SECOND_US;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m) && m.from != 6, "eviction: no class gives its last page");
    s.classes[1].pages = 3;
    s.classes[1].age_s = 900;
    for (int i = 0; i < 5; i++) {
        s.time_us += 1000;
        moves_at_need(automove_eviction_decide, &a, &s, &m);
    }
    ok(m.from == 1 && m.pages == 2, "eviction: however starved the other is");
    s.pages_free = 1;
    ok(!moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: while the pool has pages nothing moves");
}

static void ages(struct snapshot *s, uint32_t age_s) {
    for (unsigned i = 1; i <= CLASSES; i++) {
        s->classes[i].age_s = age_s;
    }
}

TEST(test_eviction_settles) {
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].starved = true;
    }
    ok(!moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: classes under the same pressure pass no pages round");
    s.classes[2].age_s = 40;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m) && m.to == 2, "eviction: unless one's tail is less than half as old");
    s = full(200);
    s.classes[3].starved = true;
    ok(!moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: a quiet class with a tail of the same age gives nothing");
    s.classes[3].age_s = 60;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: one with an older tail does");
    s = full(300);
    s.classes[3].starved = true;
    s.classes[4].free_chunks = CHUNKS;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m) && m.from == 4, "eviction: a page's worth of free chunks is given whatever the ages");
}

TEST(test_eviction_leaves_classes_that_fill_up) {
    enum { LOOK_US = 2000 };
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    unsigned gave = 0;
    ages(&s, 4);
    s.classes[3].starved = true;
    s.classes[4].free_chunks = 2 * CHUNKS; /* the class got these pages just before */
    moves_at_need(automove_eviction_decide, &a, &s, &m);
    for (unsigned i = 0; i < 4; i++) {
        s.time_us += LOOK_US;
        s.classes[4].free_chunks--;
        gave += moves_at_need(automove_eviction_decide, &a, &s, &m);
    }
    is(gave, 0, "eviction: a class that fills its new pages gives none of them");
    for (unsigned i = 0; i < 10; i++) {
        s.time_us += SECOND_US / 8;
        moves_at_need(automove_eviction_decide, &a, &s, &m);
    }
    is(m.from, 4, "eviction: when it takes no more it does");
    s.classes[4].pages--;
    s.classes[4].free_chunks -= CHUNKS / 2;
    s.time_us += LOOK_US;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m) && m.from == 4, "eviction: and goes on, for the chunks that went with its page were not stored to");
    s = full(200);
    memset(&a, 0, sizeof a);
    ages(&s, 4);
    s.classes[3].starved = true;
    ok(!moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: of tails that are 4 s old each none is older");
    s.classes[5].age_s = 6;
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m) && m.from == 5, "eviction: one of 6 s is");
    ages(&s, 0);
    memset(&a, 0, sizeof a);
    ok(moves_at_need(automove_eviction_decide, &a, &s, &m), "eviction: within a second ages prove nothing, and unstored classes give");
}

TEST(test_surplus) {
    struct snapshot before = full(1), after = full(2);
    struct page_move m = {0};
    ok(!moves_of_window(eviction_surplus_decide, NULL, &before, &after, &m),
       "surplus: none, nothing moves");
    before.classes[2].free_chunks = after.classes[2].free_chunks = CHUNKS * 3;
    ok(moves_of_window(eviction_surplus_decide, NULL, &before, &after, &m) && m.from == 2 &&
           m.to == SLAB_CLASS_NONE,
       "surplus: goes to the pool");
    after.classes[2].evicted = 1;
    ok(!moves_of_window(eviction_surplus_decide, NULL, &before, &after, &m),
       "surplus: not from a class that evicted");
    after.classes[2].evicted = 0;
    after.pages_free = 1;
    ok(!moves_of_window(eviction_surplus_decide, NULL, &before, &after, &m),
       "surplus: not while the pool has pages");
}

/* Class 2 is in need; classes have the pages given, and class 4's are the oldest. */
static struct snapshot needy(const uint32_t pages[CLASSES + 1]) {
    struct snapshot s = full(100);
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].pages = pages[i];
        s.classes[i].oldest_page_seq = i == 4 ? 1 : 100 + i;
        s.classes[i].page_age_s = i == 4 ? 500 : 10;
        s.classes[i].age_s = i == 5 ? 300 : i;
        s.classes[i].free_chunks = 0;
    }
    s.classes[2].starved = true;
    s.classes[2].evicted = 1000;
    return s;
}

TEST(test_random_draws_pages) {
    static const uint32_t pages[CLASSES + 1] = {0, 30, 0, 10, 1, 20, 0};
    struct automove_need a = {.random = 12345};
    struct snapshot s = needy(pages);
    unsigned from[CLASSES + 1] = {0};
    for (unsigned i = 0; i < 6000; i++) {
        struct decision d = {0};
        if (automove_random_decide(&a, &s, &d) && d.count == 1 && d.moves[0].to == 2 && d.moves[0].pick == PICK_RANDOM) {
            from[d.moves[0].from]++;
        }
    }
    is(from[1] + from[3] + from[5], 6000, "random: every draw is of a class with two pages");
    ok(from[1] > 2700 && from[1] < 3300 && from[3] > 800 && from[3] < 1200, "random: in proportion to their pages (%u, %u, %u)",
       from[1], from[3], from[5]);
}

TEST(test_need_spares_others_when_its_own_page_is_chosen) {
    static const uint32_t pages[CLASSES + 1] = {0, 1, 60, 1, 1, 1, 1};
    struct automove_need a = {.random = 1};
    struct page_move m;
    struct snapshot s = needy(pages);
    s.classes[3].pages = 2;
    s.classes[2].oldest_page_seq = 1;
    s.classes[4].oldest_page_seq = 50;
    ok(!moves_at_need(automove_lrc_decide, &a, &s, &m), "lrc: the oldest page is its own, nothing moves");
    s.classes[2].oldest_page_seq = 900;
    s.classes[2].evicted += CHUNKS - 1;
    ok(!moves_at_need(automove_lrc_decide, &a, &s, &m), "lrc: and it evicts a page's worth of its own items first");
    s.classes[2].evicted += 1;
    ok(moves_at_need(automove_lrc_decide, &a, &s, &m) && m.from == 3, "lrc: then it chooses again");
    s.classes[2].oldest_page_seq = 1;
    moves_at_need(automove_lrc_decide, &a, &s, &m);
    s.classes[2].oldest_page_seq = 900;
    s.classes[2].evicted = 5;
    ok(moves_at_need(automove_lrc_decide, &a, &s, &m), "lrc: a counter that starts again does not make it wait for ever");
}

TEST(test_lra_and_lrc_choose_by_age) {
    static const uint32_t pages[CLASSES + 1] = {0, 10, 10, 10, 10, 10, 10};
    struct automove_need a = {.random = 1};
    struct page_move m;
    struct snapshot s = needy(pages);
    ok(moves_at_need(automove_lrc_decide, &a, &s, &m) && m.from == 4 && m.to == 2 && m.pages == 1 && m.pick == PICK_LEAST_CREATED,
       "lrc: the page that its class has had for longest");
    ok(moves_at_need(automove_lra_decide, &a, &s, &m) && m.from == 5 && m.pick == PICK_LEAST_ACCESSED,
       "lra: a page of the class whose items were longest not accessed");
    s.classes[5].pages = 1;
    ok(moves_at_need(automove_lra_decide, &a, &s, &m) && m.from == 6, "lra: but no class's last one");
    s.classes[1].free_chunks = CHUNKS;
    ok(moves_at_need(automove_lra_decide, &a, &s, &m) && m.from == 1, "lra: a page's worth of free chunks goes before any item");
    s.classes[1].free_chunks = 0;
    s.classes[6].starved = true;
    struct decision d = {0};
    ok(automove_lrc_decide(&a, &s, &d) && d.count == 2 && d.moves[1].to == 6, "lrc: two classes in need get a page each");
    s.pages_free = 1;
    ok(!moves_at_need(automove_lra_decide, &a, &s, &m), "lra: while the pool has pages nothing moves");
}

TEST(test_names) {
    const char *argument;
    char text[AUTOMOVE_NAME_BYTES];
    static const char *const same[][2] = {{"off", "0"}, {"ratio", "1"}, {"1", "1"}, {"eviction", "2"}, {"random", "random"}};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        const struct automove_mode *mode = automove_find(same[i][0], &argument);
        automove_spell(mode ? mode : &automove_off, argument, text);
        is_str(mode ? text : "none", same[i][1], "names: %s is kept as %s", same[i][0], same[i][1]);
    }
    ok(automove_find("3", &argument) == NULL && automove_find("", &argument) == NULL && automove_find("ratio:", &argument) == NULL,
       "names: others are unknown");
}

TEST(test_a_full_decision_takes_no_more) {
    struct decision d = {0};
    for (unsigned i = 0; i < DECISION_MOVES_MAX; i++) {
        decision_move(&d, 1, 2, 1, "%0300d", 7);
    }
    ok(decision_move(&d, 1, 2, 1, "one too many") == NULL && d.count == DECISION_MOVES_MAX, "a decision has a bound");
    is(strlen(d.moves[0].reason), REASON_BYTES - 1, "and so has a reason");
    ok(!decision_fail(&d, "because of %d", 5) && d.failed && d.count == 0,
       "a mode that fails moves nothing");
    is_str(d.why, "because of 5", "and says why");
}

int main(void) {
    return tap_main();
}
