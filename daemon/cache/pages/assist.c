/* Sets that assist the mover, and emptied pages that wait for turns.
 *
 * Up to CACHE_ASSIST_PAGES pages are under way at a time. A page belongs to one thread while that
 * thread works on the page, and no thread waits for such a page: if the scheduler stops its thread,
 * other threads find or begin another page. For each byte of the chunk that a set wants, the set
 * goes over ASSIST_SHARE bytes of pages, for ASSIST_US at most: the cost is in proportion to the
 * store.
 *
 * The mover's decision limits the number of pages that sets may begin. Sets work on these pages
 * until the class needs no more, or until a decision for other classes: then unfinished pages go
 * back.
 *
 * An emptied page changes hands once all turns have ended that were under way when the page became
 * empty. A set of its class that finds no free chunk checks for that, and so does the tuner. The
 * mover defers its own emptied pages here, too: on a core that workers fill, a turn takes some 10
 * ms to end, because its thread waits for the core. BENCHMARKS.md has the effect on calcify. */
#include "cache/pages/assist.h"

#include <unistd.h>

#include "cache/pages/epoch_turn.h"

/* Measured with the four phases of tests/bench/calcify at full speed, the server pinned to one
 * core. Figures are pages of 64 that the phase's class has at the end of the last two phases. */
enum {
    /* With 4, phases end with 62 pages. With 2, a phase that stores 1.5 times the memory ends with
     * 49 to 52 pages, because sets that find a free chunk do no work. */
    ASSIST_SHARE = 4,
    /* bounds the time of one set */
    ASSIST_US = 200,
    STEP_BYTES = 4096, /* bytes between two readings of the clock, or one larger chunk */
    /* after this time a page in which something is still in use goes back, and sets take another
     * page */
    ASSIST_PATIENCE_US = 5000,
    /* After this time a set pauses once outside its turn. Turns of running threads end sooner.
     * Turns of threads that wait for this thread's core took 6 to 12 ms to end; without pauses the
     * phases ended with 33 and 47 pages. */
    TURNS_WAIT_US = 500,
    HELD_POLL_US = 20,
};

static bool assist_hold(struct assist_page *h) {
    return !atomic_exchange_explicit(&h->held, true, memory_order_acquire);
}

static enum page_move_state assist_state(const struct assist_page *h) {
    return (enum page_move_state)atomic_load_explicit(&h->state, memory_order_relaxed);
}

static void assist_add(_Atomic uint64_t *n, uint64_t more) {
    if (more > 0) {
        atomic_fetch_add_explicit(n, more, memory_order_relaxed);
    }
}

/* Publishes the state of a page that this thread holds. */
static void assist_note_state(struct assist *assist, struct assist_page *h) {
    bool waited = assist_state(h) == PAGE_MOVE_EMPTIED, waits = h->page.state == PAGE_MOVE_EMPTIED;
    atomic_store_explicit(&h->state, (uint8_t)h->page.state, memory_order_relaxed);
    if (waits && !waited) {
        atomic_fetch_add_explicit(&assist->waiting, 1, memory_order_relaxed);
    } else if (waited && !waits) {
        atomic_fetch_sub_explicit(&assist->waiting, 1, memory_order_relaxed);
    }
}

/* Puts the page back if the page is in this state. The caller holds the page. */
static void assist_put_back(struct cache_thread *ct, struct assist_page *h,
                            enum page_move_state state) {
    if (assist_state(h) == state) {
        page_move_put_back(&h->page, ct);
        assist_note_state(&ct->cache->assist, h);
    }
}

/* The decision for which the page is being emptied; 0: the page is not being emptied. */
static uint32_t assist_page_pair(const struct cache *c, const struct assist_page *h) {
    return assist_state(h) == PAGE_MOVE_EMPTYING
               ? assist_pair(slab_page_class(c->slab, h->page.page), h->page.to)
               : 0;
}

/* If the decision ends while a set holds the page, the mover waits for nobody: the set puts the
 * page back. One of the two sees the other's store, because of the fence here and the fence in
 * cache_assist_end. */
static void assist_release(struct cache_thread *ct, struct assist_page *h) {
    struct assist *assist = &ct->cache->assist;
    uint32_t begun_for = assist_page_pair(ct->cache, h), now;
    atomic_store_explicit(&h->held, false, memory_order_release);
    atomic_thread_fence(memory_order_seq_cst);
    now = atomic_load_explicit(&assist->pair, memory_order_relaxed);
    if (begun_for != 0 && begun_for != now && assist_hold(h)) {
        if (assist_page_pair(ct->cache, h) == begun_for) {
            assist_put_back(ct, h, PAGE_MOVE_EMPTYING);
        }
        atomic_store_explicit(&h->held, false, memory_order_release);
    }
}

static bool assist_step(struct assist *assist, struct assist_page *h, struct page_driver *d) {
    bool moved = page_move_step(&h->page, d);
    assist_note_state(assist, h);
    return moved;
}

/* --- a page to begin with --- */

/* Takes one of the pages that sets may begin. False: none is left. */
static bool assist_take_one(struct assist *assist) {
    uint32_t left = atomic_load_explicit(&assist->left, memory_order_relaxed);
    while (left > 0 &&
           !atomic_compare_exchange_weak_explicit(&assist->left, &left, left - 1,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
    return left > 0;
}

/* Takes the next of the chosen pages, or chooses some. False: there is none, or another thread is
 * choosing. */
static bool assist_pick(struct cache_thread *ct, unsigned from, unsigned to,
                        struct moving_page *m) {
    struct assist *assist = &ct->cache->assist;
    bool taken = false;
    if (atomic_exchange_explicit(&assist->picking, true, memory_order_acquire)) {
        return false;
    }
    if (assist->pick_at >= assist->pick_count || assist->picked_from != from) {
        assist->picked_from = from;
        assist->pick_at = 0;
        assist->pick_count =
            cache_choose_pages(ct, from, PICK_LEAST_VALUE, assist->picked, CACHE_CHOOSE_MAX);
    }
    while (!taken && assist->pick_at < assist->pick_count) {
        uint32_t page = assist->picked[assist->pick_at++];
        taken = !cache_page_in_use(ct->cache, page) && page_move_begin(m, ct, page, from, to, 1);
    }
    atomic_store_explicit(&assist->picking, false, memory_order_release);
    return taken;
}

/* Begins a page; the caller holds its place. False: no page could be begun, or the decision has
 * ended. A donor that evicts has got stores since the mover's decision, and retains its pages. */
static bool assist_begin(struct cache_thread *ct, struct assist_page *h, unsigned class_id) {
    struct assist *assist = &ct->cache->assist;
    uint32_t pair = atomic_load_explicit(&assist->pair, memory_order_relaxed);
    unsigned from = assist_donor(pair);
    if (pair == 0 || assist_receiver(pair) != class_id ||
        class_set_shared_has(&ct->cache->starved, from) ||
        slab_pages_beyond(ct->cache->slab, from, 1) == 0 || !assist_take_one(assist)) {
        return false;
    }
    if (!assist_pick(ct, from, class_id, &h->page)) {
        atomic_fetch_add_explicit(&assist->left, 1, memory_order_relaxed);
        return false;
    }
    assist_note_state(assist, h);
    assist_add(&assist->pages, assist_state(h) == PAGE_MOVE_EMPTIED); /* nothing lived there */
    return true;
}

/* --- emptying and handing over --- */

/* Goes over a part of the page; returns the number of bytes. */
static uint32_t assist_empty_some(struct cache_thread *ct, struct assist_page *h) {
    struct assist *assist = &ct->cache->assist;
    struct page_driver d = {.ct = ct,
                            .now_us = clock_mono_us(),
                            .step_bytes = STEP_BYTES,
                            .wait_us = ASSIST_PATIENCE_US};
    assist_step(assist, h, &d);
    assist_add(&assist->bytes_scanned, h->page.scanned_bytes);
    assist_add(&assist->did.rescued, d.did.rescued);
    assist_add(&assist->did.chunks_rescued, d.did.chunks_rescued);
    assist_add(&assist->did.evicted, d.did.evicted);
    assist_add(&assist->did.expired, d.did.expired);
    assist_add(&assist->pages, assist_state(h) == PAGE_MOVE_EMPTIED);
    return h->page.scanned_bytes;
}

/* One set's work: the bytes left to go over, and the result. */
struct assist_work {
    struct cache_thread *ct;
    unsigned             class_id;
    uint32_t             bytes;
    uint64_t             until_us;
    bool                 got;  /* the class has got a page */
    bool                 overdue; /* an emptied page has waited too long for turns */
    bool                 none; /* there is no page to begin */
};

/* Takes the next step of a page that the set holds: begins it, empties a part, or hands it over. */
static void assist_with_page(struct assist_work *s, struct assist_page *h) {
    struct assist *assist = &s->ct->cache->assist;
    if (assist_state(h) == PAGE_MOVE_NONE && s->bytes > 0 && !s->none) {
        s->none = !assist_begin(s->ct, h, s->class_id);
    }
    if (h->page.to != s->class_id) {
        return;
    }
    while (assist_state(h) == PAGE_MOVE_EMPTYING && s->bytes > 0) {
        uint32_t passed = assist_empty_some(s->ct, h);
        bool more = passed < s->bytes && clock_mono_us() < s->until_us;
        s->bytes = more ? s->bytes - passed : 0;
    }
    if (assist_state(h) == PAGE_MOVE_EMPTIED) {
        struct page_driver d = {.ct = s->ct};
        s->got = assist_step(assist, h, &d);
        s->overdue = s->overdue || clock_mono_us() - h->page.emptied_us > TURNS_WAIT_US;
    }
}

static void assist_with_each(struct assist_work *s) {
    struct assist *assist = &s->ct->cache->assist;
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES && !s->got; i++) {
        struct assist_page *h = &assist->each[i];
        if (assist_hold(h)) {
            assist_with_page(s, h);
            assist_release(s->ct, h);
        }
    }
}

/* An emptied page waits for turns. Turns end within a moment, unless their threads wait for this
 * thread's core: then this thread pauses once. */
void assist_pages(struct cache_thread *ct, unsigned class_id) {
    struct assist_work s = {.ct = ct,
                            .class_id = class_id,
                            .until_us = clock_mono_us() + ASSIST_US,
                            .bytes = ASSIST_SHARE * slab_chunk_bytes(ct->cache->slab, class_id)};
    turn_leave(ct->turn); /* so that nobody waits for this thread */
    turn_enter(ct->turn);
    assist_with_each(&s);
    if (s.overdue && !s.got) {
        turn_pause(ct);
        assist_with_each(&s);
    }
}

/* --- the mover's side --- */

/* Puts back the pages in this state that no other thread holds. */
static void assist_put_back_all(struct cache_thread *ct, enum page_move_state state) {
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES; i++) {
        struct assist_page *h = &ct->cache->assist.each[i];
        if (assist_hold(h)) {
            assist_put_back(ct, h, state);
            assist_release(ct, h);
        }
    }
}

void cache_assist_end(struct cache_thread *ct) {
    struct assist *assist = &ct->cache->assist;
    atomic_store_explicit(&assist->pair, 0, memory_order_relaxed);
    atomic_store_explicit(&assist->left, 0, memory_order_relaxed);
    atomic_thread_fence(memory_order_seq_cst); /* pairs with assist_release */
    assist_put_back_all(ct, PAGE_MOVE_EMPTYING);
}

/* Only the mover's thread ends a decision, so no page has to be put back on release. */
bool assist_add_classes(struct cache *c, struct class_set *to) {
    uint32_t pair = atomic_load_explicit(&c->assist.pair, memory_order_relaxed);
    class_set_add(to, assist_donor(pair));
    class_set_add(to, assist_receiver(pair));
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES; i++) {
        struct assist_page *h = &c->assist.each[i];
        if (!assist_hold(h)) {
            return false;
        }
        if (assist_state(h) != PAGE_MOVE_NONE) {
            class_set_add(to, h->page.to);
        }
        atomic_store_explicit(&h->held, false, memory_order_release);
    }
    return true;
}

void cache_assist_begin(struct cache_thread *ct, unsigned from, unsigned to, uint32_t pages) {
    struct cache *c = ct->cache;
    struct assist *assist = &c->assist;
    uint32_t was = atomic_load_explicit(&assist->pair, memory_order_relaxed);
    if (was != 0 && was != assist_pair(from, to)) {
        cache_assist_end(ct);
    }
    atomic_store_explicit(&assist->left, pages, memory_order_relaxed);
    atomic_store_explicit(&assist->pair, assist_pair(from, to), memory_order_release);
}

struct cache_assist_state cache_assist_state(const struct cache *c) {
    const struct assist *assist = &c->assist;
    struct cache_assist_state now = {
        .open = atomic_load_explicit(&assist->pair, memory_order_relaxed) != 0,
        .pages = (uint32_t)atomic_load_explicit(&assist->pages, memory_order_relaxed),
        .left = atomic_load_explicit(&assist->left, memory_order_relaxed),
        .bytes = atomic_load_explicit(&assist->bytes_scanned, memory_order_relaxed),
    };
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES; i++) {
        now.under_way += assist_state(&assist->each[i]) != PAGE_MOVE_NONE;
    }
    return now;
}

static uint64_t assist_take_count(_Atomic uint64_t *n) {
    return atomic_exchange_explicit(n, 0, memory_order_relaxed);
}

struct cache_assisted cache_assist_count(struct cache *c) {
    struct assist *assist = &c->assist;
    return (struct cache_assisted){
        .pages = (uint32_t)assist_take_count(&assist->pages),
        .did = {.rescued = assist_take_count(&assist->did.rescued),
                .chunks_rescued = assist_take_count(&assist->did.chunks_rescued),
                .evicted = assist_take_count(&assist->did.evicted),
                .expired = assist_take_count(&assist->did.expired)},
    };
}

/* --- emptied pages that wait for turns --- */

bool cache_handover_defer(struct cache_thread *ct, const struct moving_page *emptied) {
    struct assist *assist = &ct->cache->assist;
    bool left = false;
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES && !left; i++) {
        struct assist_page *h = &assist->each[i];
        if (!assist_hold(h)) {
            continue;
        }
        left = assist_state(h) == PAGE_MOVE_NONE;
        if (left) {
            h->page = *emptied;
            assist_note_state(assist, h);
        }
        assist_release(ct, h);
    }
    return left;
}

unsigned cache_handover_waiting(const struct cache *c) {
    return atomic_load_explicit(&c->assist.waiting, memory_order_relaxed);
}

bool cache_handover_step(struct cache_thread *ct) {
    struct assist *assist = &ct->cache->assist;
    struct page_driver d = {.ct = ct};
    bool handed = false;
    for (unsigned i = 0; i < CACHE_ASSIST_PAGES && !handed; i++) {
        struct assist_page *h = &assist->each[i];
        if (assist_state(h) != PAGE_MOVE_EMPTIED || !assist_hold(h)) {
            continue;
        }
        handed = assist_state(h) == PAGE_MOVE_EMPTIED && assist_step(assist, h, &d);
        assist_release(ct, h);
    }
    return handed;
}

void cache_handover_finish(struct cache_thread *ct, uint64_t deadline_us) {
    uint64_t until_us = clock_mono_us() + deadline_us;
    while (cache_handover_step(ct) || cache_handover_waiting(ct->cache) > 0) {
        if (clock_mono_us() >= until_us) {
            assist_put_back_all(ct, PAGE_MOVE_EMPTIED);
        }
        usleep(HELD_POLL_US);
    }
}
