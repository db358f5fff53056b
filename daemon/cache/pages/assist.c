/* Sets that help the mover, and emptied pages that wait for turns.
 *
 * Up to CACHE_HELP_PAGES pages are under way at a time. Each belongs to one thread while that works
 * on it, and nobody waits for such a page: if the scheduler stops a thread there, others find or
 * begin another page. For each byte of the chunk that it wants a set goes over HELP_SHARE bytes of
 * pages, for HELP_US at most, so it costs in proportion to what it stores.
 *
 * A decision of the mover says how many pages sets may begin. They go on with those until the class
 * needs no more or another decision is made for other classes: then unfinished pages go back.
 *
 * An emptied page changes hands once all turns have ended that were under way when it became empty.
 * A set of its class that finds nothing free looks for that, and so does the tuner. The mover
 * leaves pages that it has emptied here, too: on a core that workers fill, a turn takes some 10 ms
 * to end, because its thread waits for the core.
 *
 * What it reaches: calcify with the server on one core and the client on the other, nothing else
 * running. In utility all four phases ended with 61 pages of 64 or more in 17 runs of 17, in
 * eviction in 22 of 28 (the others had a phase of 21, 34, or 56 to 59). While the mover ended what
 * sets had begun, and sets evicted for those 25 to 80 ms of the 150 to 400 that a phase takes, that
 * was 0 of 13 and 3 of 8, with phases of 1 to 7 pages. */
#include "cache/pages/assist.h"

#include <unistd.h>

#include "cache/pages/epoch_turn.h"

/* The experiment behind the constants: the four phases of tests/bench/calcify at full speed, the
 * server pinned to one core. Figures are pages of 64 that the phase's class has at the end of its
 * last two phases. */
enum {
    /* 4: 62 pages. With 2 a phase that stores 1.5 times the memory ends with 49 to 52 pages,
     * because sets that find something free do no work. */
    HELP_SHARE = 4,
    /* bounds the time of one set, whatever it stores */
    HELP_US = 200,
    STEP_BYTES = 4096, /* bytes between two looks at the clock, or one larger chunk */
    /* a page in which something stays in use goes back after so long, for sets find another */
    HELP_PATIENCE_US = 5000,
    /* After so long a set rests once outside its turn. Turns of threads that run end sooner. Turns
     * of threads that wait for this thread's core took 6 to 12 ms to end; with a set that never
     * rests the phases ended with 33 and 47 pages. */
    TURNS_WAIT_US = 500,
    HELD_LOOK_US = 20,
};

static bool hold(struct helped_page *h) {
    return !atomic_exchange_explicit(&h->held, true, memory_order_acquire);
}

static enum page_move_state state_of(const struct helped_page *h) {
    return (enum page_move_state)atomic_load_explicit(&h->state, memory_order_relaxed);
}

static void add(_Atomic uint64_t *n, uint64_t more) {
    if (more > 0) {
        atomic_fetch_add_explicit(n, more, memory_order_relaxed);
    }
}

/* Tells other threads what became of a page that this thread holds. */
static void note_state(struct help *help, struct helped_page *h) {
    bool waited = state_of(h) == PAGE_MOVE_EMPTIED, waits = h->page.state == PAGE_MOVE_EMPTIED;
    atomic_store_explicit(&h->state, (uint8_t)h->page.state, memory_order_relaxed);
    if (waits != waited) {
        atomic_fetch_add_explicit(&help->waiting, waits ? 1 : -1u, memory_order_relaxed);
    }
}

/* Puts the page back if it is in this state. The caller holds it. */
static void put_back(struct cache_thread *ct, struct helped_page *h, enum page_move_state state) {
    if (state_of(h) == state) {
        page_move_put_back(&h->page, ct);
        note_state(&ct->cache->help, h);
    }
}

/* The decision that a page being emptied was begun for. 0: it is not being emptied. */
static uint32_t pair_of(const struct cache *c, const struct helped_page *h) {
    return state_of(h) == PAGE_MOVE_EMPTYING
               ? help_pair(slab_page_class(c->slab, h->page.page), h->page.to)
               : 0;
}

/* If the decision ends while a set holds the page, whoever ends it waits for nobody: the set puts
 * the page back. One of the two sees what the other did, because of the fence here and that in
 * cache_help_end. */
static void let_go(struct cache_thread *ct, struct helped_page *h) {
    struct help *help = &ct->cache->help;
    uint32_t begun_for = pair_of(ct->cache, h), now;
    atomic_store_explicit(&h->held, false, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    now = atomic_load_explicit(&help->pair, memory_order_relaxed);
    if (begun_for != 0 && begun_for != now && hold(h)) {
        if (pair_of(ct->cache, h) == begun_for) {
            put_back(ct, h, PAGE_MOVE_EMPTYING);
        }
        atomic_store_explicit(&h->held, false, memory_order_release);
    }
}

static bool step(struct help *help, struct helped_page *h, struct page_driver *d) {
    bool moved = page_move_step(&h->page, d);
    note_state(help, h);
    return moved;
}

/* --- a page to begin with --- */

/* Takes one from the number of pages that sets may begin. False: none is left. */
static bool take_one(struct help *help) {
    uint32_t left = atomic_load_explicit(&help->left, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak_explicit(
                           &help->left, &left, left - 1, memory_order_relaxed,
                           memory_order_relaxed)) {
    }
    return left > 0;
}

/* Takes the next of the pages that were picked, or picks some. False: there is none, or another
 * thread is picking. */
static bool pick(struct cache_thread *ct, unsigned from, unsigned to, struct moving_page *m) {
    struct help *help = &ct->cache->help;
    bool taken = false;
    if (atomic_exchange_explicit(&help->picking, true, memory_order_acquire)) {
        return false;
    }
    if (help->pick_at >= help->pick_count || help->picked_from != from) {
        help->picked_from = from;
        help->pick_at = 0;
        help->pick_count =
            cache_spare_pages(ct, from, PICK_LEAST_VALUE, help->picked, CACHE_SPARE_MAX);
    }
    while (!taken && help->pick_at < help->pick_count) {
        uint32_t page = help->picked[help->pick_at++];
        taken = !cache_page_in_use(ct->cache, page) && page_move_begin(m, ct, page, from, to, 1);
    }
    atomic_store_explicit(&help->picking, false, memory_order_release);
    return taken;
}

/* Begins a page; the caller holds its place. The decision may have ended meanwhile: then false. A
 * donor that evicts has been stored to since the mover decided, and keeps its pages. */
static bool begin(struct cache_thread *ct, struct helped_page *h, unsigned class_id) {
    struct help *help = &ct->cache->help;
    uint32_t pair = atomic_load_explicit(&help->pair, memory_order_relaxed);
    unsigned from = help_donor(pair);
    if (pair == 0 || help_receiver(pair) != class_id ||
        class_set_shared_has(&ct->cache->hunger, from) ||
        slab_pages_beyond(ct->cache->slab, from, 1) == 0 || !take_one(help)) {
        return false;
    }
    if (!pick(ct, from, class_id, &h->page)) {
        atomic_fetch_add_explicit(&help->left, 1, memory_order_relaxed);
        return false;
    }
    note_state(help, h);
    add(&help->pages, state_of(h) == PAGE_MOVE_EMPTIED); /* nothing lived there */
    return true;
}

/* --- emptying it, and handing it over --- */

/* Goes over a part of the page; returns how many bytes it went over. */
static uint32_t empty_some(struct cache_thread *ct, struct helped_page *h) {
    struct help *help = &ct->cache->help;
    struct page_driver d = {.ct = ct,
                            .now_us = clock_mono_us(),
                            .step_bytes = STEP_BYTES,
                            .patience_us = HELP_PATIENCE_US};
    step(help, h, &d);
    add(&help->bytes_passed, h->page.passed_bytes);
    add(&help->did.rescued, d.did.rescued);
    add(&help->did.chunks_rescued, d.did.chunks_rescued);
    add(&help->did.evicted, d.did.evicted);
    add(&help->did.expired, d.did.expired);
    add(&help->pages, state_of(h) == PAGE_MOVE_EMPTIED);
    return h->page.passed_bytes;
}

/* One set's work: what it still has to go over, and what came of it. */
struct helping {
    struct cache_thread *ct;
    unsigned             class_id;
    uint32_t             bytes;
    uint64_t             until_us;
    bool                 got;  /* the class has got a page */
    bool                 late; /* an emptied page has waited too long for turns */
    bool                 none; /* there is no page to begin */
};

/* Does what is due for a page that the set holds: begins it, empties a part, or hands it over. */
static void help_with(struct helping *s, struct helped_page *h) {
    struct help *help = &s->ct->cache->help;
    if (state_of(h) == PAGE_MOVE_NONE && s->bytes > 0 && !s->none) {
        s->none = !begin(s->ct, h, s->class_id);
    }
    if (h->page.to != s->class_id) {
        return;
    }
    while (state_of(h) == PAGE_MOVE_EMPTYING && s->bytes > 0) {
        uint32_t passed = empty_some(s->ct, h);
        bool more = passed < s->bytes && clock_mono_us() < s->until_us;
        s->bytes = more ? s->bytes - passed : 0;
    }
    if (state_of(h) == PAGE_MOVE_EMPTIED) {
        struct page_driver d = {.ct = s->ct};
        s->got = step(help, h, &d);
        s->late = s->late || clock_mono_us() - h->page.emptied_us > TURNS_WAIT_US;
    }
}

static void help_with_each(struct helping *s) {
    struct help *help = &s->ct->cache->help;
    for (unsigned i = 0; i < CACHE_HELP_PAGES && !s->got; i++) {
        struct helped_page *h = &help->each[i];
        if (hold(h)) {
            help_with(s, h);
            let_go(s->ct, h);
        }
    }
}

/* An emptied page waits for turns. They end within a moment, unless their threads wait for the core
 * that this thread uses: then this thread rests once. */
void help_with_pages(struct cache_thread *ct, unsigned class_id) {
    struct helping s = {.ct = ct,
                        .class_id = class_id,
                        .until_us = clock_mono_us() + HELP_US,
                        .bytes = HELP_SHARE * slab_chunk_bytes(ct->cache->slab, class_id)};
    turn_leave(ct->turn); /* nobody need wait for us */
    turn_enter(ct->turn);
    help_with_each(&s);
    if (s.late && !s.got) {
        turn_rest(ct);
        help_with_each(&s);
    }
}

/* --- the mover's side --- */

/* Puts back the pages in this state that no other thread holds. */
static void put_back_all(struct cache_thread *ct, enum page_move_state state) {
    for (unsigned i = 0; i < CACHE_HELP_PAGES; i++) {
        struct helped_page *h = &ct->cache->help.each[i];
        if (hold(h)) {
            put_back(ct, h, state);
            let_go(ct, h);
        }
    }
}

void cache_help_end(struct cache_thread *ct) {
    struct help *help = &ct->cache->help;
    atomic_store_explicit(&help->pair, 0, memory_order_relaxed);
    atomic_store_explicit(&help->left, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with let_go */
    put_back_all(ct, PAGE_MOVE_EMPTYING);
}

/* Only the mover's thread ends a decision, so nothing has to be put back when it lets go. */
bool help_names(struct cache *c, struct class_set *to) {
    uint32_t pair = atomic_load_explicit(&c->help.pair, memory_order_relaxed);
    class_set_add(to, help_donor(pair));
    class_set_add(to, help_receiver(pair));
    for (unsigned i = 0; i < CACHE_HELP_PAGES; i++) {
        struct helped_page *h = &c->help.each[i];
        if (!hold(h)) {
            return false;
        }
        if (state_of(h) != PAGE_MOVE_NONE) {
            class_set_add(to, h->page.to);
        }
        atomic_store_explicit(&h->held, false, memory_order_release);
    }
    return true;
}

void cache_help_begin(struct cache_thread *ct, unsigned from, unsigned to, uint32_t pages) {
    struct cache *c = ct->cache;
    struct help *help = &c->help;
    uint32_t was = atomic_load_explicit(&help->pair, memory_order_relaxed);
    if (was != 0 && was != help_pair(from, to)) {
        cache_help_end(ct);
    }
    atomic_store_explicit(&help->left, pages, memory_order_relaxed);
    atomic_store_explicit(&help->pair, help_pair(from, to), memory_order_release);
}

struct cache_help_state cache_help_state(const struct cache *c) {
    const struct help *help = &c->help;
    struct cache_help_state now = {
        .open = atomic_load_explicit(&help->pair, memory_order_relaxed) != 0,
        .pages = (uint32_t)atomic_load_explicit(&help->pages, memory_order_relaxed),
        .left = atomic_load_explicit(&help->left, memory_order_relaxed),
        .bytes = atomic_load_explicit(&help->bytes_passed, memory_order_relaxed),
    };
    for (unsigned i = 0; i < CACHE_HELP_PAGES; i++) {
        now.under_way += state_of(&help->each[i]) != PAGE_MOVE_NONE;
    }
    return now;
}

static uint64_t take_count(_Atomic uint64_t *n) {
    return atomic_exchange_explicit(n, 0, memory_order_relaxed);
}

struct cache_helped cache_help_count(struct cache *c) {
    struct help *help = &c->help;
    return (struct cache_helped){
        .pages = (uint32_t)take_count(&help->pages),
        .did = {.rescued = take_count(&help->did.rescued),
                .chunks_rescued = take_count(&help->did.chunks_rescued),
                .evicted = take_count(&help->did.evicted),
                .expired = take_count(&help->did.expired)},
    };
}

/* --- emptied pages, which wait for turns --- */

bool cache_help_leave(struct cache_thread *ct, const struct moving_page *emptied) {
    struct help *help = &ct->cache->help;
    bool left = false;
    for (unsigned i = 0; i < CACHE_HELP_PAGES && !left; i++) {
        struct helped_page *h = &help->each[i];
        if (!hold(h)) {
            continue;
        }
        left = state_of(h) == PAGE_MOVE_NONE;
        if (left) {
            h->page = *emptied;
            note_state(help, h);
        }
        let_go(ct, h);
    }
    return left;
}

unsigned cache_help_waiting(const struct cache *c) {
    return atomic_load_explicit(&c->help.waiting, memory_order_relaxed);
}

bool cache_help_hand_over(struct cache_thread *ct) {
    struct help *help = &ct->cache->help;
    struct page_driver d = {.ct = ct};
    bool handed = false;
    for (unsigned i = 0; i < CACHE_HELP_PAGES && !handed; i++) {
        struct helped_page *h = &help->each[i];
        if (state_of(h) != PAGE_MOVE_EMPTIED || !hold(h)) {
            continue;
        }
        handed = state_of(h) == PAGE_MOVE_EMPTIED && step(help, h, &d);
        let_go(ct, h);
    }
    return handed;
}

void cache_help_settle(struct cache_thread *ct, uint64_t deadline_us) {
    uint64_t until_us = clock_mono_us() + deadline_us;
    while (cache_help_hand_over(ct) || cache_help_waiting(ct->cache) > 0) {
        if (clock_mono_us() >= until_us) {
            put_back_all(ct, PAGE_MOVE_EMPTIED);
        }
        usleep(HELD_LOOK_US);
    }
}
