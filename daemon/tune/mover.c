#include "tune/mover.h"

#include <time.h>

#include "base/clock.h"

enum {
    CHUNKS_A_TURN = 256,      /* chunks emptied before others may pass */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
    AVOID_US = 2 * 1000 * 1000,
    CANDIDATES = MOVER_AVOIDED + 1,
};

void mover_init(struct mover *m, struct cache *cache, struct cache_thread *ct) {
    *m = (struct mover){.cache = cache, .ct = ct};
    atomic_store_explicit(&m->last_busy, "none", memory_order_relaxed);
}

static void count(_Atomic uint64_t *n) {
    atomic_store_explicit(n, atomic_load_explicit(n, memory_order_relaxed) + 1, memory_order_relaxed);
}

static void note_busy(struct mover *m, const char *why) { atomic_store_explicit(&m->last_busy, why, memory_order_relaxed); }

static void sleep_us(unsigned us) {
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
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

/* The page whose loss costs least; PAGE_NONE. Begins its drain. */
static uint32_t begin(struct mover *m, unsigned from) {
    struct slab *slab = cache_slab(m->cache);
    struct slab_class_facts f;
    uint32_t pages[CANDIDATES];
    uint64_t now_us = clock_mono_us();
    slab_facts(slab, from, &f);
    if (f.pages < f.draining + 2) {
        return PAGE_NONE;
    }
    unsigned n = slab_spare_pages(slab, from, pages, CANDIDATES);
    for (unsigned i = 0; i < n; i++) {
        if (!avoids(m, pages[i], now_us) && slab_drain_begin(slab, pages[i], from)) {
            return pages[i];
        }
    }
    return PAGE_NONE;
}

/* A page of the pool gives rescued items somewhere to go, unless the pool is where pages are being sent. */
static void empty_chunk(struct mover *m, uint32_t page, unsigned from, unsigned to, uint32_t i) {
    struct slab *slab = cache_slab(m->cache);
    bool pool = to != SLAB_CLASS_NONE && arena_pages_free(slab->arena) > 0;
    enum cache_moved moved = cache_evacuate(m->ct, page, i, !pool);
    if (moved == CACHE_MOVED_NO_ROOM) {
        bool grown = slab_grow(slab, from);
        moved = cache_evacuate(m->ct, page, i, !grown);
    }
    switch (moved) {
    case CACHE_MOVED_FREE: break;
    case CACHE_MOVED_RESCUED: count(&m->rescues); break;
    case CACHE_MOVED_CHUNK: count(&m->chunk_rescues); break;
    case CACHE_MOVED_EVICTED: count(&m->evictions); break;
    case CACHE_MOVED_EXPIRED: count(&m->reclaimed); break;
    case CACHE_MOVED_BUSY:
        count(&m->busy_items);
        note_busy(m, item_state(slab_page_chunk(slab, page, i)) == CHUNK_DRAFT ? "draft" : "reader");
        break;
    case CACHE_MOVED_NO_ROOM:
        count(&m->no_room);
        note_busy(m, "no room");
        break;
    }
}

/* Goes over every chunk once, in turns short enough that nobody waits for this thread. A chunk that looks free may yet be
 * filled by a thread that took it before the drain began, so each pass looks at all of them. */
static void empty_page(struct mover *m, uint32_t page, unsigned from, unsigned to) {
    struct slab *slab = cache_slab(m->cache);
    for (uint32_t i = 0; slab_page_chunk(slab, page, i) != NULL;) {
        cache_turn_begin(m->ct);
        for (uint32_t stop = i + CHUNKS_A_TURN; i < stop && slab_page_chunk(slab, page, i) != NULL; i++) {
            empty_chunk(m, page, from, to, i);
        }
        cache_turn_end(m->ct);
    }
}

static bool drain(struct mover *m, uint32_t page, unsigned from, unsigned to) {
    struct slab *slab = cache_slab(m->cache);
    uint64_t give_up_us = 0;
    unsigned backoff_us = BACKOFF_MIN_US;
    cache_turn_begin(m->ct);
    cache_drain_stocks(m->ct, page);
    cache_turn_end(m->ct);
    for (;;) {
        empty_page(m, page, from, to);
        if (slab_drain_empty(slab, page)) {
            return true;
        }
        uint64_t now_us = clock_mono_us();
        if (give_up_us == 0) {
            give_up_us = now_us + MOVER_PATIENCE_US;
        } else if (now_us >= give_up_us) {
            return false;
        }
        sleep_us(backoff_us);
        backoff_us = backoff_us * 2 < BACKOFF_MAX_US ? backoff_us * 2 : BACKOFF_MAX_US;
    }
}

static void give_up(struct mover *m, uint32_t page) {
    slab_drain_cancel(cache_slab(m->cache), page);
    avoid(m, page);
    count(&m->given_up);
}

static unsigned move_from_pool(struct mover *m, unsigned to, unsigned pages) {
    unsigned moved = 0;
    while (moved < pages && slab_grow(cache_slab(m->cache), to)) {
        count(&m->pages_moved);
        moved++;
    }
    return moved;
}

unsigned mover_move(struct mover *m, unsigned from, unsigned to, unsigned pages) {
    uint32_t emptied[MOVER_PAGES_MAX];
    unsigned n = 0;
    if (from == SLAB_CLASS_NONE) {
        return move_from_pool(m, to, pages);
    }
    while (n < pages && n < MOVER_PAGES_MAX) {
        uint32_t page = begin(m, from);
        if (page == PAGE_NONE) {
            break;
        }
        if (!drain(m, page, from, to)) {
            give_up(m, page);
            break; /* the next page is likely to hold chunks that are just as busy */
        }
        emptied[n++] = page;
    }
    if (n > 0 && !cache_quiesce(m->ct, MOVER_PATIENCE_US)) {
        note_busy(m, "turn");
        while (n > 0) {
            give_up(m, emptied[--n]);
        }
    }
    for (unsigned i = 0; i < n; i++) {
        slab_drain_end(cache_slab(m->cache), emptied[i], to);
        count(&m->pages_moved);
    }
    return n;
}
