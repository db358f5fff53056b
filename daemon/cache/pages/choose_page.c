/* Chooses the page that a class loses: by its items, by its age, or at random. Only reads the page
 * table and the chunks, without a lock, so a choice costs other threads nothing. The data may
 * change the next moment; the thread that empties the page checks again. */
#include "cache/items/item_value.h"
#include "cache/partition.h"

enum {
    /* pages compared in one choice by value; the next choice goes on behind them */
    COMPARED_PAGES = 64,
    SAMPLE_CHUNKS = 16, /* sampled chunks in each page */
    LISTED_PAGES = 16,  /* pages with free chunks that are always compared */
    /* value of a live item used a moment ago; each hit of its mark adds as much */
    LIVE_VALUE = 1 << 12,
    /* idle time that halves an item's value, as its expected hits fall */
    RECENT_S = 4,
    /* value of an item that is being stored or sent, whose page cannot be had now */
    IN_USE_VALUE = 1 << 28,
};

static bool page_item_in_use(struct item *it) {
    switch (item_state(it)) {
    case CHUNK_FREE: return false;
    case CHUNK_FILLING:
    case CHUNK_UNLINKED: return true;
    case CHUNK_LINKED:
        return item_key_len(it) != 0 && item_large(it) &&
               atomic_load_explicit(item_refs(it), memory_order_relaxed) > 1;
    }
    return false;
}

/* The item of a chunk; for a piece of a chained value, the value's head. NULL: the head is gone. */
static struct item *page_item_of_chunk(const struct cache *c, struct item *it) {
    if (item_state(it) != CHUNK_LINKED || item_key_len(it) != 0) {
        return it;
    }
    uint32_t head = item_load32(&((const struct item_tail *)(const void *)it)->head);
    return item_chunk_is_at(c, head) ? item_at(c, head) : NULL;
}

static bool page_chunk_in_use(const struct cache *c, struct item *chunk) {
    struct item *it = page_item_of_chunk(c, chunk);
    return it != NULL && page_item_in_use(it);
}

bool cache_chunk_in_use(const struct cache *c, uint32_t page, uint32_t chunk) {
    struct item *it = slab_page_chunk(c->slab, page, chunk);
    return it != NULL && page_chunk_in_use(c, it);
}

bool cache_page_in_use(const struct cache *c, uint32_t page) {
    struct item *it;
    for (uint32_t i = 0; (it = slab_page_chunk(c->slab, page, i)) != NULL; i++) {
        if (page_chunk_in_use(c, it)) {
            return true;
        }
    }
    return false;
}

struct page_candidate {
    uint64_t cost; /* the least cost goes first */
    uint32_t page;
};

/* The `max` candidates of least cost, in order of cost. Of equal ones the earlier comes first. */
struct page_ranking {
    struct page_candidate *best;
    unsigned count, max;
};

static void page_rank(struct page_ranking *r, uint32_t page, uint64_t cost) {
    unsigned at = r->count;
    for (unsigned i = 0; i < r->count; i++) {
        if (r->best[i].page == page) {
            return;
        }
    }
    while (at > 0 && r->best[at - 1].cost > cost) {
        at--;
    }
    if (at == r->max) {
        return;
    }
    r->count += r->count < r->max;
    memmove(&r->best[at + 1], &r->best[at], (r->count - at - 1) * sizeof *r->best);
    r->best[at] = (struct page_candidate){cost, page};
}

static uint64_t page_item_value(const struct item *it, uint32_t now_s) {
    uint32_t used_s = node_used_s(&it->node), idle_s = now_s > used_s ? now_s - used_s : 0;
    return (uint64_t)LIVE_VALUE * RECENT_S * (1 + node_hits(&it->node)) / (RECENT_S + idle_s);
}

static uint32_t page_chunks(const struct cache *c, uint32_t page) {
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(c->slab, page)->chunk_bytes, memory_order_relaxed);
    return chunk_bytes ? PAGE_BYTES / chunk_bytes : 0;
}

/* Samples the page's chunks, spread evenly. Returns the number of chunks. */
static unsigned page_sample_chunks(const struct cache *c, uint32_t page,
                                   struct item *sample[SAMPLE_CHUNKS]) {
    uint32_t chunks = page_chunks(c, page),
             sampled = chunks < SAMPLE_CHUNKS ? chunks : SAMPLE_CHUNKS;
    unsigned n = 0;
    for (uint32_t i = 0; i < sampled; i++) {
        struct item *it =
            slab_page_chunk(c->slab, page, (uint32_t)((uint64_t)i * chunks / sampled));
        if (it != NULL) {
            sample[n++] = it;
        }
    }
    return n;
}

uint64_t cache_page_value(const struct cache_thread *ct, uint32_t page) {
    const struct cache *c = ct->cache;
    struct item *sample[SAMPLE_CHUNKS];
    unsigned sampled = page_sample_chunks(c, page, sample);
    uint64_t value = 0;
    for (unsigned i = 0; i < sampled; i++) {
        struct item *it = sample[i];
        if (item_state(it) == CHUNK_FREE) {
            continue;
        }
        if (page_chunk_in_use(c, it)) {
            value += IN_USE_VALUE;
        } else if (item_key_len(it) == 0) {
            value += LIVE_VALUE / 2; /* a piece of a chained value; its item is not read */
        } else if (!cache_item_dead(c, it, ct->now_s)) {
            value += page_item_value(it, item_now_s(ct));
        }
    }
    return sampled ? value * page_chunks(c, page) / sampled : 0;
}

uint32_t cache_page_used_s(const struct cache *c, uint32_t page) {
    struct item *sample[SAMPLE_CHUNKS];
    uint32_t used_s = 0;
    for (unsigned n = page_sample_chunks(c, page, sample); n > 0; n--) {
        const struct item *it = page_item_of_chunk(c, sample[n - 1]);
        if (it != NULL && item_state(it) == CHUNK_LINKED && node_used_s(&it->node) > used_s) {
            used_s = node_used_s(&it->node);
        }
    }
    return used_s > 0 ? used_s - cache_item_clock(c).ahead_s : 0;
}

/* Ranks by value, or by the last use; of pages last used in the same second the older page goes
 * first. */
static void page_rank_by_items(struct cache_thread *ct, unsigned class_id, enum page_pick pick,
                               struct page_ranking *r) {
    struct cache *c = ct->cache;
    uint32_t pages[LISTED_PAGES + COMPARED_PAGES];
    struct item *sample[SAMPLE_CHUNKS];
    unsigned n = slab_partial_pages(c->slab, class_id, false, pages, LISTED_PAGES);
    n += slab_next_pages(c->slab, class_id, pages + n, COMPARED_PAGES);
    for (unsigned i = 0; i < n; i++) {
        /* a sample touches many cold cache lines: prefetched together they arrive together */
        for (unsigned j = i + 1 < n ? page_sample_chunks(c, pages[i + 1], sample) : 0; j > 0; j--) {
            __builtin_prefetch(sample[j - 1]);
        }
        uint32_t acquired_seq =
            atomic_load_explicit(&slab_page(c->slab, pages[i])->acquired_seq, memory_order_relaxed);
        page_rank(r, pages[i],
                  pick == PICK_LEAST_VALUE
                      ? cache_page_value(ct, pages[i])
                      : (uint64_t)cache_page_used_s(c, pages[i]) << 32 | acquired_seq);
    }
}

static void page_rank_all(struct cache_thread *ct, unsigned class_id, enum page_pick pick,
                          struct page_ranking *r) {
    struct cache *c = ct->cache;
    for (uint32_t page = 0; page < arena_page_end(c->arena); page++) {
        const struct page *p = slab_page(c->slab, page);
        if (atomic_load_explicit(&p->class_id, memory_order_relaxed) == class_id &&
            atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_OWNED) {
            page_rank(r, page,
                      pick == PICK_RANDOM
                          ? random_next(&ct->random)
                          : atomic_load_explicit(&p->acquired_seq, memory_order_relaxed));
        }
    }
}

unsigned cache_choose_pages(struct cache_thread *ct, unsigned class_id, enum page_pick pick,
                            uint32_t *pages, unsigned max) {
    struct page_candidate best[CACHE_CHOOSE_MAX];
    struct page_ranking r = {best, 0, max < CACHE_CHOOSE_MAX ? max : CACHE_CHOOSE_MAX};
    if (pick == PICK_FREE) {
        return slab_partial_pages(ct->cache->slab, class_id, true, pages, r.max);
    }
    if (pick == PICK_LEAST_VALUE || pick == PICK_LEAST_ACCESSED) {
        page_rank_by_items(ct, class_id, pick, &r);
    } else {
        page_rank_all(ct, class_id, pick, &r);
    }
    for (unsigned i = 0; i < r.count; i++) {
        pages[i] = best[i].page;
    }
    return r.count;
}
