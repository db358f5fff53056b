/* Frees dead items in place. */
#include "cache/expire/expire_sweep.h"

#include "cache/alloc/magazine.h"
#include "cache/items/item_value.h"
#include "cache/items/link.h"

enum {
    STEP_BUDGET = 1024,
    FREE_COSTS = 64,  /* budget of a freed item */
    CHAIN_COSTS = 64, /* budget of a bucket of the index, in a heap */
    AHEAD = 8,        /* chunks prefetched ahead */
};

/* One step of a pass, with the budget that is left. */
struct sweep_step {
    struct cache_thread *ct;
    struct cache_sweep  *pass;
    struct item_clock    clock;
    int                  budget;
};

/* True if the item is dead. For a live item notes its expiry time. */
static bool sweep_is_dead(struct sweep_step *s, const struct item *it) {
    uint32_t at_s = item_exptime_s(it);
    s->pass->examined++;
    if (cache_item_expired(it, s->ct->now_s) || item_flushed_by(it, s->clock)) {
        return true;
    }
    if (at_s != 0 && (s->pass->earliest_s == 0 || at_s < s->pass->earliest_s)) {
        s->pass->earliest_s = at_s;
    }
    return false;
}

static void sweep_free_locked(struct sweep_step *s, struct partition *p, struct item *it,
                              uint64_t hash) {
    link_reclaim_locked(s->ct, p, it, cache_item_class(s->ct->cache, it), hash);
    s->pass->freed++;
    s->budget -= FREE_COSTS;
}

/* The same for a chunk with unknown contents. */
static void sweep_free_if_dead(struct sweep_step *s, struct item *it) {
    struct cache *c = s->ct->cache;
    char bytes[KEY_BYTES_MAX + 14];
    struct key key;
    if (!item_copy_key_guarded(it, bytes, &key)) {
        return;
    }
    struct partition *p = partition_of(c, key.hash);
    lock_take(&p->lock);
    if (index_find(&p->index, &key) == ref_of_item(c, it) &&
        cache_item_dead(c, it, s->ct->now_s)) {
        sweep_free_locked(s, p, it, key.hash);
    }
    lock_release(&p->lock);
    magazine_settle(s->ct);
}

/* Examines chunks of the current page. No class gets that page during this turn. */
static void sweep_page(struct sweep_step *s) {
    const struct slab *slab = s->ct->cache->slab;
    uint32_t chunk_bytes =
        atomic_load_explicit(&slab_page(slab, s->pass->page)->chunk_bytes, memory_order_relaxed);
    struct item *it;
    while (s->budget > 0 &&
           (it = slab_page_chunk(slab, s->pass->page, (uint32_t)s->pass->place)) != NULL) {
        prefetch((const char *)it + (size_t)AHEAD * chunk_bytes);
        s->pass->place++;
        s->budget--;
        if (item_state(it) == CHUNK_LINKED && item_key_len(it) != 0 && sweep_is_dead(s, it)) {
            sweep_free_if_dead(s, it);
        }
    }
    if (s->budget > 0) {
        s->pass->page++;
        s->pass->place = 0;
    }
}

static bool sweep_pages(struct sweep_step *s) {
    const struct cache *c = s->ct->cache;
    while (s->budget > 0 && s->pass->page < arena_page_end(c->arena)) {
        if (s->pass->place == 0 && slab_page_class(c->slab, s->pass->page) == SLAB_CLASS_NONE) {
            /* the system has the page's memory; a read would bring it back */
            s->pass->page++;
            s->budget--;
        } else {
            sweep_page(s);
        }
    }
    return s->pass->page < arena_page_end(c->arena);
}

/* Examines one bucket of the index. False: the partition has no more. */
static bool sweep_chain(struct sweep_step *s, struct partition *p) {
    uint32_t refs[INDEX_CHAIN_MOST];
    unsigned count;
    lock_take(&p->lock);
    bool found =
        index_chain(&p->index, (uint32_t)s->pass->place, refs, INDEX_CHAIN_MOST, &count);
    for (unsigned i = 0; found && i < count; i++) {
        struct item *it = item_at(s->ct->cache, refs[i]);
        if (sweep_is_dead(s, it)) {
            sweep_free_locked(s, p, it, item_hash(&it->node));
        }
    }
    lock_release(&p->lock);
    magazine_settle(s->ct);
    return found;
}

static bool sweep_index(struct sweep_step *s) {
    struct cache *c = s->ct->cache;
    for (; s->budget > 0 && s->pass->page < c->partition_count; s->budget -= CHAIN_COSTS) {
        if (sweep_chain(s, &c->partitions[s->pass->page])) {
            s->pass->place++;
        } else {
            s->pass->page++;
            s->pass->place = 0;
        }
    }
    return s->pass->page < c->partition_count;
}

bool cache_sweep_step(struct cache_thread *ct, struct cache_sweep *pass) {
    struct sweep_step s = {
        .ct = ct, .pass = pass, .clock = cache_item_clock(ct->cache), .budget = STEP_BUDGET};
    return ct->cache->store->whole_pages ? sweep_pages(&s) : sweep_index(&s);
}

/* Sums the counters of all calls that give an item an expiry time. */
uint64_t cache_sweep_changes(struct cache *c) {
    lock_take(&c->threads_lock);
    unsigned most = atomic_load_explicit(&c->class_id_most, memory_order_relaxed);
    uint64_t sum = c->retired.total_items;
    for (unsigned i = 1; i <= most; i++) {
        sum += c->class_retired[i].touch_hits + c->class_retired[i].delete_hits;
    }
    for (unsigned t = 0; t < c->thread_count; t++) {
        const struct cache_class_counters *classes = c->threads[t]->classes;
        sum += counter_get(&c->threads[t]->counters.total_items);
        for (unsigned i = 1; i <= most; i++) {
            sum += counter_get(&classes[i].touch_hits) + counter_get(&classes[i].delete_hits);
        }
    }
    lock_release(&c->threads_lock);
    return sum;
}
