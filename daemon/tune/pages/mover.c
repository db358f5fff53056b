#include "tune/pages/mover.h"

#include <time.h>

#include "base/clock.h"
#include "tune/pages/empty.h"
#include "watch/event.h"

enum {
    HELP_LOOK_US = 1000, /* sets that work on pages go over some bytes within this time */
    /* So long at most the mover leaves pages to sets; then it decides anew, because how many pages
     * sets may take was reckoned from what had been stored before. With 10 ms, calcify on one core
     * ended with 54 pages of 64 in one run of three. */
    HELP_MOST_US = 50 * 1000,
    AVOID_US = 2 * 1000 * 1000,
};

void mover_init(struct mover *m, struct cache *cache, struct cache_thread *ct, struct pace *pace) {
    *m = (struct mover){.cache = cache, .ct = ct, .pace = pace};
}

static bool avoids(const struct mover *m, uint32_t page, uint64_t now_us) {
    for (unsigned i = 0; i < MOVER_AVOIDED; i++) {
        if (m->avoided[i].page == page && m->avoided[i].until_us > now_us) {
            return true;
        }
    }
    return false;
}

static void avoid(struct mover *m, uint32_t page) {
    m->avoided[m->avoided_at].page = page;
    m->avoided[m->avoided_at].until_us = clock_mono_us() + AVOID_US;
    m->avoided_at = (m->avoided_at + 1) % MOVER_AVOIDED;
}

static bool cancelled(const struct mover *m) {
    return atomic_load_explicit(&m->cancel, memory_order_relaxed);
}

/* A page that is being emptied, and whether something in it was in use at the beginning. */
struct begun {
    struct moving_page page;
    bool             was_in_use;
};

/* Takes a page that is to leave its class. False: there is none. It takes a page that is in use
 * only if all are. */
static bool begin(struct mover *m, const struct page_move *move, struct begun *b) {
    uint32_t pages[CACHE_SPARE_MAX];
    uint64_t now_us = clock_mono_us();
    uint32_t kept = move->last_too ? 0 : 1;
    if (slab_pages_beyond(cache_slab(m->cache), move->from, kept) == 0) {
        return false;
    }
    unsigned n = pick_pages(m->pace, m->ct, move->from, move->pick, pages);
    for (int in_use = 0; in_use < 2; in_use++) {
        for (unsigned i = 0; i < n; i++) {
            if (avoids(m, pages[i], now_us) || (in_use == 0 && page_is_held(m->cache, pages[i]))) {
                continue;
            }
            if (page_move_begin(&b->page, m->ct, pages[i], move->from, move->to, kept)) {
                b->was_in_use = in_use;
                return true;
            }
        }
    }
    return false;
}

struct leaving {
    struct mover           *m;
    const struct page_move *move;
    struct move_result     *r;
    uint32_t                page;
    /* a client holds something in the page, so the page cannot be had: nothing in it is dropped */
    bool                    held;
};

static void note_busy_chunk(const struct leaving *l, uint32_t chunk) {
    const struct item *it = slab_page_chunk(cache_slab(l->m->cache), l->page, chunk);
    l->r->busy_items++;
    l->r->last_busy = item_state(it) == CHUNK_DRAFT ? MOVE_BUSY_DRAFT : MOVE_BUSY_READER;
}

/* Frees one chunk. If there is no room for what lives in it, the class gets a page of the pool; but
 * not in a move to the pool, where one page out and one page in would be no move. */
static enum cache_moved empty_chunk(void *arg, uint32_t page, uint32_t chunk) {
    const struct leaving *l = arg;
    struct mover *m = l->m;
    struct slab *slab = cache_slab(m->cache);
    bool pool = !l->held && l->move->to != SLAB_CLASS_NONE && arena_pages_free(slab->arena) > 0;
    bool may_evict = !l->held && cache_evicts(m->cache);
    enum cache_moved moved =
        cache_evacuate(m->ct, page, chunk, may_evict && !pool ? EVACUATE_EVICTS : 0, NULL);
    if (moved == CACHE_MOVED_NO_ROOM && (pool || may_evict)) {
        bool grown = slab_grow(slab, l->move->from);
        moved = cache_evacuate(m->ct, page, chunk, may_evict && !grown ? EVACUATE_EVICTS : 0, NULL);
    }
    if (moved == CACHE_MOVED_BUSY ||
        (moved == CACHE_MOVED_NO_ROOM && l->held && cache_chunk_in_use(m->cache, page, chunk))) {
        note_busy_chunk(l, chunk);
    } else if (moved == CACHE_MOVED_DROPPED) {
        l->r->busy_deletes++;
        l->r->last_busy = MOVE_BUSY_READER;
    } else if (moved == CACHE_MOVED_NO_ROOM && !l->held) {
        l->r->no_room++;
        l->r->last_busy = MOVE_BUSY_NO_ROOM;
    }
    return moved;
}

static bool in_haste(const struct mover *m) {
    return cancelled(m) || (m->hurry != NULL && m->hurry(m->owner));
}

/* Looks again whether the page can be had, before another pass. */
static bool try_again(void *arg) {
    struct leaving *l = arg;
    l->held = page_is_held(l->m->cache, l->page);
    return !in_haste(l->m);
}

static bool empty_page(struct mover *m, struct moving_page *page, const struct page_move *move,
                       struct move_result *r) {
    struct leaving l = {m, move, r, page->page, page_is_held(m->cache, page->page)};
    struct emptying e = {.page = page,
                         .pace = m->pace,
                         .driver = {.ct = m->ct, .chunk = empty_chunk, .arg = &l},
                         .again = try_again,
                         .cancel = &m->cancel};
    bool emptied = emptying_run(&e);
    page_counts_add(&r->did, &e.driver.did);
    return emptied;
}

static void tell(const struct page_move *move, enum event_move what) {
    if (event_watched(EVENT_SYSEVENTS)) {
        event_slab_move(move->from, move->to, what);
    }
}

static unsigned move_from_pool(struct mover *m, const struct page_move *move) {
    unsigned moved = 0;
    while (moved < move->pages && slab_grow(cache_slab(m->cache), move->to)) {
        tell(move, EVENT_MOVE_DONE);
        moved++;
    }
    return moved;
}

/* Notes that a page went back. */
static void give_up(struct mover *m, const struct page_move *move, uint32_t page,
                    struct move_result *r) {
    tell(move, EVENT_MOVE_GIVEN_UP);
    if (cancelled(m)) {
        r->why_not = "cancelled";
        return;
    }
    avoid(m, page);
    r->given_up++;
    r->why_not = move_busy_sentence(r->last_busy);
}

/* How many pages are still to be emptied. */
static unsigned wanting(const struct mover *m, const struct page_move *move, unsigned emptied,
                        struct move_result *r) {
    unsigned most = move->pages < MOVE_PAGES_MAX ? move->pages : MOVE_PAGES_MAX;
    uint32_t wanted = m->wanted != NULL ? m->wanted(m->owner) : most;
    emptied += cache_help_state(m->cache).pages;
    if (wanted < most) {
        most = wanted;
        r->why_not = "no more are wanted by now";
    }
    return most <= emptied || r->given_up >= MOVER_FAILURES_MAX || cancelled(m) ? 0
                                                                                : most - emptied;
}

/* Rests as long as sets empty pages: those who need them do the work. */
static void leave_to_sets(const struct mover *m, uint64_t until_us) {
    struct timespec look = {.tv_nsec = HELP_LOOK_US * 1000};
    uint64_t before;
    do {
        struct cache_help_state h = cache_help_state(m->cache);
        if (h.left == 0 || clock_mono_us() >= until_us || in_haste(m)) {
            return;
        }
        before = h.bytes;
        nanosleep(&look, NULL);
    } while (cache_help_state(m->cache).bytes != before);
}

/* Empties pages one after the other; returns how many. Pages of the block store begin to drain
 * together: a value has blocks in many of them, and a walk along its chain for one block finds the
 * others, too. */
static unsigned empty_pages(struct mover *m, const struct page_move *move,
                            struct moving_page *emptied, struct move_result *r) {
    bool     blocks = cache_store_kind(m->cache) == CACHE_STORE_BLOCKS, all_in_use = false;
    unsigned n = 0, want;
    uint64_t until_us = clock_mono_us() + HELP_MOST_US;
    while (!all_in_use) {
        leave_to_sets(m, until_us);
        want = wanting(m, move, n, r);
        if (want == 0) {
            break;
        }
        struct begun begun[MOVE_PAGES_MAX];
        unsigned count = 0;
        while (count < (blocks ? want : 1) && begin(m, move, &begun[count])) {
            count++;
        }
        if (count == 0) {
            r->why_not = r->why_not != NULL ? r->why_not : "the class has no page to spare";
            break;
        }
        for (unsigned i = 0; i < count; i++) {
            if (i > 0 && (all_in_use || wanting(m, move, n, r) == 0)) {
                page_move_put_back(&begun[i].page, m->ct);
                continue;
            }
            tell(move, EVENT_MOVE_STARTED);
            if (empty_page(m, &begun[i].page, move, r)) {
                emptied[n++] = begun[i].page;
            } else {
                give_up(m, move, begun[i].page.page, r);
                /* the first page that is tried was in use only if all others are */
                all_in_use = begun[i].was_in_use;
            }
        }
    }
    /* a cancel between two pages finds no page to put back */
    if (n < move->pages && cancelled(m)) {
        r->why_not = "cancelled";
    }
    return n;
}

unsigned mover_count_help(struct mover *m, struct move_result *r) {
    struct cache_helped helped = cache_help_count(m->cache);
    r->helped = helped.pages;
    r->pages += helped.pages;
    page_counts_add(&r->did, &helped.did);
    return helped.pages;
}

/* Hands over emptied pages once all turns that began before have ended, or leaves them to whichever
 * thread first sees that. Returns how many. */
static void hand_over_all(struct mover *m, const struct page_move *move,
                          struct moving_page *emptied, unsigned n, struct move_result *r) {
    uint64_t until_us = clock_mono_us() + PAGE_PATIENCE_US;
    bool leaves = m->leaves && move->to != SLAB_CLASS_NONE;
    for (unsigned i = 0; i < n; i++) {
        if ((leaves && cache_help_leave(m->ct, &emptied[i])) ||
            page_move_finish(&emptied[i], m->ct, until_us)) {
            r->pages++;
        } else {
            r->last_busy = MOVE_BUSY_TURN;
            give_up(m, move, emptied[i].page, r);
        }
    }
}

/* Moves pages of a class. Sets go on with their pages while this thread waits for turns to end, and
 * after the move. */
static void move_from_class(struct mover *m, const struct page_move *move, struct move_result *r) {
    struct moving_page emptied[MOVE_PAGES_MAX];
    bool may_help = m->pace->started && move->helped > 0;
    cache_help_hand_over(m->ct);
    cache_help_begin(m->ct, move->from, move->to, may_help ? move->pages + move->helped : 0);
    unsigned n = empty_pages(m, move, emptied, r);
    hand_over_all(m, move, emptied, n, r);
    mover_count_help(m, r);
}

unsigned mover_move(struct mover *m, const struct page_move *move, struct move_result *r) {
    uint64_t start_us = clock_mono_us();
    *r = (struct move_result){.pages = 0};
    if (move->to != SLAB_CLASS_NONE &&
        slab_class_state(cache_slab(m->cache), move->to) != SLAB_CLASS_ACTIVE) {
        r->why_not = "the chunk sizes changed, and the receiver takes no page any more";
    } else if (move->from == SLAB_CLASS_NONE) {
        r->pages = move_from_pool(m, move);
        r->why_not = "the pool is empty";
    } else {
        move_from_class(m, move, r);
    }
    if (r->pages >= move->pages) {
        r->why_not = NULL;
    }
    r->duration_us = clock_mono_us() - start_us;
    return (unsigned)r->pages;
}
