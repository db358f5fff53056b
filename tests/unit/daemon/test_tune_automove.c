/* Decisions about pages, on snapshots that are made up. */
#include "tap.h"
#include "tune/policies/eviction.h"
#include "tune/policies/need.h"
#include "tune/policies/ratio.h"

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

/* The first move of a decision; it stays as it was when nothing moves. */
static bool first_of(bool any, const struct decision *d, struct page_move *m) {
    if (any) {
        *m = d->moves[0];
    }
    is(any, d->count > 0, "a decision says the same twice");
    ok(*(any ? m->reason : d->why) != '\0', "and says why: %s", any ? m->reason : d->why);
    return any;
}
static bool ratio_moves(struct automove_ratio *a, const struct snapshot *before, const struct snapshot *after, struct page_move *m) {
    struct decision d = {0};
    return first_of(automove_ratio_decide(a, before, after, &d), &d, m);
}
static bool eviction_moves(struct automove_eviction *a, const struct snapshot *s, struct page_move *m) {
    struct decision d = {0};
    return first_of(automove_eviction_decide(a, s, &d), &d, m);
}
static bool surplus_moves(const struct snapshot *before, const struct snapshot *after, struct page_move *m) {
    struct decision d = {0};
    return first_of(automove_surplus_decide(NULL, before, after, &d), &d, m);
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

/* The first second in which the mode moves a page, or 0 when it does not within `seconds`. */
static unsigned first_move(const struct load *l, double ratio, unsigned window, unsigned seconds, struct page_move *move) {
    struct automove_ratio a;
    unsigned moved_at = 0;
    if (!automove_ratio_init(&a, ratio, window)) {
        return 0;
    }
    struct snapshot before = loaded(l, 100);
    for (unsigned i = 1; i <= seconds && moved_at == 0; i++) {
        struct snapshot after = loaded(l, 100 + i);
        if (ratio_moves(&a, &before, &after, move)) {
            moved_at = i;
        }
        before = after;
    }
    automove_ratio_fini(&a);
    return moved_at;
}

static void test_ratio(void) {
    struct page_move m = {0};
    struct load shift = {.young_s = 10, .old_s = 300, .evict_every = 1};
    is(first_move(&shift, 0.8, 10, 30, &m), 10, "ratio: the first page moves when the window has filled");
    ok(m.from == 5 && m.to == 2 && m.pages == 1, "ratio: one page, from the oldest tail to the youngest that evicts");
    is(first_move(&shift, 0.8, 4, 30, &m), 4, "ratio: a shorter window decides sooner");

    struct load close = {.young_s = 90, .old_s = 100, .evict_every = 1};
    is(first_move(&close, 0.8, 5, 30, &m), 0, "ratio: ages closer than the ratio move nothing");
    is(first_move(&close, 0.95, 5, 30, &m), 5, "ratio: unless the ratio is closer still");

    struct load calm = {.young_s = 10, .old_s = 300, .evict_every = 0};
    is(first_move(&calm, 0.8, 5, 30, &m), 0, "ratio: a young class that does not evict gets nothing");

    struct load rare = {.young_s = 10, .old_s = 300, .evict_every = 7};
    unsigned at = first_move(&rare, 0.8, 5, 30, &m);
    ok(at >= 5 && (100 + at) % 7 == 0, "ratio: a page moves only in a second in which the receiver evicts (at %u)", at);
}

static void test_ratio_keeps_pages(void) {
    struct automove_ratio a;
    struct page_move m;
    unsigned moves = 0;
    automove_ratio_init(&a, 0.8, 3);
    struct snapshot before = full(100);
    for (unsigned i = 1; i <= 10; i++) {
        struct snapshot after = full(100 + i);
        for (unsigned c = 1; c <= CLASSES; c++) {
            after.classes[c].pages = 2;
        }
        after.classes[2].age_s = 1;
        after.classes[2].evicted = 10 * i;
        moves += ratio_moves(&a, &before, &after, &m);
        before = after;
    }
    is(moves, 0, "ratio: a class of two pages gives none");
    moves = 0;
    for (unsigned i = 11; i <= 20; i++) {
        struct snapshot after = loaded(&(struct load){10, 300, 1}, 100 + i);
        after.pages_free = 1;
        moves += ratio_moves(&a, &before, &after, &m);
        before = after;
    }
    is(moves, 0, "ratio: nothing moves while the pool has pages");
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

static void test_ratio_surplus(void) {
    struct automove_ratio a;
    struct decision d;
    automove_ratio_init(&a, 0.8, 3);
    struct spare_load l = {.free = {[2] = 2, [4] = 10}, .class_pages = 20};
    is(first_surplus(&a, &l, &d), 3, "ratio: free chunks of more than 2.5 pages go to the pool when the window has passed");
    is(to_pool(&d, 4), 8, "ratio: all at once, until no more than 2.5 pages' worth is left");
    is(to_pool(&d, 2), 0, "ratio: a class with 2 pages' worth keeps it");
    ok(strstr(d.moves[0].reason, "class 4 has") == d.moves[0].reason, "ratio: with a reason: %s", d.moves[0].reason);
    l.pool = 8;
    l.free[2] = 5;
    is(first_surplus(&a, &l, &d), 1, "ratio: also while the pool has pages");
    ok(to_pool(&d, 2) == 3 && to_pool(&d, 4) == 8, "ratio: of all classes that have some");
    ok(d.again_us > 0 && d.again_us < 1000000, "ratio: and looks again soon");
    automove_ratio_fini(&a);

    automove_ratio_init(&a, 0.8, 3);
    is(first_surplus(&a, &l, &d), 0, "ratio: before all pages were in use nothing goes to the pool");
    automove_ratio_fini(&a);

    automove_ratio_init(&a, 0.8, 3);
    is(first_surplus(&a, &(struct spare_load){.free = {[4] = 10}, .class_pages = 20, .evicts_until = 6}, &d), 8,
       "ratio: a class that evicts has a use for what is free, until the window has all but passed");
    automove_ratio_fini(&a);
    automove_ratio_init(&a, 0.8, 3);
    is(first_surplus(&a, &(struct spare_load){.free = {[4] = 10}, .class_pages = 20, .grows_until = 6}, &d), 8,
       "ratio: so has a class that gets pages");
    automove_ratio_fini(&a);
}

static void test_ratio_gives_more_than_one_decision_holds(void) {
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

static void test_ratio_looks_often_at_first(void) {
    struct automove_ratio a;
    automove_ratio_init(&a, 0.8, 10);
    struct snapshot s = full(100);
    uint64_t us = 0;
    unsigned looks = 0;
    for (; looks < 100 && a.seen < 10; looks++) {
        struct decision d = {0};
        automove_ratio_decide(&a, &s, &s, &d);
        us += d.again_us;
    }
    ok(looks == 10 && us > 0 && us <= 1000000, "ratio: the first window of 10 samples passes within a second");
    struct decision d = {0};
    automove_ratio_decide(&a, &s, &s, &d);
    is(d.again_us, 0, "ratio: afterwards it is asked each second");
    automove_ratio_fini(&a);
}

static void test_ratio_survives_reset(void) {
    struct page_move m = {0};
    struct automove_ratio a;
    automove_ratio_init(&a, 0.8, 3);
    struct load l = {10, 300, 1};
    struct snapshot before = loaded(&l, 1000000);
    unsigned moves = 0;
    for (unsigned i = 1; i <= 5; i++) { /* counters start again, as after `stats reset` */
        struct snapshot after = loaded(&l, i);
        moves += ratio_moves(&a, &before, &after, &m);
        before = after;
    }
    ok(moves > 0 && m.to == 2, "ratio: a counter that starts again is no endless eviction");
    ok(automove_ratio_resize(&a, 7) && a.seen == 0, "ratio: a new window starts empty");
    automove_ratio_fini(&a);
}

static void test_eviction(void) {
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    ok(!eviction_moves(&a, &s, &m), "eviction: nobody hungry, nothing moves");
    s.classes[3].hungry = true;
    s.classes[3].age_s = 1;
    s.classes[6].age_s = 500;
    ok(eviction_moves(&a, &s, &m) && m.from == 6 && m.to == 3 && m.pages == 1,
       "eviction: a hungry class gets a page from the oldest tail");
    s.time_us += 1000;
    eviction_moves(&a, &s, &m);
    is(m.pages, 2, "eviction: still hungry, two more");
    for (int i = 0; i < 5; i++) {
        s.time_us += 1000;
        eviction_moves(&a, &s, &m);
    }
    is(m.pages, 8, "eviction: then four, then eight at once and not more");
    s.time_us += SECOND_US;
    eviction_moves(&a, &s, &m);
    is(m.pages, 1, "eviction: after a pause it begins with one again");
    s.classes[6].pages = 1;
    s.time_us += SECOND_US;
    ok(eviction_moves(&a, &s, &m) && m.from != 6, "eviction: no class gives its last page");
    s.classes[1].pages = 3;
    s.classes[1].age_s = 900;
    for (int i = 0; i < 5; i++) {
        s.time_us += 1000;
        eviction_moves(&a, &s, &m);
    }
    ok(m.from == 1 && m.pages == 2, "eviction: however hungry the other is");
    s.pages_free = 1;
    ok(!eviction_moves(&a, &s, &m), "eviction: while the pool has pages nothing moves");
}

static void test_eviction_settles(void) {
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].hungry = true;
    }
    ok(!eviction_moves(&a, &s, &m), "eviction: classes under the same pressure pass no pages round");
    s.classes[2].age_s = 40;
    ok(eviction_moves(&a, &s, &m) && m.to == 2, "eviction: unless one's tail is less than half as old");
    s = full(200);
    s.classes[3].hungry = true;
    ok(!eviction_moves(&a, &s, &m), "eviction: a quiet class whose tail is as old gives nothing");
    s.classes[3].age_s = 60;
    ok(eviction_moves(&a, &s, &m), "eviction: one whose tail is older does");
    s = full(300);
    s.classes[3].hungry = true;
    s.classes[4].free_chunks = CHUNKS;
    ok(eviction_moves(&a, &s, &m) && m.from == 4, "eviction: a page's worth of free chunks is given whatever the ages");
}

static void test_eviction_leaves_what_is_being_filled(void) {
    enum { LOOK_US = 2000 };
    struct automove_eviction a = {0};
    struct page_move m = {0};
    struct snapshot s = full(100);
    s.classes[3].hungry = true;
    s.classes[4].free_chunks = 2 * CHUNKS; /* it has just been given these */
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].age_s = 4;
    }
    eviction_moves(&a, &s, &m);
    for (unsigned i = 0; i < 4; i++) {
        s.time_us += LOOK_US;
        s.classes[4].free_chunks--;
        ok(!eviction_moves(&a, &s, &m), "eviction: a class that fills what it was given gives nothing of it");
    }
    for (unsigned i = 0; i < 10; i++) {
        s.time_us += SECOND_US / 8;
        eviction_moves(&a, &s, &m);
    }
    ok(m.from == 4, "eviction: when it takes no more it does");
    s.classes[4].pages--;
    s.classes[4].free_chunks -= CHUNKS / 2;
    s.time_us += LOOK_US;
    ok(eviction_moves(&a, &s, &m) && m.from == 4, "eviction: and goes on, for the chunks that went with its page were not stored to");
    s = full(200);
    memset(&a, 0, sizeof a);
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].age_s = 4;
    }
    s.classes[3].hungry = true;
    ok(!eviction_moves(&a, &s, &m), "eviction: of tails that are 4 s old each none is older");
    s.classes[5].age_s = 6;
    ok(eviction_moves(&a, &s, &m) && m.from == 5, "eviction: one of 6 s is");
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].age_s = 0;
    }
    memset(&a, 0, sizeof a);
    ok(eviction_moves(&a, &s, &m), "eviction: within a second the ages do not tell, and those that are not stored to give");
}

static void test_surplus(void) {
    struct snapshot before = full(1), after = full(2);
    struct page_move m = {0};
    ok(!surplus_moves(&before, &after, &m), "surplus: none, nothing moves");
    before.classes[2].free_chunks = after.classes[2].free_chunks = CHUNKS * 3;
    ok(surplus_moves(&before, &after, &m) && m.from == 2 && m.to == SLAB_CLASS_NONE, "surplus: goes to the pool");
    after.classes[2].evicted = 1;
    ok(!surplus_moves(&before, &after, &m), "surplus: not from a class that evicted");
    after.classes[2].evicted = 0;
    after.pages_free = 1;
    ok(!surplus_moves(&before, &after, &m), "surplus: not while the pool has pages");
}

/* Class 2 is in need; classes have the pages given, and class 4's are the oldest. */
static struct snapshot needy(const uint32_t pages[CLASSES + 1]) {
    struct snapshot s = full(100);
    for (unsigned i = 1; i <= CLASSES; i++) {
        s.classes[i].pages = pages[i];
        s.classes[i].oldest_page_birth = i == 4 ? 1 : 100 + i;
        s.classes[i].page_age_s = i == 4 ? 500 : 10;
        s.classes[i].age_s = i == 5 ? 300 : i;
        s.classes[i].free_chunks = 0;
    }
    s.classes[2].hungry = true;
    s.classes[2].evicted = 1000;
    return s;
}

static bool need_moves(bool (*mode)(void *, const struct snapshot *, struct decision *), struct automove_need *a,
                       const struct snapshot *s, struct page_move *m) {
    struct decision d = {0};
    return first_of(mode(a, s, &d), &d, m);
}

static void test_random_draws_pages(void) {
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

static void test_need_spares_others_when_its_own_page_is_chosen(void) {
    static const uint32_t pages[CLASSES + 1] = {0, 1, 60, 1, 1, 1, 1};
    struct automove_need a = {.random = 1};
    struct page_move m;
    struct snapshot s = needy(pages);
    s.classes[3].pages = 2;
    s.classes[2].oldest_page_birth = 1;
    s.classes[4].oldest_page_birth = 50;
    ok(!need_moves(automove_lrc_decide, &a, &s, &m), "lrc: the oldest page is its own, nothing moves");
    s.classes[2].oldest_page_birth = 900;
    s.classes[2].evicted += CHUNKS - 1;
    ok(!need_moves(automove_lrc_decide, &a, &s, &m), "lrc: and it evicts a page's worth of its own items first");
    s.classes[2].evicted += 1;
    ok(need_moves(automove_lrc_decide, &a, &s, &m) && m.from == 3, "lrc: then it chooses again");
    s.classes[2].oldest_page_birth = 1;
    need_moves(automove_lrc_decide, &a, &s, &m);
    s.classes[2].oldest_page_birth = 900;
    s.classes[2].evicted = 5;
    ok(need_moves(automove_lrc_decide, &a, &s, &m), "lrc: a counter that starts again does not make it wait for ever");
}

static void test_lra_and_lrc_choose_by_age(void) {
    static const uint32_t pages[CLASSES + 1] = {0, 10, 10, 10, 10, 10, 10};
    struct automove_need a = {.random = 1};
    struct page_move m;
    struct snapshot s = needy(pages);
    ok(need_moves(automove_lrc_decide, &a, &s, &m) && m.from == 4 && m.to == 2 && m.pages == 1 && m.pick == PICK_LEAST_CREATED,
       "lrc: the page that its class has had for longest");
    ok(need_moves(automove_lra_decide, &a, &s, &m) && m.from == 5 && m.pick == PICK_LEAST_ACCESSED,
       "lra: a page of the class whose items were longest not accessed");
    s.classes[5].pages = 1;
    ok(need_moves(automove_lra_decide, &a, &s, &m) && m.from == 6, "lra: but no class's last one");
    s.classes[1].free_chunks = CHUNKS;
    ok(need_moves(automove_lra_decide, &a, &s, &m) && m.from == 1, "lra: a page's worth of free chunks goes before any item");
    s.classes[1].free_chunks = 0;
    s.classes[6].hungry = true;
    struct decision d = {0};
    ok(automove_lrc_decide(&a, &s, &d) && d.count == 2 && d.moves[1].to == 6, "lrc: two classes in need get a page each");
    s.pages_free = 1;
    ok(!need_moves(automove_lra_decide, &a, &s, &m), "lra: while the pool has pages nothing moves");
}

static void test_names(void) {
    const char *argument;
    char text[AUTOMOVE_NAME_BYTES];
    static const char *const same[][2] = {{"0", "0"}, {"off", "0"}, {"ratio", "1"}, {"1", "1"}, {"eviction", "2"}, {"random", "random"}};
    for (unsigned i = 0; i < sizeof same / sizeof *same; i++) {
        const struct automove_mode *mode = automove_find(same[i][0], &argument);
        automove_spell(mode ? mode : &automove_off, argument, text);
        is_str(mode ? text : "none", same[i][1], "names: %s is kept as %s", same[i][0], same[i][1]);
    }
    ok(automove_find("3", &argument) == NULL && automove_find("", &argument) == NULL && automove_find("ratio:", &argument) == NULL,
       "names: others are unknown");
}

static void test_a_full_decision_takes_no_more(void) {
    struct decision d = {0};
    for (unsigned i = 0; i < DECISION_MOVES_MAX; i++) {
        decision_move(&d, 1, 2, 1, "%0300d", 7);
    }
    ok(decision_move(&d, 1, 2, 1, "one too many") == NULL && d.count == DECISION_MOVES_MAX, "a decision has a bound");
    is(strlen(d.moves[0].reason), REASON_BYTES - 1, "and so has a reason");
    ok(!mode_failed(&d, "because of %d", 5) && d.failed && d.count == 0, "a mode that fails moves nothing");
    is_str(d.why, "because of 5", "and says why");
}

int main(void) {
    test_names();
    test_a_full_decision_takes_no_more();
    test_random_draws_pages();
    test_need_spares_others_when_its_own_page_is_chosen();
    test_lra_and_lrc_choose_by_age();
    test_ratio();
    test_ratio_keeps_pages();
    test_ratio_surplus();
    test_ratio_gives_more_than_one_decision_holds();
    test_ratio_looks_often_at_first();
    test_ratio_survives_reset();
    test_eviction();
    test_eviction_settles();
    test_eviction_leaves_what_is_being_filled();
    test_surplus();
    return tap_done();
}
