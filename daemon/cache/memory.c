/* Where chunks come from: the partition's stock, the class's free lists, the pool of pages, eviction, and as the last resort
 * a page of another class. Memory is taken before a partition is locked and given back after, so one lock is held at a time. */
#include "cache/partition.h"
#include "watch/event.h"

#include <stdlib.h>
#include <unistd.h>

enum {
    EVICT_HERE_MIN = 128,  /* items in a queue before its own tail is evicted without looking at other partitions */
    EVICT_LOOK_MOST = 16,  /* partitions looked at for the oldest */
    EVICT_TRIES = 64,      /* evicted items may still be on their way to slow clients */
    RESCUE_TRIES = 4,      /* others may be quicker to take what was freed */
    STEAL_WAIT_US = 100,
    STEAL_TRIES = 100,
    STEAL_PAUSE_US = 5000,  /* after a try in vain nobody tries for so long: slow clients hold what is in the way */
    OBTAIN_RESTS = 500,     /* a store is refused when patience is over and it rested so often: on a busy machine those in the */
    OBTAIN_MOST = 8,        /* way get no further in that time; but at the latest after so many times the patience */
    HOPELESS_US = 1000000,  /* after that, others are refused at once */
};
#define STEAL_QUIESCE_US 100000

struct shelf *shelf_of_locked(struct cache *c, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct shelf *s = p->shelves[class_id];
    if (s == NULL) {
        s = calloc(1, sizeof *s);
        if (s == NULL) {
            return NULL;
        }
        evict_init(&s->queue, policy_of(c, class_id), &c->tuning, &c->arena->space);
        evict_watch_tail(&s->queue, measured_tail(c, class_id));
        p->shelves[class_id] = s;
    }
    return s;
}

void shelf_destroy(struct shelf *taken) {
    if (taken != NULL) {
        evict_fini(&taken->queue);
        free(taken);
    }
}

uint32_t stock_pop_locked(struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct shelf *s = p->shelves[class_id];
    return s != NULL && s->stock_count > 0 ? s->stock[--s->stock_count] : 0;
}

void stock_push_locked(struct cache_thread *ct, struct partition *p, uint32_t ref) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t page = arena_page_of_ref(c->arena, ref);
    unsigned class_id = slab_page_class(c->slab, page);
    struct shelf *s = p->shelves[class_id];
    item_set_flags(item_at(c, ref), CHUNK_FREE);
    if (s != NULL && s->stock_count < c->stock_most[class_id] && !slab_page_draining(c->slab, page)) {
        s->stock[s->stock_count++] = ref;
        return;
    }
    node_set_next(&item_at(c, ref)->node, ct->give);
    ct->give = ref;
}

void item_release(struct cache_thread *ct, struct item *it) {
    struct cache *c = ct->cache;
    uint32_t refs[GIVE_MAX], next = item_chained(it) ? item_load32(item_chain(it)) : 0;
    unsigned n = 0;
    refs[n++] = ref_of_item(c, it);
    if (c->heap != NULL) {
        heap_retire(ct, refs, n);
        return;
    }
    while (next != 0) {
        if (n == GIVE_MAX) {
            slab_give_all(c->slab, refs, n);
            n = 0;
        }
        refs[n++] = next;
        next = tail_next(node_at(&c->arena->space, next));
    }
    slab_give_all(c->slab, refs, n);
}

void chunks_settle(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    while (ct->give != 0) {
        uint32_t refs[GIVE_MAX];
        unsigned from = GIVE_MAX; /* the list has the last first */
        while (ct->give != 0 && from > 0) {
            refs[--from] = ct->give;
            ct->give = node_next(&item_at(c, ct->give)->node);
        }
        if (c->heap == NULL) {
            slab_give_all(c->slab, refs + from, GIVE_MAX - from);
        } else {
            heap_retire(ct, refs + from, GIVE_MAX - from);
        }
    }
    while (ct->doomed != NULL) {
        struct item *it = ct->doomed;
        ct->doomed = node_next(&it->node) != 0 ? item_at(ct->cache, node_next(&it->node)) : NULL;
        item_release(ct, it);
    }
}

/* --- eviction --- */

static void note_hunger(struct cache *c, unsigned class_id) {
    if (class_set_shared_add(&c->hunger, class_id) && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
}

/* Unlinks an item of a class because others need its room. */
static void evict_item_locked(struct cache_thread *ct, struct partition *p, struct item *it, unsigned class_id) {
    uint64_t hash = item_hash(&it->node);
    if (cache_item_dead(ct->cache, it, ct->now_s)) {
        COUNT_CLASS(ct, class_id, reclaimed);
        if (!node_fetched(&it->node)) {
            COUNT_CLASS(ct, class_id, expired_unfetched);
        }
    } else {
        count_eviction(ct, it, class_id, hash);
        evict_note_evicted(&p->shelves[class_id]->queue, &it->node);
    }
    unlink_locked(ct, p, hash, it);
}

/* Unlinks the queue's next victim. Its chunks go to the stock or wait in the thread's hands. *leaving: they are in a page
 * that is on the move, and so lost to the class. */
static bool evict_one_locked(struct cache_thread *ct, struct partition *p, struct shelf *s, unsigned class_id, bool *leaving) {
    struct item *it = (struct item *)evict_victim(&s->queue, item_now_s(ct));
    if (it == NULL) {
        return false;
    }
    *leaving = slab_page_draining(ct->cache->slab, arena_page_of(ct->cache->arena, it));
    COUNT_CLASS(ct, class_id, direct_reclaims);
    evict_item_locked(ct, p, it, class_id);
    return true;
}

bool evict_rival_locked(struct cache_thread *ct, struct partition *p, uint64_t hash) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    uint32_t refs[INDEX_CHAIN_MOST];
    struct item *oldest = NULL;
    unsigned count = index_rivals(&p->index, hash, refs), start = (unsigned)thread_random(ct); /* of those of one second any */
    for (unsigned i = 0; i < count; i++) {
        struct item *it = item_at(c, refs[(start + i) % count]);
        if (cache_item_dead(c, it, ct->now_s)) {
            oldest = it;
            break;
        }
        if (may_evict(c, cache_item_class(c, it)) && (oldest == NULL || node_used_s(&it->node) < node_used_s(&oldest->node))) {
            oldest = it;
        }
    }
    if (oldest == NULL) {
        return false;
    }
    COUNT(ct, index_evictions);
    evict_item_locked(ct, p, oldest, cache_item_class(c, oldest));
    return true;
}

uint32_t chunk_evict_locked(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    assert(lock_held(&p->lock));
    struct cache *c = ct->cache;
    struct shelf *s = p->shelves[class_id];
    if (!may_evict(c, class_id) || s == NULL || c->stock_most[class_id] == 0 || evict_count(&s->queue) < EVICT_HERE_MIN ||
        slab_has_free(c->slab, class_id)) {
        return 0;
    }
    bool leaving;
    if (!evict_one_locked(ct, p, s, class_id, &leaving)) {
        return 0;
    }
    if (atomic_load_explicit(&c->hunger_on_evict, memory_order_relaxed)) {
        note_hunger(c, class_id);
    }
    return stock_pop_locked(p, class_id);
}

/* Evicts the oldest victim among the partitions looked at. False: the class has no item to evict. *ref gets a chunk of that
 * partition's stock, where the victim's went, before others find it there; 0 when it went elsewhere. */
static bool evict_somewhere(struct cache_thread *ct, unsigned class_id, uint32_t *ref, bool *leaving) {
    struct cache *c = ct->cache;
    unsigned start = (unsigned)thread_random(ct), looked = 0;
    struct partition *oldest = NULL;
    uint32_t oldest_s = UINT32_MAX, longest = 0;
    for (unsigned i = 0; i < c->partition_count && looked < EVICT_LOOK_MOST; i++) {
        struct partition *p = &c->partitions[(start + i) % c->partition_count];
        lock_take(&p->lock);
        const struct shelf *s = p->shelves[class_id];
        const struct node *n = s != NULL ? evict_oldest(&s->queue) : NULL;
        if (n != NULL) {
            looked++;
            uint32_t used_s = node_used_s(n), count = evict_count(&s->queue);
            if (used_s < oldest_s || (used_s == oldest_s && count > longest)) { /* seconds are coarse: then the longest queue */
                oldest = p;
                oldest_s = used_s;
                longest = count;
            }
        }
        lock_release(&p->lock);
    }
    if (oldest == NULL) {
        return false;
    }
    lock_take(&oldest->lock);
    struct shelf *s = oldest->shelves[class_id];
    bool evicted = evict_one_locked(ct, oldest, s, class_id, leaving);
    *ref = evicted ? stock_pop_locked(oldest, class_id) : 0;
    lock_release(&oldest->lock);
    chunks_settle(ct);
    return evicted;
}

bool evict_any(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    bool leaving, evicted = false;
    lock_take(&p->lock);
    struct shelf *s = p->shelves[class_id];
    if (s != NULL && evict_count(&s->queue) >= EVICT_HERE_MIN) {
        evicted = evict_one_locked(ct, p, s, class_id, &leaving);
    }
    lock_release(&p->lock);
    chunks_settle(ct);
    uint32_t ref;
    return evicted || evict_somewhere(ct, class_id, &ref, &leaving);
}

uint32_t chunk_by_eviction(struct cache_thread *ct, unsigned class_id) {
    uint32_t ref = 0;
    bool leaving;
    for (int tries = 0; ref == 0 && tries < RESCUE_TRIES && evict_somewhere(ct, class_id, &ref, &leaving); tries++) {
        tries -= leaving; /* its victims go first: they had to leave anyway */
        if (ref == 0 && slab_has_free_chunk(ct->cache->slab, class_id)) {
            slab_take(ct->cache->slab, class_id, &ref, 1);
        }
    }
    return ref;
}

/* --- pages of other classes, when nothing else is left --- */

/* The class that can best spare a page: the most pages, at least `least_pages`, and not among `refused`. */
static unsigned richest_class(const struct cache *c, const struct class_set *refused, uint32_t least_pages) {
    unsigned best = SLAB_CLASS_NONE;
    uint32_t most = 0;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(c->slab, i, &f);
        uint32_t pages = f.pages > f.draining ? f.pages - f.draining : 0;
        if (!class_set_has(refused, i) && pages >= least_pages && pages > most) {
            best = i;
            most = pages;
        }
    }
    return best;
}

/* Empties one page of the donor, dropping what lives in it, and hands it over. False: something in it is in use; *in_vain: and what
 * was not has been dropped. */
static bool steal_page(struct cache_thread *ct, uint32_t page, unsigned donor, unsigned class_id, bool *in_vain) {
    struct cache *c = ct->cache;
    struct cache_steal steal = {.from_class = donor, .to_class = class_id};
    uint64_t start_us = clock_mono_us();
    if (cache_page_in_use(c, page) || !slab_drain_begin(c->slab, page, donor)) {
        return false;
    }
    cache_drain_stocks(ct, page);
    bool busy = false;
    for (uint32_t i = 0; !busy && slab_page_chunk(c->slab, page, i) != NULL; i++) {
        enum cache_moved moved = cache_evacuate(ct, page, i, true);
        steal.rescued += moved == CACHE_MOVED_RESCUED;
        steal.evicted += moved == CACHE_MOVED_EVICTED;
        steal.expired += moved == CACHE_MOVED_EXPIRED;
        busy = moved == CACHE_MOVED_BUSY || moved == CACHE_MOVED_DROPPED;
    }
    if (busy || !slab_drain_empty(c->slab, page) || !cache_quiesce(ct, STEAL_QUIESCE_US)) {
        slab_drain_cancel(c->slab, page);
        *in_vain = steal.evicted > 0;
        return false;
    }
    slab_drain_end(c->slab, page, class_id);
    COUNT(ct, page_steals);
    if (event_watched(EVENT_SYSEVENTS)) {
        event_slab_move(donor, class_id, EVENT_MOVE_DONE);
    }
    steal.duration_us = clock_mono_us() - start_us;
    if (c->stolen != NULL) {
        c->stolen(c->stolen_arg, &steal);
    }
    return true;
}

/* A page that was emptied in vain is the cheapest the next time; no other is emptied now. */
static bool steal_from(struct cache_thread *ct, unsigned donor, unsigned class_id, bool *in_vain) {
    uint32_t pages[CACHE_SPARE_MAX];
    unsigned n = cache_spare_pages(ct, donor, PICK_LEAST_VALUE, pages, CACHE_SPARE_MAX);
    bool got = false;
    for (unsigned i = 0; i < n && !got && !*in_vain; i++) {
        got = steal_page(ct, pages[i], donor, class_id, in_vain);
    }
    return got;
}

/* Pages of retired classes leave them anyway. */
static bool steal_from_retired(struct cache_thread *ct, unsigned class_id, bool *in_vain) {
    const struct slab *slab = ct->cache->slab;
    bool got = false;
    for (unsigned i = 1; i <= slab->class_count && !got && !*in_vain; i++) {
        got = i != class_id && slab_class_state(slab, i) == SLAB_CLASS_RETIRED && steal_from(ct, i, class_id, in_vain);
    }
    return got;
}

/* From a retired class, or the richest class whose pages are not all in use. When none has more than one, the first page of a
 * class may go over the limit, as in memcached: with more classes than pages they would take the last one from each other at
 * nearly every set. The tuner gives it back when a class can spare one. Beyond what is reserved, last pages are taken too. */
static bool steal_from_richest(struct cache_thread *ct, unsigned class_id) {
    bool in_vain = false;
    if (steal_from_retired(ct, class_id, &in_vain) || in_vain) {
        return !in_vain;
    }
    for (uint32_t least_pages = 2; least_pages > 0; least_pages--) {
        struct class_set refused = class_set_one(class_id);
        unsigned donor;
        while ((donor = richest_class(ct->cache, &refused, least_pages)) != SLAB_CLASS_NONE) {
            if (steal_from(ct, donor, class_id, &in_vain) || in_vain) {
                return !in_vain;
            }
            class_set_add(&refused, donor);
        }
        if (least_pages > 1 && slab_grow_first(ct->cache->slab, class_id)) {
            return true;
        }
    }
    return false;
}

void turn_rest(struct cache_thread *ct) {
    cache_turn_end(ct);
    usleep(STEAL_WAIT_US);
    cache_turn_begin(ct);
}

/* Gets the class a page at once, one thread at a time; the others wait, for they would only want the same page. */
static bool steal(struct cache_thread *ct, unsigned class_id) {
    struct cache *c = ct->cache;
    for (unsigned i = 0; i < STEAL_TRIES; i++) {
        if (!atomic_exchange_explicit(&c->stealing, true, memory_order_acquire)) {
            bool got = slab_has_free(c->slab, class_id);
            if (!got && clock_mono_us() >= c->steal_again_us) {
                got = steal_from_richest(ct, class_id);
                c->steal_again_us = got ? 0 : clock_mono_us() + STEAL_PAUSE_US;
            }
            atomic_store_explicit(&c->stealing, false, memory_order_release);
            return got;
        }
        turn_rest(ct);
        if (slab_has_free(c->slab, class_id)) {
            return true;
        }
    }
    return false;
}

/* Takes a chunk and, while the class lock is warm, fills the partition's stock. */
static uint32_t take_free(struct cache_thread *ct, struct partition *p, unsigned class_id) {
    struct cache *c = ct->cache;
    uint32_t refs[1 + STOCK_MAX];
    unsigned got = slab_take(c->slab, class_id, refs, 1u + c->stock_most[class_id]);
    if (got == 0) {
        return 0;
    }
    if (got > 1) {
        lock_take(&p->lock);
        if (shelf_of_locked(c, p, class_id) != NULL) {
            while (got > 1) {
                stock_push_locked(ct, p, refs[--got]);
            }
        }
        lock_release(&p->lock);
        while (got > 1) {
            slab_give(c->slab, refs[--got]);
        }
        chunks_settle(ct);
    }
    return refs[0];
}

/* What a class frees in pages that are leaving it is not its own any more. */
static bool all_draining(const struct cache *c, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(c->slab, class_id, &f);
    return f.draining >= f.pages;
}

/* The class to take a chunk of: while we rested outside the turn the geometry may have changed, and the id be another's. */
static unsigned still_serving(const struct cache *c, unsigned class_id, uint32_t chunk_bytes) {
    bool serves = slab_class_state(c->slab, class_id) == SLAB_CLASS_ACTIVE && slab_chunk_bytes(c->slab, class_id) == chunk_bytes;
    return serves ? class_id : slab_class_of(c->slab, chunk_bytes);
}

static bool patience_is_over(const struct cache *c, uint64_t waited_us, unsigned rests) {
    uint64_t patience_us = c->config.patience_us;
    return waited_us >= OBTAIN_MOST * patience_us || (waited_us >= patience_us && rests >= OBTAIN_RESTS);
}

uint32_t chunk_obtain(struct cache_thread *ct, struct partition *p, unsigned class_id, size_t bytes) {
    struct cache *c = ct->cache;
    if (c->heap != NULL) {
        return heap_obtain(ct, p, bytes);
    }
    uint64_t since_us = 0;
    unsigned rests = 0;
    uint32_t chunk_bytes = slab_chunk_bytes(c->slab, class_id);
    for (int tries = 0; tries < EVICT_TRIES; tries++) {
        class_id = still_serving(c, class_id, chunk_bytes);
        uint32_t ref = take_free(ct, p, class_id);
        if (ref != 0) {
            return ref;
        }
        if (!may_evict(c, class_id)) {
            if (slab_grow_first(c->slab, class_id)) {
                continue;
            }
            break;
        }
        bool leaving;
        if (!all_draining(c, class_id) && evict_somewhere(ct, class_id, &ref, &leaving)) {
            tries -= leaving; /* the oldest items may all live in the page that moves: that ends by itself */
            if (atomic_load_explicit(&c->hunger_on_evict, memory_order_relaxed)) {
                note_hunger(c, class_id);
            }
            if (ref != 0) {
                return ref;
            }
        } else {
            note_hunger(c, class_id);
            if (!c->config.steal_pages) {
                break;
            }
            if (!steal(ct, class_id)) {
                uint64_t now_us = clock_mono_us();
                since_us = since_us != 0 ? since_us : now_us;
                if (patience_is_over(c, now_us - since_us, rests)) {
                    atomic_store_explicit(&c->hopeless_until_us, now_us + HOPELESS_US, memory_order_relaxed);
                    break;
                }
                if (now_us < atomic_load_explicit(&c->hopeless_until_us, memory_order_relaxed)) {
                    break; /* somebody has just waited in vain */
                }
                turn_rest(ct); /* what is in the way is in use for a moment: a draft, a page on the move */
                rests++;
                tries = 0;
            }
        }
    }
    COUNT_CLASS(ct, class_id, outofmemory);
    return 0;
}
