/* What the heap store needs of the cache: memory by eviction, and giving it back when nobody can see it any more.
 *
 * A reader without a lock may still read an item that was unlinked, and note its hit there with one byte. So memory is not
 * given back at once but retired: it waits in the thread's limbo until every other thread has left the turn it was in. That
 * is epoch-based reclamation with the turns' counters as epochs (Fraser, "Practical lock-freedom", 2004, section 5.2.3). A
 * limbo has an open part and a sealed one: the sealed part waits for the turns seen when it was sealed. */
#include "cache/partition.h"

#include <stdlib.h>

enum {
    LIMBO_BYTES = 64 << 10, /* an open limbo is sealed at so much … */
    LIMBO_ITEMS = 256,      /* … or so many */
    SHRINK_BUCKETS_A_TURN = 1000,
    SHRINK_SHARE = 16, /* a heap may hold this share of its limit more for a while */
    SHRINK_SPARE = 64, /* and this share is left free when it was lowered */
};
#define LIMBO_WAIT_US 100000
#define HEAP_HOPELESS_US 100000  /* after a store was refused, others are at once */

/* --- retiring --- */

static void limbo_add(struct cache_thread *ct, uint32_t ref) {
    struct limbo *open = &ct->limbo_open;
    struct item *it = item_at(ct->cache, ref);
    size_t bytes = heap_bytes_of(ct->cache->heap, ref);
    item_set_flags(it, CHUNK_FREE);
    node_set_next(&it->node, open->first);
    open->first = ref;
    open->items++;
    open->bytes += bytes;
    heap_retired(ct->cache->heap, bytes);
}

static void limbo_free(struct cache_thread *ct, struct limbo *l) {
    for (uint32_t ref = l->first; ref != 0;) {
        uint32_t next = node_next(&item_at(ct->cache, ref)->node);
        heap_give(ct->cache->heap, ref);
        ref = next;
    }
    *l = (struct limbo){0};
}

static void limbo_seal(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    ct->limbo_sealed = ct->limbo_open;
    ct->limbo_open = (struct limbo){0};
    atomic_thread_fence(memory_order_seq_cst); /* unlinked before we look who is at work; pairs with cache_turn_begin */
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        bool mine = &c->turns[i] == ct->turn; /* it holds nothing it has retired */
        ct->limbo_turns[i] = mine ? 0 : atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst);
    }
}

/* Whether every turn has ended that was under way when the limbo was sealed. */
static bool limbo_ripe(const struct cache_thread *ct) {
    const struct cache *c = ct->cache;
    for (unsigned i = 0; i < THREADS_MAX; i++) {
        if (ct->limbo_turns[i] & 1 && atomic_load_explicit(&c->turns[i].n, memory_order_seq_cst) == ct->limbo_turns[i]) {
            return false;
        }
    }
    return true;
}

/* Gives back what may be given back without waiting. Returns whether there was any. */
static bool limbo_turn(struct cache_thread *ct) {
    bool freed = ct->limbo_sealed.items > 0 && limbo_ripe(ct);
    if (freed) {
        limbo_free(ct, &ct->limbo_sealed);
    }
    if (ct->limbo_sealed.items == 0 && ct->limbo_open.items > 0) {
        limbo_seal(ct);
        if (limbo_ripe(ct)) {
            limbo_free(ct, &ct->limbo_sealed);
            freed = true;
        }
    }
    return freed;
}

bool heap_reclaim(struct cache_thread *ct) {
    if (ct->limbo_open.items + ct->limbo_sealed.items == 0 || !cache_quiesce(ct, LIMBO_WAIT_US)) {
        return false;
    }
    limbo_free(ct, &ct->limbo_sealed);
    limbo_free(ct, &ct->limbo_open);
    return true;
}

void heap_retire(struct cache_thread *ct, const uint32_t *refs, unsigned count) {
    assert(lock_none_held());
    for (unsigned i = 0; i < count; i++) {
        limbo_add(ct, refs[i]);
    }
    if (ct->limbo_open.bytes >= LIMBO_BYTES || ct->limbo_open.items >= LIMBO_ITEMS) {
        limbo_turn(ct); /* else later: whoever needs the memory waits for it */
    }
}

/* --- taking --- */

/* Nothing is left to evict: what others hold for a moment, drafts and values on their way to clients, may come back. */
static bool worth_waiting(struct cache_thread *ct, uint64_t *give_up_us) {
    struct cache *c = ct->cache;
    uint64_t now_us = clock_mono_us();
    if (now_us < atomic_load_explicit(&c->hopeless_until_us, memory_order_relaxed)) {
        return false; /* somebody has just waited in vain */
    }
    *give_up_us = *give_up_us != 0 ? *give_up_us : now_us + (c->config.evict ? c->config.patience_us : 0);
    heap_trim(c->heap);
    if (now_us >= *give_up_us) {
        atomic_store_explicit(&c->hopeless_until_us, now_us + HEAP_HOPELESS_US, memory_order_relaxed);
        return false;
    }
    turn_rest(ct);
    return true;
}

uint32_t heap_obtain(struct cache_thread *ct, struct partition *p, size_t bytes) {
    struct cache *c = ct->cache;
    uint64_t give_up_us = 0;
    uint32_t ref;
    while ((ref = heap_take(c->heap, bytes)) == 0) {
        if (limbo_turn(ct)) {
            continue;
        }
        size_t limbo_bytes = ct->limbo_open.bytes + ct->limbo_sealed.bytes;
        if (limbo_bytes >= bytes + LIMBO_BYTES && heap_reclaim(ct)) {
            continue; /* enough for now was evicted: it is only to be waited for */
        }
        if (c->config.evict && evict_any(ct, p, HEAP_CLASS)) {
            continue;
        }
        if (!heap_reclaim(ct) && !worth_waiting(ct, &give_up_us)) {
            ref = heap_take(c->heap, bytes); /* what was given back meanwhile may do */
            break;
        }
    }
    if (ref == 0) {
        COUNT_CLASS(ct, HEAP_CLASS, outofmemory);
    }
    return ref;
}

/* --- keeping to the limit, and facts --- */

/* Oldest first would leave a hole in every run of small allocations and free hardly a page. So what goes is what lives in some
 * of the arena's pages, which are drawn by lot until what they hold is as much as is too much. Stores that come meanwhile would
 * evict oldest first, and in vain: they are granted what is held, which becomes less as pages are emptied. */
struct shrink {
    uint32_t *bytes;  /* by page, of what lives there */
    bool     *chosen; /* by page */
    uint64_t  grant_bytes;
};

static void tally_chain_locked(struct cache_thread *ct, struct partition *p, struct shrink *s, const uint32_t *refs,
                               unsigned count) {
    const struct cache *c = ct->cache;
    (void)p;
    for (unsigned i = 0; i < count; i++) {
        s->bytes[arena_page_of_ref(c->arena, refs[i])] += (uint32_t)heap_bytes_of(c->heap, refs[i]);
    }
}

static void shrink_chain_locked(struct cache_thread *ct, struct partition *p, struct shrink *s, const uint32_t *refs,
                                unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (s->chosen[arena_page_of_ref(ct->cache->arena, refs[i])]) {
            struct item *it = item_at(ct->cache, refs[i]);
            char bytes[KEY_BYTES_MAX + 14];
            uint64_t hash = key_hash(bytes, item_copy_key(it, bytes));
            s->grant_bytes -= heap_bytes_of(ct->cache->heap, refs[i]);
            count_eviction(ct, it, HEAP_CLASS, hash);
            unlink_locked(ct, p, hash, it);
        }
    }
    heap_grant(ct->cache->heap, s->grant_bytes);
}

typedef void visit_chain(struct cache_thread *, struct partition *, struct shrink *, const uint32_t *refs, unsigned count);

static void visit_partition(struct cache_thread *ct, struct partition *p, struct shrink *s, visit_chain *visit_locked) {
    uint32_t refs[GIVE_MAX];
    unsigned count;
    bool more = true;
    for (uint32_t bucket = 0; more; bucket++) {
        lock_take(&p->lock);
        more = index_chain(&p->index, bucket, refs, GIVE_MAX, &count);
        if (more) {
            visit_locked(ct, p, s, refs, count);
        }
        lock_release(&p->lock);
        chunks_settle(ct);
        if (bucket % SHRINK_BUCKETS_A_TURN == 0) {
            cache_turn_end(ct); /* others wait for our turn to end before they may use memory again */
            cache_turn_begin(ct);
        }
    }
}

static void visit_all(struct cache_thread *ct, struct shrink *s, visit_chain *visit_locked) {
    for (unsigned i = 0; i < ct->cache->partition_count; i++) {
        visit_partition(ct, &ct->cache->partitions[i], s, visit_locked);
    }
}

/* Draws pages in which something lives until they hold `bytes`. */
static void choose_pages(struct cache_thread *ct, struct shrink *s, uint64_t bytes) {
    uint32_t lived_in = 0, page_max = ct->cache->arena->page_max, *pages = malloc(page_max * sizeof *pages);
    for (uint32_t i = 0; pages != NULL && i < page_max; i++) {
        if (s->bytes[i] > 0) {
            pages[lived_in++] = i;
        }
    }
    for (uint64_t chosen = 0; lived_in > 0 && chosen < bytes; lived_in--) {
        uint32_t drawn = (uint32_t)(thread_random(ct) % lived_in);
        s->chosen[pages[drawn]] = true;
        chosen += s->bytes[pages[drawn]];
        pages[drawn] = pages[lived_in - 1];
    }
    free(pages);
}

static void shrink_by(struct cache_thread *ct, uint64_t bytes, uint64_t held_bytes) {
    uint32_t page_max = ct->cache->arena->page_max;
    struct shrink s = {calloc(page_max, sizeof *s.bytes), calloc(page_max, sizeof *s.chosen), held_bytes};
    if (s.bytes != NULL && s.chosen != NULL) {
        visit_all(ct, &s, tally_chain_locked);
        choose_pages(ct, &s, bytes);
        visit_all(ct, &s, shrink_chain_locked);
    }
    free(s.bytes);
    free(s.chosen);
}

/* Whether more is held than may be: since the limit was lowered, or by what stores themselves do not make up for with their next
 * evictions. What is retired comes back by itself. */
static bool over_limit(const struct heap_facts *h) {
    uint64_t beyond = h->grant_bytes > h->limit_bytes ? 0 : h->limit_bytes / SHRINK_SHARE;
    return h->held_bytes - h->retired_bytes > h->limit_bytes + beyond;
}

/* Afterwards a little is free, so that stores need not begin with evictions. */
static void shrink_once(struct cache_thread *ct, const struct heap_facts *h) {
    uint64_t held = h->held_bytes - h->retired_bytes, aim = h->limit_bytes - h->limit_bytes / SHRINK_SPARE;
    heap_grant(ct->cache->heap, h->held_bytes);
    shrink_by(ct, (uint64_t)((1.0 - (double)aim / (double)held) * (double)h->used_bytes), h->held_bytes);
    heap_reclaim(ct);
}

bool cache_heap_shrink(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    struct heap_facts h;
    if (c->heap == NULL || !c->config.evict) {
        return false;
    }
    heap_facts(c->heap, &h);
    if (over_limit(&h)) {
        if (!heap_trim(c->heap)) {
            return true; /* somebody else measures: what is held is not known yet */
        }
        heap_facts(c->heap, &h);
    }
    if (over_limit(&h)) {
        shrink_once(ct, &h);
        heap_trim(c->heap);
        heap_facts(c->heap, &h);
    }
    bool more = over_limit(&h);
    heap_grant(c->heap, more ? h.held_bytes : 0);
    return more;
}

void heap_lowered(struct cache *c) {
    struct heap_facts h;
    heap_facts(c->heap, &h);
    if (c->wake != NULL && c->config.evict && h.held_bytes > h.limit_bytes) { /* there is somebody who shrinks it */
        heap_grant(c->heap, h.held_bytes);
    }
}

bool heap_within(const struct cache *c, size_t limit_bytes) {
    struct heap_facts h;
    heap_trim(c->heap);
    heap_facts(c->heap, &h);
    return h.held_bytes <= limit_bytes;
}

void heap_class_facts(const struct cache *c, struct slab_class_facts *f) {
    enum { GRAIN_BYTES = 16 }; /* what the allocator rounds to; so that counts of it fit 32 bits */
    struct heap_facts h;
    heap_facts(c->heap, &h);
    uint64_t held = (h.held_bytes + PAGE_BYTES - 1) >> PAGE_SHIFT;
    f->chunk_bytes = GRAIN_BYTES;
    f->chunks_per_page = PAGE_BYTES / GRAIN_BYTES;
    f->pages = (uint32_t)held;
    f->free_chunks = (uint32_t)(((held << PAGE_SHIFT) - h.used_bytes) / GRAIN_BYTES);
    f->draining = 0;
}
