#include "tune/refit.h"

#include <time.h>

#include "base/clock.h"

enum {
    CHUNKS_A_TURN = 32,  /* emptied before others may pass */
    REST_MIN_US = 50,    /* a shorter rest is none */
    REST_MAX_US = 200,
    REST_SHARE = 2,      /* of the time that a page may take, this part is for rests */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
    HELD_SHARE = 32,     /* one page in so many may be held */
};

void refit_init(struct refit *r, struct cache *cache, struct cache_thread *ct) {
    uint32_t pages = atomic_load_explicit(&cache_slab(cache)->arena->page_limit, memory_order_relaxed);
    unsigned most = pages / HELD_SHARE;
    *r = (struct refit){.cache = cache, .ct = ct, .held_most = most < 1 ? 1 : most > REFIT_HELD_MAX ? REFIT_HELD_MAX : most};
}

bool refit_grow(struct refit *r, unsigned class_id) {
    struct slab *slab = cache_slab(r->cache);
    if (r->held_count > 0) {
        slab_page_place(slab, r->held[--r->held_count], class_id);
        return true;
    }
    return slab_grow(slab, class_id);
}

void refit_release(struct refit *r) {
    while (r->held_count > 0) {
        slab_page_place(cache_slab(r->cache), r->held[--r->held_count], SLAB_CLASS_NONE);
    }
}

static void rest(unsigned us) {
    struct timespec t = {.tv_nsec = (long)us * 1000};
    nanosleep(&t, NULL);
}

/* After each turn, as the pace allows: workers on the same processor need not wait for a whole page. */
static unsigned rest_us(const struct refit *r, uint32_t page) {
    uint32_t chunk_bytes = atomic_load_explicit(&slab_page(cache_slab(r->cache), page)->chunk_bytes, memory_order_relaxed);
    uint64_t turns = PAGE_BYTES / chunk_bytes / CHUNKS_A_TURN + 1, us = r->pace_us / REST_SHARE / turns;
    return us < REST_MIN_US ? 0 : us < REST_MAX_US ? (unsigned)us : REST_MAX_US;
}

static bool empty_chunk(struct refit *r, uint32_t page, uint32_t chunk) {
    unsigned wanted;
    enum cache_moved moved = cache_refit(r->ct, page, chunk, CACHE_REFIT_FREE, &wanted);
    if (moved == CACHE_MOVED_NO_ROOM) {
        bool grown = refit_grow(r, wanted);
        moved = cache_refit(r->ct, page, chunk, grown ? CACHE_REFIT_FREE : CACHE_REFIT_ROOM, &wanted);
    }
    switch (moved) {
    case CACHE_MOVED_FREE:
    case CACHE_MOVED_BUSY: break;
    case CACHE_MOVED_RESCUED: r->items_copied++; break;
    case CACHE_MOVED_CHUNK: r->chunks_copied++; break;
    case CACHE_MOVED_EXPIRED: r->items_expired++; break;
    case CACHE_MOVED_EVICTED:
    case CACHE_MOVED_DROPPED: break; /* counted with what was evicted to make room */
    case CACHE_MOVED_NO_ROOM: return false;
    }
    return true;
}

/* Goes over every chunk once, in turns short enough that nobody waits for this thread. False: something found no room. */
static bool empty_chunks(struct refit *r, uint32_t page) {
    const struct slab *slab = cache_slab(r->cache);
    unsigned between_us = rest_us(r, page);
    bool room = true;
    for (uint32_t i = 0; slab_page_chunk(slab, page, i) != NULL;) {
        cache_turn_begin(r->ct);
        for (uint32_t stop = i + CHUNKS_A_TURN; i < stop && slab_page_chunk(slab, page, i) != NULL; i++) {
            room = empty_chunk(r, page, i) && room;
        }
        cache_turn_end(r->ct);
        if (between_us > 0) {
            rest(between_us);
        }
    }
    return room;
}

static enum refit_result drain(struct refit *r, uint32_t page) {
    uint64_t give_up_us = 0;
    cache_turn_begin(r->ct);
    cache_drain_stocks(r->ct, page);
    cache_turn_end(r->ct);
    for (unsigned backoff_us = BACKOFF_MIN_US;; backoff_us = backoff_us * 2 < BACKOFF_MAX_US ? backoff_us * 2 : BACKOFF_MAX_US) {
        bool room = empty_chunks(r, page);
        if (slab_drain_empty(cache_slab(r->cache), page)) {
            return cache_quiesce(r->ct, REFIT_PATIENCE_US) ? REFIT_EMPTIED : REFIT_IN_USE;
        }
        if (!room && !cache_evicts(r->cache)) {
            return REFIT_NO_ROOM;
        }
        uint64_t now_us = clock_mono_us();
        if (give_up_us == 0) {
            give_up_us = now_us + REFIT_PATIENCE_US; /* from when all that can leave has left */
        } else if (now_us >= give_up_us) {
            return REFIT_IN_USE;
        }
        rest(backoff_us);
    }
}

enum refit_result refit_page(struct refit *r, uint32_t page) {
    struct slab *slab = cache_slab(r->cache);
    unsigned class_id = slab_page_class(slab, page);
    uint64_t evicted = cache_thread_evicted(r->ct);
    if (class_id == SLAB_CLASS_NONE || !slab_drain_begin(slab, page, class_id)) {
        return REFIT_NOT_NOW;
    }
    enum refit_result result = drain(r, page);
    r->items_dropped += cache_thread_evicted(r->ct) - evicted;
    if (result != REFIT_EMPTIED) {
        slab_drain_cancel(slab, page);
        return result;
    }
    r->pages++;
    slab_page_withdraw(slab, page);
    if (r->held_count < r->held_most) {
        r->held[r->held_count++] = page;
    } else {
        slab_page_place(slab, page, SLAB_CLASS_NONE);
    }
    return result;
}
