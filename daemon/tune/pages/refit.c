#include "tune/pages/refit.h"

#include <time.h>

#include "base/clock.h"

enum {
    REST_MAX_US = 200,   /* after a turn */
    REST_SHARE = 2,      /* of the time that a page may take, this part is for rests */
    BACKOFF_MIN_US = 20,
    BACKOFF_MAX_US = 5000,
    HELD_SHARE = 32,     /* one page in so many may be held */
};

void refit_init(struct refit *r, struct cache *cache, struct cache_thread *ct, struct pace *pace) {
    uint32_t pages =
        atomic_load_explicit(&cache_slab(cache)->arena->page_limit, memory_order_relaxed);
    unsigned most = pages / HELD_SHARE;
    *r = (struct refit){.cache = cache, .ct = ct, .pace = pace, .held_most = most < 1 ? 1 : most > REFIT_HELD_MAX ? REFIT_HELD_MAX : most};
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

struct emptying {
    struct refit    *r;
    struct pace_job *job;
    uint32_t         page, at, chunk_bytes;
    enum cache_refit how;
    /* why chunks stay: what lives there is being stored or sent, or found no chunk */
    bool             in_use, no_room;
};

static void empty_chunk(struct emptying *e, uint32_t chunk) {
    struct refit *r = e->r;
    unsigned wanted;
    enum cache_moved moved = cache_refit(r->ct, e->page, chunk, CACHE_REFIT_FREE, &wanted);
    if (moved == CACHE_MOVED_NO_ROOM && refit_grow(r, wanted)) {
        moved = cache_refit(r->ct, e->page, chunk, CACHE_REFIT_FREE, &wanted);
    } else if (moved == CACHE_MOVED_NO_ROOM && cache_chunk_in_use(r->cache, e->page, chunk)) {
        /* nothing goes to make room for it: its chunk could not be had all the same */
        e->in_use = true;
    } else if (moved == CACHE_MOVED_NO_ROOM && e->how == CACHE_REFIT_ROOM) {
        moved = cache_refit(r->ct, e->page, chunk, CACHE_REFIT_ROOM, &wanted);
    }
    switch (moved) {
    case CACHE_MOVED_FREE: break;
    case CACHE_MOVED_BUSY: e->in_use = true; break;
    case CACHE_MOVED_RESCUED: r->items_copied++; break;
    case CACHE_MOVED_CHUNK: r->chunks_copied += cache_tails_moved(r->ct); break;
    case CACHE_MOVED_EXPIRED: r->items_expired++; break;
    case CACHE_MOVED_EVICTED: break; /* counted with what was evicted to make room */
    case CACHE_MOVED_DROPPED: e->in_use = true; break; /* likewise */
    case CACHE_MOVED_NO_ROOM: e->no_room = true; break;
    }
}

static bool empty_some(void *arg) {
    struct emptying *e = arg;
    const struct slab *slab = cache_slab(e->r->cache);
    uint32_t bytes = 0;
    for (; bytes < PACE_STEP_BYTES && slab_page_chunk(slab, e->page, e->at) != NULL;
         bytes += e->chunk_bytes, e->at++) {
        empty_chunk(e, e->at);
    }
    uint64_t rest_us = e->job->rest_us + e->r->pace_us / REST_SHARE * bytes / PAGE_BYTES;
    e->job->rest_us = rest_us < REST_MAX_US ? rest_us : REST_MAX_US;
    return slab_page_chunk(slab, e->page, e->at) != NULL;
}

/* Goes over every chunk once. */
static void empty_chunks(struct emptying *e) {
    struct pace_job job = {.ct = e->r->ct, .step = empty_some, .arg = e};
    e->job = &job;
    e->at = 0;
    e->in_use = e->no_room = false;
    pace_run(e->r->pace, &job);
}

static enum refit_result drain(struct refit *r, uint32_t page) {
    struct slab *slab = cache_slab(r->cache);
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(slab, page)->chunk_bytes, memory_order_relaxed);
    struct emptying e = {.r = r, .page = page, .chunk_bytes = chunk_bytes, .how = CACHE_REFIT_FREE};
    uint64_t give_up_us = 0;
    cache_turn_begin(r->ct);
    cache_drain_stocks(r->ct, page);
    cache_turn_end(r->ct);
    for (unsigned backoff_us = BACKOFF_MIN_US;;
         backoff_us = backoff_us * 2 < BACKOFF_MAX_US ? backoff_us * 2 : BACKOFF_MAX_US) {
        empty_chunks(&e);
        if (slab_drain_empty(slab, page)) {
            return cache_quiesce(r->ct, REFIT_PATIENCE_US) ? REFIT_EMPTIED : REFIT_IN_USE;
        }
        /* a page that is in use is not to be had for what goes to make room */
        bool wants_room = e.no_room && !e.in_use;
        if (wants_room && !cache_evicts(r->cache)) {
            return REFIT_NO_ROOM;
        }
        e.how = wants_room ? CACHE_REFIT_ROOM : CACHE_REFIT_FREE;
        uint64_t now_us = clock_mono_us();
        if (give_up_us == 0) {
            give_up_us = now_us + REFIT_PATIENCE_US; /* from when all that can leave has left */
        } else if (now_us >= give_up_us) {
            return REFIT_IN_USE;
        }
        if (!wants_room) {
            rest(backoff_us);
        }
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
