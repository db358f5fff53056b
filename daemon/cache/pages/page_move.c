/* The steps of a page on its way from one class to another. */
#include <unistd.h>

#include "cache/alloc/magazine.h"
#include "watch/event.h"

enum { POLL_US = 20 };

static void page_note_emptied(struct moving_page *m, const struct cache_thread *ct) {
    cache_turns_note(ct, m->seen);
    m->emptied_us = clock_mono_us();
    m->state = PAGE_MOVE_EMPTIED;
}

bool page_move_begin(struct moving_page *m, struct cache_thread *ct, uint32_t page, unsigned from,
                     unsigned to, uint32_t min_left) {
    struct slab *slab = ct->cache->slab;
    m->state = PAGE_MOVE_NONE;
    if (!slab_drain_begin(slab, page, from, min_left)) {
        return false;
    }
    /* from here on no other thread gives this page to another class */
    m->chunk_bytes =
        atomic_load_explicit(&slab_page(slab, page)->chunk_bytes, memory_order_relaxed);
    m->page = page;
    m->to = to;
    m->at = m->scanned_bytes = 0;
    m->deadline_us = 0;
    m->state = PAGE_MOVE_EMPTYING;
    magazines_release_page(ct, page);
    if (slab_drain_empty(slab, page)) {
        page_note_emptied(m, ct);
    }
    return true;
}

/* Continues a pass. False: the pass has ended. */
static bool page_pass(struct moving_page *m, struct page_driver *d) {
    const struct slab *slab = d->ct->cache->slab;
    m->scanned_bytes = 0;
    while (m->scanned_bytes < d->step_bytes && slab_page_chunk(slab, m->page, m->at) != NULL) {
        enum cache_moved moved =
            d->chunk != NULL ? d->chunk(d->arg, m->page, m->at)
                             : cache_evacuate(d->ct, m->page, m->at, EVACUATE_EVICTS, NULL);
        unsigned tails = moved == CACHE_MOVED_CHUNK ? d->ct->tails_moved : 0;
        d->did.rescued += moved == CACHE_MOVED_RESCUED;
        d->did.chunks_rescued += tails;
        d->did.expired += moved == CACHE_MOVED_EXPIRED;
        m->scanned_bytes += m->chunk_bytes * (tails > 0 ? tails : 1);
        m->at++;
        if (d->at_once && (moved == CACHE_MOVED_BUSY || moved == CACHE_MOVED_DROPPED)) {
            m->at = 0;
            return false;
        }
    }
    bool more = slab_page_chunk(slab, m->page, m->at) != NULL;
    m->at = more ? m->at : 0;
    return more;
}

static void page_empty_some(struct moving_page *m, struct page_driver *d) {
    uint64_t evicted = d->ct->moves_evicted;
    bool moves_pages = d->ct->moves_pages;
    d->ct->moves_pages = true;
    bool more = page_pass(m, d);
    d->ct->moves_pages = moves_pages;
    d->did.evicted += d->ct->moves_evicted - evicted;
    if (slab_drain_empty(d->ct->cache->slab, m->page)) {
        page_note_emptied(m, d->ct);
    } else if (!more && m->deadline_us == 0 && d->wait_us > 0) {
        /* The wait begins after the first pass: the length of that pass says nothing. */
        m->deadline_us = d->now_us + d->wait_us;
    } else if (!more && d->now_us >= m->deadline_us) {
        page_move_put_back(m, d->ct);
    }
}

static void page_hand_over(struct moving_page *m, struct slab *slab) {
    unsigned from = slab_page_class(slab, m->page);
    m->state = PAGE_MOVE_NONE;
    if (m->to == PAGE_TO_DRIVER) {
        slab_page_withdraw(slab, m->page);
        return;
    }
    slab_drain_end(slab, m->page, m->to);
    if (event_watched(EVENT_SYSEVENTS)) {
        event_slab_move(from, m->to, EVENT_MOVE_DONE);
    }
}

bool page_move_step(struct moving_page *m, struct page_driver *d) {
    if (m->state == PAGE_MOVE_EMPTYING) {
        page_empty_some(m, d);
        return false;
    }
    bool ready = m->state == PAGE_MOVE_EMPTIED && cache_turns_ended(d->ct->cache, m->seen);
    if (ready) {
        page_hand_over(m, d->ct->cache->slab);
    }
    return ready;
}

bool page_move_finish(struct moving_page *m, struct cache_thread *ct, uint64_t until_us) {
    struct page_driver d = {.ct = ct};
    bool within = turn_is_under_way(ct->turn), moved = false;
    if (m->state != PAGE_MOVE_EMPTIED) {
        page_move_put_back(m, ct);
        return false;
    }
    if (within) {
        turn_leave(ct->turn); /* so that nobody waits for a waiting thread */
    }
    while (!(moved = page_move_step(m, &d)) && clock_mono_us() < until_us) {
        usleep(POLL_US);
    }
    page_move_put_back(m, ct);
    if (within) {
        turn_enter(ct->turn);
    }
    return moved;
}

void page_move_put_back(struct moving_page *m, struct cache_thread *ct) {
    if (m->state != PAGE_MOVE_NONE) {
        m->state = PAGE_MOVE_NONE;
        slab_drain_cancel(ct->cache->slab, m->page);
    }
}
