#include "control/pages/mover.h"

#include "watch/event.h"

enum {
    ASSIST_POLL_US = 1000, /* sets that empty pages make some progress within this time */
    /* The mover leaves pages to sets for so long at most. Then a new decision follows, because how
     * many pages sets may take was computed from earlier stores. With 10 ms, calcify on one core
     * ended with 54 pages of 64 in one run of three. */
    ASSIST_MOST_US = 50 * 1000,
    AVOID_US = 2 * 1000 * 1000,
    PLACE_LOOK_US = 100, /* between two looks for a place where an emptied page can be left */
};

void mover_init(struct mover *m, struct cache *cache, struct cache_thread *ct, struct pace *pace) {
    *m = (struct mover){.cache = cache, .ct = ct, .pace = pace};
}

static bool mover_avoids(const struct mover *m, uint32_t page, uint64_t now_us) {
    for (unsigned i = 0; i < MOVER_AVOIDED; i++) {
        if (m->avoided[i].page == page && m->avoided[i].until_us > now_us) {
            return true;
        }
    }
    return false;
}

static void mover_avoid_page(struct mover *m, uint32_t page, uint64_t now_us) {
    m->avoided[m->avoided_at].page = page;
    m->avoided[m->avoided_at].until_us = now_us + AVOID_US;
    m->avoided_at = (m->avoided_at + 1) % MOVER_AVOIDED;
}

static void mover_send_event(const struct mover *m, enum event_move what) {
    if (event_watched(EVENT_SYSEVENTS)) {
        event_slab_move(m->move.from, m->move.to, what);
    }
}

/* --- one chunk --- */

static void mover_note_busy_chunk(struct mover *m, uint32_t page, uint32_t chunk) {
    const struct item *it = slab_page_chunk(cache_slab(m->cache), page, chunk);
    m->result.busy_items++;
    m->result.last_busy = item_state(it) == CHUNK_FILLING ? MOVE_BUSY_UPLOAD : MOVE_BUSY_READER;
}

/* Frees one chunk. If there is no room for its item, the class gets a page of the pool; but not in
 * a move to the pool, where one page out and one page in would be no move. */
static enum cache_moved mover_empty_chunk(void *arg, uint32_t page, uint32_t chunk) {
    struct mover *m = arg;
    struct move_result *r = &m->result;
    struct slab *slab = cache_slab(m->cache);
    bool pool = !m->held && m->move.to != SLAB_CLASS_NONE && arena_pages_free(slab->arena) > 0;
    bool may_evict = !m->held && cache_evicts(m->cache);
    enum cache_moved moved =
        cache_evacuate(m->ct, page, chunk, may_evict && !pool ? EVACUATE_EVICTS : 0, NULL);
    if (moved == CACHE_MOVED_NO_ROOM && (pool || may_evict)) {
        bool grown = slab_grow(slab, m->move.from);
        moved = cache_evacuate(m->ct, page, chunk, may_evict && !grown ? EVACUATE_EVICTS : 0, NULL);
    }
    if (moved == CACHE_MOVED_BUSY ||
        (moved == CACHE_MOVED_NO_ROOM && m->held && cache_chunk_in_use(m->cache, page, chunk))) {
        mover_note_busy_chunk(m, page, chunk);
    } else if (moved == CACHE_MOVED_DROPPED) {
        r->busy_deletes++;
        r->last_busy = MOVE_BUSY_READER;
    } else if (moved == CACHE_MOVED_NO_ROOM && !m->held) {
        r->no_room++;
        r->last_busy = MOVE_BUSY_NO_ROOM;
    }
    return moved;
}

/* Before each pass: if a client holds something in the page, nothing in it is dropped. */
static bool mover_inspect_page(void *arg) {
    struct mover *m = arg;
    m->held = drain_page_is_held(m->cache, m->begun[m->at].page);
    return true;
}

/* --- the end --- */

unsigned mover_count_assist(struct mover *m, struct move_result *r) {
    struct cache_assisted assisted = cache_assist_count(m->cache);
    r->assisted = assisted.pages;
    r->pages += assisted.pages;
    page_counts_add(&r->did, &assisted.did);
    return assisted.pages;
}

static void mover_put_back_begun(struct mover *m) {
    while (m->at < m->begun_count) {
        page_move_put_back(&m->begun[m->at++], m->ct);
    }
}

/* Ends the move. `why` is the reason if fewer pages moved than were wanted and no other reason is
 * known; NULL: no page is missing. */
static uint64_t mover_end(struct mover *m, const char *why, uint64_t now_us) {
    struct move_result *r = &m->result;
    mover_put_back_begun(m);
    if (m->state != MOVER_FROM_POOL && m->state != MOVER_ENDED) {
        mover_count_assist(m, r);
    }
    r->why_not = r->pages >= m->move.pages ? NULL
                 : m->cancelled            ? "cancelled"
                 : r->why_not != NULL      ? r->why_not
                                           : why;
    r->duration_us = now_us - m->begun_us;
    m->state = MOVER_ENDED;
    return PACE_DONE;
}

/* Notes that a page went back, because page_empty_some (cache/pages/page_move.c) gave it up. */
static void mover_note_went_back(struct mover *m, uint64_t now_us) {
    mover_send_event(m, EVENT_MOVE_GIVEN_UP);
    if (m->cancelled) {
        return;
    }
    mover_avoid_page(m, m->begun[m->at].page, now_us);
    m->result.given_up++;
    m->result.why_not = decision_busy_sentence(m->result.last_busy);
}

static uint64_t mover_take_from_pool(struct mover *m, uint64_t now_us) {
    bool grown = !m->cancelled && m->result.pages < m->wanted &&
                 slab_grow(cache_slab(m->cache), m->move.to);
    if (grown) {
        mover_send_event(m, EVENT_MOVE_DONE);
        m->result.pages++;
    }
    return grown ? now_us : mover_end(m, "the pool is empty", now_us);
}

/* --- the next page --- */

static uint64_t mover_watch(struct mover *m, uint64_t now_us) {
    m->state = MOVER_WATCHES;
    m->due_us = now_us;
    m->assist_bytes = UINT64_MAX;
    return now_us;
}

/* How many pages are still to be emptied. */
static unsigned mover_pages_wanted(struct mover *m) {
    unsigned most = m->move.pages < MOVE_PAGES_MAX ? m->move.pages : MOVE_PAGES_MAX;
    unsigned emptied = m->emptied + cache_assist_state(m->cache).pages;
    if (m->wanted < most) {
        most = m->wanted;
        m->result.why_not = "no more are wanted by now";
    }
    return most <= emptied || m->result.given_up >= MOVER_FAILURES_MAX || m->cancelled
               ? 0
               : most - emptied;
}

/* Waits while the sets that need pages empty them. Then picks pages. */
static uint64_t mover_watch_or_pick(struct mover *m, uint64_t now_us) {
    struct cache_assist_state h = cache_assist_state(m->cache);
    if (now_us < m->due_us && !m->cancelled) {
        return m->due_us;
    }
    if (h.left > 0 && now_us < m->watch_until_us && !m->cancelled && h.bytes != m->assist_bytes) {
        m->assist_bytes = h.bytes;
        m->due_us = now_us + ASSIST_POLL_US;
        return m->due_us;
    }
    if (m->all_in_use || mover_pages_wanted(m) == 0) {
        return mover_end(m, NULL, now_us);
    }
    m->state = MOVER_PICKS;
    drain_pick_begin(&m->picked, m->pace, m->ct, m->move.from, m->move.pick, now_us);
    return PACE_NEVER;
}

/* Begins to drain a page that was picked. */
static bool mover_begin_page(struct mover *m, uint32_t page, uint32_t retained) {
    struct moving_page *to = &m->begun[m->begun_count];
    if (!page_move_begin(to, m->ct, page, m->move.from, m->move.to, retained)) {
        return false;
    }
    if (to->state == PAGE_MOVE_EMPTYING && m->move.pick == PICK_FREE) {
        page_move_put_back(to, m->ct); /* something was stored there since */
        return false;
    }
    m->begun_count++;
    return true;
}

/* Begins with the first pages that are not in use, `most` of them, or else with one in use. */
static void mover_begin_pages(struct mover *m, unsigned most, uint64_t now_us) {
    uint32_t retained = m->move.last_too ? 0 : 1;
    m->at = m->begun_count = 0;
    if (slab_pages_beyond(cache_slab(m->cache), m->move.from, retained) == 0) {
        return;
    }
    for (int in_use = 0; in_use < 2 && m->begun_count == 0; in_use++) {
        m->was_in_use = in_use;
        for (unsigned i = 0; i < m->picked.count && m->begun_count < (in_use ? 1 : most); i++) {
            uint32_t page = m->picked.pages[i];
            if (!mover_avoids(m, page, now_us) && (in_use || !drain_page_is_held(m->cache, page))) {
                mover_begin_page(m, page, retained);
            }
        }
    }
}

static uint64_t mover_begin_drain(struct mover *m, uint64_t now_us) {
    mover_send_event(m, EVENT_MOVE_STARTED);
    mover_inspect_page(m);
    m->state = MOVER_EMPTIES;
    m->drain.page = &m->begun[m->at];
    m->drain.pace = m->pace;
    m->drain.driver = (struct page_driver){.ct = m->ct, .chunk = mover_empty_chunk, .arg = m};
    m->drain.may_go_on = mover_inspect_page;
    drain_begin(&m->drain, now_us);
    return now_us;
}

/* Pages of the block store drain together: a value has blocks in many pages, and a walk along its
 * chain for one block finds the others, too. */
static uint64_t mover_begin_picked(struct mover *m, uint64_t now_us) {
    if (!pace_job_done(&m->picked.job)) {
        return PACE_NEVER;
    }
    unsigned most = mover_pages_wanted(m);
    if (most == 0) {
        return mover_end(m, NULL, now_us);
    }
    bool together = cache_store_kind(m->cache) == CACHE_STORE_BLOCKS || m->move.pick == PICK_FREE;
    mover_begin_pages(m, together ? most : 1, now_us);
    if (m->move.pick == PICK_FREE) {
        m->move.pages = m->begun_count; /* there are no more */
    }
    return m->begun_count > 0 ? mover_begin_drain(m, now_us)
                              : mover_end(m, "the class has no page to spare", now_us);
}

/* --- a page on the move --- */

static uint64_t mover_next_page(struct mover *m, uint64_t now_us) {
    m->at++;
    if (m->at < m->begun_count && !m->all_in_use && mover_pages_wanted(m) > 0) {
        return mover_begin_drain(m, now_us);
    }
    mover_put_back_begun(m);
    return mover_watch(m, now_us);
}

static uint64_t mover_empty_page(struct mover *m, uint64_t now_us) {
    uint64_t due_us = drain_step(&m->drain, now_us);
    if (due_us != PACE_DONE) {
        return due_us;
    }
    page_counts_add(&m->result.did, &m->drain.driver.did);
    if (m->begun[m->at].state == PAGE_MOVE_EMPTIED) {
        m->state = MOVER_LEAVES;
        m->due_us = now_us;
        return now_us;
    }
    mover_note_went_back(m, now_us);
    /* the first page was in use only if all others are */
    m->all_in_use = m->was_in_use;
    return mover_next_page(m, now_us);
}

/* Defers an emptied page until turns end. If too many are deferred, waits, then puts it back. */
static uint64_t mover_leave_page(struct mover *m, uint64_t now_us) {
    struct moving_page *page = &m->begun[m->at];
    bool left = cache_handover_defer(m->ct, page), handed = cache_handover_step(m->ct);
    if (left) {
        m->result.pages++;
        m->emptied++;
        return mover_next_page(m, now_us);
    }
    if (now_us >= m->due_us + PAGE_WAIT_US) {
        page_move_put_back(page, m->ct);
        m->result.last_busy = MOVE_BUSY_TURN;
        mover_note_went_back(m, now_us);
        return mover_next_page(m, now_us);
    }
    return handed ? now_us : now_us + PLACE_LOOK_US;
}

/* --- a move --- */

void mover_begin(struct mover *m, const struct page_move *move, uint64_t now_us) {
    m->move = *move;
    m->result = (struct move_result){.pages = 0};
    m->wanted = move->pages;
    m->begun_us = now_us;
    m->emptied = m->begun_count = m->at = 0;
    m->cancelled = m->all_in_use = false;
    if (move->to != SLAB_CLASS_NONE &&
        slab_class_state(cache_slab(m->cache), move->to) != SLAB_CLASS_ACTIVE) {
        mover_end(m, "the chunk sizes changed, and the receiver takes no page any more", now_us);
    } else if (move->from == SLAB_CLASS_NONE) {
        m->state = MOVER_FROM_POOL;
    } else {
        cache_assist_begin(m->ct, move->from, move->to,
                           m->may_assist && move->assisted > 0 ? move->pages + move->assisted : 0);
        m->watch_until_us = now_us + ASSIST_MOST_US;
        mover_watch(m, now_us);
    }
}

uint64_t mover_step(struct mover *m, uint64_t now_us) {
    switch (m->state) {
    case MOVER_FROM_POOL: return mover_take_from_pool(m, now_us);
    case MOVER_WATCHES: return mover_watch_or_pick(m, now_us);
    case MOVER_PICKS: return mover_begin_picked(m, now_us);
    case MOVER_EMPTIES: return mover_empty_page(m, now_us);
    case MOVER_LEAVES: return mover_leave_page(m, now_us);
    case MOVER_ENDED: break;
    }
    return PACE_DONE;
}

void mover_stop(struct mover *m) {
    mover_put_back_begun(m);
    m->state = MOVER_ENDED;
}

void mover_cancel(struct mover *m) {
    m->cancelled = true;
    drain_cancel(&m->drain);
}
