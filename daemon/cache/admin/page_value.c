/* Measures the value of a class's pages: by hits near the end of the class's order, and by misses
 * of items that the class evicted lately. */
#include "cache/admin/page_value.h"

_Static_assert((int)CACHE_GHOST_DEPTHS == (int)GHOST_DEPTHS, "depths of ghosts");
_Static_assert((int)GHOST_CLASSES >= (int)SLAB_CLASSES_MAX, "a ghost for every class");

/* Indexes of the first counter of each tail and of each ghost depth. */
enum {
    TAIL_HITS = COUNTER_AT(cache_signal_counters, tail_hits_1),
    GHOST_HITS = COUNTER_AT(cache_signal_counters, ghost_hits_1),
};

/* With so many hits the policy gives an item another round at the end of its list. With a page less
 * such an item would reach the end sooner, and would not be lost. */
enum { SAFE_HITS = 2 };

static uint32_t page_value_chunks(const struct cache *c, unsigned class_id) {
    struct slab_class_facts f;
    slab_facts(c->slab, class_id, &f);
    return f.chunks_per_page;
}

bool cache_measured(const struct cache *c) {
    return atomic_load_explicit(&c->ghost, memory_order_relaxed) != NULL;
}

uint32_t page_value_tail_nodes(const struct cache *c, unsigned class_id) {
    if (!cache_measured(c)) {
        return 0;
    }
    uint32_t share = page_value_chunks(c, class_id) / c->partition_count;
    return share > 0 ? share : 1;
}

void page_value_count_miss(struct cache_thread *ct, const struct ghost *ghost, uint64_t hash) {
    unsigned depth, class_id = ghost_missed(ghost, hash, ct->now_s, &depth);
    if (class_id != 0) {
        counter_add(&ct->signals[class_id].each[GHOST_HITS + depth], 1);
    }
}

void page_value_count_tail_hit(struct cache_thread *ct, unsigned class_id, const struct item *it,
                               unsigned where) {
    if (node_hits(&it->node) >= SAFE_HITS) {
        return;
    }
    struct cache_signal_counters *n = &ct->signals[class_id];
    counter_add(&n->tail_hits_2, 1);
    if (where & EVICT_TAIL_FIRST) {
        counter_add(&n->tail_hits_1, 1);
    }
}

/* --- on and off --- */

static void page_value_watch_tails(struct cache *c, unsigned class_id) {
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        uint32_t want = page_value_tail_nodes(c, class_id);
        lock_take(&p->lock);
        if (p->class_queues[class_id] != NULL) {
            evict_tail_watch(&p->class_queues[class_id]->queue, want);
        }
        lock_release(&p->lock);
    }
}

bool cache_measure(struct cache *c, bool on) {
    bool was_on = cache_measured(c);
    if (!on && !was_on) {
        return true;
    }
    if (c->ghost_retained == NULL) {
        c->ghost_retained = ghost_create();
        if (c->ghost_retained == NULL) {
            return false;
        }
    }
    if (on && !was_on) {
        ghost_clear(c->ghost_retained);
    }
    atomic_store_explicit(&c->ghost, on ? c->ghost_retained : NULL, memory_order_release);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        uint32_t chunks = i <= c->slab->class_count ? page_value_chunks(c, i) : 0;
        if (on != was_on || chunks != ghost_class_chunks(c->ghost_retained, i)) {
            ghost_set_class(c->ghost_retained, i, chunks);
            page_value_watch_tails(c, i);
        }
    }
    return true;
}

/* --- reading --- */

static void page_value_add_thread(const struct cache_thread *ct, struct cache_signals *s,
                                  unsigned class_count) {
    s->requests += counter_get(&ct->counters.get_misses);
    for (unsigned i = 1; i <= class_count; i++) {
        const struct cache_class_counters *n = &ct->classes[i];
        const struct cache_signal_counters *g = &ct->signals[i];
        struct cache_signal *to = &s->classes[i];
        to->hits += cache_thread_class_hits(n);
        s->requests += counter_get(&n->cmd_set);
        counter_sum(to->tail_hits, &g->each[TAIL_HITS], CACHE_TAILS);
        counter_sum(to->ghost_hits, &g->each[GHOST_HITS], CACHE_GHOST_DEPTHS);
    }
}

static void page_value_add_retired(const struct cache *c, struct cache_signals *s,
                                   unsigned class_count) {
    s->requests += c->retired.get_misses;
    for (unsigned i = 1; i <= class_count; i++) {
        const struct cache_class_values *n = &c->class_retired[i];
        struct cache_signal *to = &s->classes[i];
        to->hits += cache_class_hits(n);
        s->requests += n->cmd_set;
        for (unsigned t = 0; t < CACHE_TAILS; t++) {
            to->tail_hits[t] += c->signals_retired[i].each[TAIL_HITS + t];
        }
        for (unsigned d = 0; d < CACHE_GHOST_DEPTHS; d++) {
            to->ghost_hits[d] += c->signals_retired[i].each[GHOST_HITS + d];
        }
    }
}

void cache_signals(struct cache *c, struct cache_signals *s) {
    unsigned class_count = c->slab->class_count;
    memset(s, 0, sizeof *s);
    lock_take(&c->threads_lock);
    page_value_add_retired(c, s, class_count);
    for (unsigned t = 0; t < c->thread_count; t++) {
        page_value_add_thread(c->threads[t], s, class_count);
    }
    lock_release(&c->threads_lock);
    for (unsigned i = 1; i <= class_count; i++) {
        s->requests += s->classes[i].hits;
        s->classes[i].ghost_weight =
            c->ghost_retained != NULL ? ghost_weight(c->ghost_retained, i) : 1;
    }
}

void cache_signal_tails(struct cache *c, struct cache_signals *s) {
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        for (unsigned j = 1; j <= c->slab->class_count; j++) {
            for (unsigned t = 0; t < CACHE_TAILS && p->class_queues[j] != NULL; t++) {
                s->classes[j].tail_items[t] += p->class_queues[j]->queue.tail.count[t];
            }
        }
        lock_release(&p->lock);
    }
}
