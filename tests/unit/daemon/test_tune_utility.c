/* The mode utility, on snapshots that are made up: classes with so many hits a window near their end, and so many ghosts. */
#include "tap.h"

#include "control/automove/utility.h"

enum { CLASSES = 4, CHUNKS = 100, PAGES = 16, LIMIT = CLASSES * PAGES, WINDOW = UTILITY_WINDOW_REQUESTS };

/* A cache with the same load in every window, until a test changes the load. */
struct world {
    struct automove_utility mode;
    struct snapshot before, now;
    unsigned pieces; /* the class whose chunks are pieces, not items; 0: none */
    struct { uint64_t hits, tail, ghosts[CACHE_GHOST_DEPTHS], evicted; } a_window[CLASSES + 1];
};

static struct world *fresh(void) {
    static struct world w;
    memset(&w, 0, sizeof w);
    snprintf(w.mode.why, sizeof w.mode.why, "the first window has not ended");
    w.now = (struct snapshot){.time_us = 1000000, .pages_limit = LIMIT, .class_count = CLASSES};
    for (unsigned i = 1; i <= CLASSES; i++) {
        struct snapshot_class *c = &w.now.classes[i];
        *c = (struct snapshot_class){.chunk_bytes = 10000, .chunks_per_page = CHUNKS, .pages = PAGES, .items = PAGES * CHUNKS, .evicted = 1};
        c->signal = (struct cache_signal){.hits = 1000, .ghost_weight = 1, .tail_items = {CHUNKS, 2 * CHUNKS}};
        w.a_window[i].hits = 500;
        w.a_window[i].tail = 20;
    }
    struct decision ignored = {0};
    w.before = w.now;
    automove_utility_decide(&w.mode, &w.before, &w.now, &ignored); /* the first decision */
    return &w;
}

/* Time passes and requests come; then the mode decides. */
static bool after(struct world *w, uint64_t requests, uint64_t us, struct decision *d) {
    double share = (double)requests / WINDOW;
    w->now.time_us += us;
    w->now.requests += requests;
    for (unsigned i = 1; i <= CLASSES; i++) {
        struct snapshot_class *c = &w->now.classes[i];
        uint64_t chunks = (uint64_t)c->pages * CHUNKS;
        c->items = i != w->pieces && chunks > c->free_chunks ? chunks - c->free_chunks : 0;
        struct cache_signal *s = &c->signal;
        s->hits += (uint64_t)((double)w->a_window[i].hits * share);
        s->tail_hits[0] += (uint64_t)((double)w->a_window[i].tail * share);
        s->tail_hits[1] += 2 * (uint64_t)((double)w->a_window[i].tail * share);
        for (unsigned depth = 0; depth < CACHE_GHOST_DEPTHS; depth++) {
            s->ghost_hits[depth] += (uint64_t)((double)w->a_window[i].ghosts[depth] * share);
        }
        w->now.classes[i].evicted += w->a_window[i].evicted;
    }
    *d = (struct decision){0};
    bool any = automove_utility_decide(&w->mode, &w->before, &w->now, d);
    for (unsigned i = 0; i < d->count; i++) {
        w->now.classes[d->moves[i].from].pages -= d->moves[i].pages;
        w->now.classes[d->moves[i].to].pages += d->moves[i].pages;
    }
    if (!d->extend) {
        w->before = w->now;
    }
    return any;
}
static bool window(struct world *w, struct decision *d) { return after(w, WINDOW, 300 * 1000, d); }

static unsigned pages_of(const struct decision *d) {
    unsigned pages = 0;
    for (unsigned i = 0; i < d->count; i++) {
        pages += d->moves[i].pages;
    }
    return pages;
}

TEST(test_a_page_goes_where_it_gains_most) {
    struct world *w = fresh();
    struct decision d;
    w->a_window[2].ghosts[0] = 100;
    w->a_window[3].tail = 5;
    ok(window(w, &d), "a gain of 100 hits against a loss of 5 moves");
    ok(d.count == 1 && d.moves[0].from == 3 && d.moves[0].to == 2 && d.moves[0].pages == 1, "one page, from the class that loses least to the one that gains");
    is_str(d.moves[0].reason, "class 2 would gain 20.75 hits per page and 1000 requests, class 3 lose 1.22", "with the figures, the gain less its doubt");
    w = fresh();
    w->a_window[2].ghosts[4] = 1600; /* the gain begins after 16 pages more, and then is complete */
    ok(window(w, &d) && d.moves[0].to == 2, "1600 hits that 16 pages would make are 100 a page");
}

TEST(test_cases_without_a_move) {
    static const struct {
        uint64_t    gains; /* hits that a page more would bring class 2 */
        uint32_t    pages, pool;
        bool        small; /* class 3 is hit as seldom */
        unsigned    windows;
        const char *why, *claim;
    } rows[] = {
        {0, PAGES, 0, false, 20, "no class would surely gain by a page", "without ghosts nothing moves"},
        {21, PAGES, 0, false, 20, "but no class would lose less", "a gain of 21 against losses of 20 is within the margin"},
        {2, PAGES, 0, true, 1, "", "two sampled hits are no evidence"},
        {100, 1, 0, false, 1, "", "no class gives its last page"},
        {100, PAGES, 5, false, 1, "the pool has 5 pages", "nothing moves while the pool has pages"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct world *w = fresh();
        struct decision d;
        unsigned moves = 0;
        w->a_window[2].ghosts[0] = rows[i].gains;
        w->now.pages_free = rows[i].pool;
        for (unsigned c = 1; c <= CLASSES; c++) {
            w->now.classes[c].pages = rows[i].pages;
        }
        if (rows[i].small) {
            w->a_window[3].tail = 0;
            w->a_window[3].hits = 10;
        }
        for (unsigned n = 0; n < rows[i].windows; n++) {
            moves += window(w, &d);
        }
        ok(moves == 0 && (rows[i].pool == 0 || d.again_us == 0) && strstr(d.why, rows[i].why) != NULL, "%s: %s", rows[i].claim, d.why);
    }
}

TEST(test_windows) {
    struct world *w = fresh();
    struct decision d;
    w->a_window[2].ghosts[0] = 400;
    ok(!after(w, WINDOW / 2, 100 * 1000, &d) && d.extend, "half a window decides nothing and goes on");
    ok(after(w, WINDOW / 2, 100 * 1000, &d) && !d.extend, "a window ends with its requests");
    ok(!after(w, WINDOW - 1, 3600 * UINT64_C(1000000), &d) && d.extend, "with fewer it goes on, an hour if need be");
    after(w, 1, 1000, &d);
    ok(!d.extend, "until they have come");
}

TEST(test_a_class_gets_a_page_a_window) {
    struct world *w = fresh();
    struct decision d;
    unsigned wrong = 0;
    w->a_window[2].ghosts[0] = 4000;
    w->a_window[2].ghosts[3] = 8000;
    w->a_window[3].ghosts[0] = 3000;
    for (unsigned i = 0; i < 6; i++) {
        window(w, &d);
        wrong += d.count != 2 || pages_of(&d) != 2 || d.moves[0].to != 2 || d.moves[1].to != 3 || d.moves[0].from == d.moves[1].from;
    }
    is(wrong, 0, "each class that gains gets a page a window, the one that gains most first, from different classes");
}

/* A sample's order of two nearly equal classes changes with the sample. */
TEST(test_a_page_moves_for_twice_its_cost) {
    struct world *w = fresh();
    struct decision d;
    unsigned moves = 0;
    for (unsigned i = 0; i < 80; i++) {
        unsigned gains = i / 4 % 2 ? 2 : 3;
        w->a_window[2].ghosts[0] = gains == 2 ? 300 : 0;
        w->a_window[3].ghosts[0] = gains == 3 ? 300 : 0;
        w->a_window[2].tail = w->a_window[3].tail = 160;
        w->a_window[1].tail = w->a_window[4].tail = 1000;
        moves += window(w, &d);
    }
    is(moves, 0, "a gain of less than twice the loss moves nothing, however often the two change places");
    w->a_window[2].ghosts[0] = 1000;
    w->a_window[3].ghosts[0] = 0;
    window(w, &d);
    ok(window(w, &d) && d.moves[0].from == 3 && d.moves[0].to == 2, "one that is more does");
}

static void never_read(struct world *w, unsigned class_id) {
    w->now.classes[class_id].signal.hits = 0;
    w->mode.classes[class_id] = (struct utility_class){.evicted_seen = 1};
    w->a_window[class_id].hits = w->a_window[class_id].tail = 0;
}

TEST(test_unread_pages_go_at_once) {
    struct world *w = fresh();
    struct decision d;
    never_read(w, 1);
    w->a_window[2].evicted = 5 * CHUNKS + 1;
    ok(after(w, 10, 50 * 1000, &d) && d.extend, "pages that were never read need no window");
    ok(d.moves[0].from == 1 && d.moves[0].to == 2, "they go to the class that evicts");
    is(pages_of(&d), 6, "as many as would have held its evicted items");
    is_str(d.moves[0].reason, "class 2 evicts, class 1 was never read", "and it says so");
    ok(d.again_us > 0 && d.again_us < UTILITY_LOOK_US, "the mode looks again soon");

    w = fresh();
    w->a_window[1].hits = w->a_window[1].tail = 0;
    w->a_window[2].evicted = CHUNKS;
    after(w, 2 * WINDOW, 900 * 1000, &d);
    is(d.count, 0, "a class that was read within the last second keeps its pages");
    after(w, WINDOW, 200 * 1000, &d);
    ok(d.count == 1 && strcmp(d.moves[0].reason, "class 2 evicts, class 1 is not read any more") == 0, "after that it gives: %s", d.moves[0].reason);

    w = fresh();
    never_read(w, 1);
    w->a_window[1].evicted = w->a_window[2].evicted = CHUNKS;
    after(w, 10, 50 * 1000, &d);
    is(d.count, 0, "one in which as much is stored gives nothing");

    w = fresh();
    w->now.classes[4].free_chunks = 2 * CHUNKS;
    w->a_window[2].evicted = 5 * CHUNKS;
    after(w, 10, 50 * 1000, &d);
    ok(d.count == 1 && d.moves[0].from == 4 && d.moves[0].pages == 2, "a class gives pages' worth of free chunks, and no more");
}

/* Stores alone, without reads. A class takes free chunks, then evicts; a class that donates a page uses up its free chunks first. */
struct writes {
    struct world *w;
    uint64_t      x, moved;
    unsigned      rates[CLASSES + 1]; /* sets a decision, on the average */
};

static struct writes fresh_writes(uint64_t seed) {
    struct writes s = {.w = fresh(), .x = seed};
    for (unsigned i = 1; i <= CLASSES; i++) {
        never_read(s.w, i);
        s.w->a_window[i].evicted = 0;
    }
    return s;
}

static uint64_t draw(uint64_t *x, uint64_t below) {
    tap_random(x);
    return (*x >> 11) % below;
}

static void write_some(struct writes *s, unsigned looks) {
    for (unsigned n = 0; n < looks; n++) {
        uint64_t requests = 0;
        struct decision d;
        for (unsigned i = 1; i <= CLASSES; i++) {
            struct snapshot_class *c = &s->w->now.classes[i];
            uint64_t sets = s->rates[i] > 0 ? draw(&s->x, 2 * s->rates[i] + 1) : 0, fit = sets < c->free_chunks ? sets : c->free_chunks;
            c->cmd_set += sets;
            c->free_chunks -= fit;
            c->evicted += sets - fit;
            requests += sets;
        }
        after(s->w, requests, 2000, &d);
        for (unsigned i = 0; i < d.count; i++) {
            struct snapshot_class *from = &s->w->now.classes[d.moves[i].from], *to = &s->w->now.classes[d.moves[i].to];
            uint64_t chunks = (uint64_t)d.moves[i].pages * CHUNKS;
            from->free_chunks -= chunks < from->free_chunks ? chunks : from->free_chunks;
            to->free_chunks += chunks;
            s->moved += d.moves[i].pages;
        }
    }
}

static void test_classes_only_written_keep_their_pages(uint64_t seed) {
    struct writes s = fresh_writes(seed);
    uint64_t unused = 0;
    s.rates[1] = s.rates[2] = s.rates[3] = s.rates[4] = 10;
    write_some(&s, 10000);
    for (unsigned i = 1; i <= CLASSES; i++) {
        unused += s.w->now.classes[i].free_chunks;
    }
    ok(s.moved <= 4, "classes that are written to alike and not read move no pages to and fro: %u moved", (unsigned)s.moved);
    is(unused, 0, "and all of their memory is in use");

    s.rates[2] = 0;
    write_some(&s, 2000);
    is(s.w->now.classes[2].pages, 1, "one that nothing is written to any more gives all of its pages but one");
    uint64_t moved = s.moved;
    write_some(&s, 10000);
    ok(s.moved - moved <= 2, "and then they rest: %u moved", (unsigned)(s.moved - moved));

    s.rates[2] = 10;
    write_some(&s, 3000);
    uint32_t pages = s.w->now.classes[2].pages;
    ok(pages >= 3 && pages <= PAGES, "written to again it gets some back: %u", pages);
    moved = s.moved;
    write_some(&s, 10000);
    ok(s.moved - moved <= 2, "and they rest again: %u moved", (unsigned)(s.moved - moved));
}

/* Hits, sets and evictions of a chained value count in the class of its head. */
TEST(test_pieces_of_large_values_are_not_idle) {
    struct world *w = fresh();
    struct decision d;
    never_read(w, 3);
    w->a_window[3].evicted = 0;
    w->a_window[2].evicted = CHUNKS;
    w->a_window[2].ghosts[0] = 300;
    w->pieces = 3;
    for (unsigned i = 0; i < 40; i++) {
        window(w, &d);
    }
    is(w->now.classes[3].pages, PAGES, "a class of pieces of large values, which shows no hits, keeps its pages");
    w->pieces = 0;
    for (unsigned i = 0; i < 40; i++) {
        window(w, &d);
    }
    is(w->now.classes[3].pages, 1, "a class of items that nobody reads does not");
}

/* A class whose size is no longer wanted has no figures; its id soon belongs to another class, whose counters start anew. */
TEST(test_an_id_that_changes_hands_gets_nothing_for_it) {
    struct world *w = fresh();
    struct decision d;
    never_read(w, 1);
    w->a_window[2].ghosts[0] = 300;
    w->now.classes[2].evicted = w->mode.classes[2].evicted_seen = 5000;
    after(w, 10, 50 * 1000, &d);
    is(d.count, 0, "a class that evicted");
    w->now.classes[2] = (struct snapshot_class){.chunk_bytes = 10000, .chunks_per_page = CHUNKS, .signal = w->now.classes[2].signal};
    after(w, 10, 50 * 1000, &d);
    is(d.count, 0, "evicts nothing once it is retired");
    ok(!window(w, &d) && !window(w, &d), "and gets no page for the ghosts that it leaves");
    w->now.classes[2].pages = 1;
    after(w, 10, 50 * 1000, &d);
    is(d.count, 0, "nor does the next class of its id for the evictions of the one before");
    w->now.classes[2].evicted = CHUNKS;
    ok(after(w, 10, 50 * 1000, &d) && d.moves[0].to == 2, "but for its own evictions");
}

/* New stores fill the pages that were taken for earlier ones; only stores beyond these pages evict. */
TEST(test_a_flood_is_followed) {
    enum { LOOKS = 24, PAGES_COME = 5 };
    struct world *w = fresh();
    struct decision d = {0};
    never_read(w, 1);
    w->now.classes[1].pages = 500;
    unsigned room = 0, evicted = 0;
    for (unsigned i = 0; i < LOOKS; i++) {
        unsigned filled = room < PAGES_COME ? room : PAGES_COME;
        w->a_window[2].evicted = (uint64_t)CHUNKS * (PAGES_COME - filled);
        evicted += PAGES_COME - filled;
        after(w, 10, 2 * 1000, &d);
        room = room - filled + pages_of(&d);
    }
    ok(evicted <= LOOKS * PAGES_COME / 3, "%u of %d pages that came found none got for them", evicted, LOOKS * PAGES_COME);
    w->a_window[2].evicted = 0;
    after(w, 10, 2 * 1000, &d);
    is(d.count, 0, "and none is taken when no more comes");
}

TEST(test_a_class_with_nothing_is_served) {
    struct world *w = fresh();
    struct decision d = {0};
    w->a_window[3].tail = 1;
    window(w, &d);
    w->now.classes[2].pages = 0;
    w->now.classes[2].starved = true;
    d = (struct decision){0};
    ok(automove_utility_at_need(&w->mode, &w->now, &d) && d.moves[0].to == 2 && d.moves[0].from == 3, "a class with nothing gets a page of the class that loses least");
    w->now.classes[2].free_chunks = 1;
    d = (struct decision){0};
    ok(!automove_utility_at_need(&w->mode, &w->now, &d), "not once it has a free chunk");
}

static void test_bounds_hold_on_random_loads(uint64_t x) {
    struct world *w = fresh();
    struct decision d;
    unsigned wrong = 0, moves = 0;
    for (unsigned round = 0; round < 20000; round++) {
        tap_random(&x);
        unsigned i = 1 + (unsigned)(x >> 3) % CLASSES;
        switch (x % 6) {
        case 0: w->a_window[i].hits = (x >> 20) % 3000; break;
        case 1: w->a_window[i].tail = (x >> 20) % 300; break;
        case 2: w->a_window[i].ghosts[(x >> 8) % CACHE_GHOST_DEPTHS] = (x >> 20) % 3000; break;
        case 3: w->a_window[i].evicted = (x >> 20) % 3 ? 0 : (x >> 20) % 1000; break;
        case 4: w->now.classes[i].free_chunks = (x >> 20) % 300; break;
        default: w->now.classes[i].signal.tail_items[0] = (x >> 20) % 3 * 50; break;
        }
        after(w, (x >> 40) % (2 * WINDOW), (x >> 30) % 1000000, &d);
        moves += d.count;
        wrong += d.count == 0 && *d.why == '\0';
        uint32_t all = 0;
        for (unsigned c = 1; c <= CLASSES; c++) {
            wrong += w->now.classes[c].pages == 0 || w->now.classes[c].pages > LIMIT;
            all += w->now.classes[c].pages;
        }
        wrong += all != LIMIT;
        for (unsigned m = 0; m < d.count; m++) {
            wrong += d.moves[m].from == d.moves[m].to || d.moves[m].pages == 0 || *d.moves[m].reason == '\0';
        }
    }
    ok(moves > 100, "random loads move pages (%u)", moves);
    is(wrong, 0, "never a last page, none to itself, none without a reason");
}

int main(void) {
    uint64_t seed = tap_seed() | 1;
    tap_run_tests();
    test_classes_only_written_keep_their_pages(seed);
    test_bounds_hold_on_random_loads(seed);
    return tap_done();
}
