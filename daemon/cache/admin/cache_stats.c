/* Sums counters by threads, by classes, by partitions. */
#include "cache/admin/cache_stats.h"

#include "cache/items/pinned.h"

/* queues read in one hold of a partition's lock: each costs four cache misses */
enum { QUEUES_A_LOCK = 32 };

enum {
    COUNTERS = sizeof(struct cache_counters) / sizeof(struct counter),
    SIGNAL_COUNTERS = sizeof(struct cache_signal_counters) / sizeof(struct counter),
    CLASS_COUNTERS = sizeof(struct cache_class_counters) / sizeof(struct counter),
};

void cache_stats_retire_locked(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    assert(lock_held(&c->threads_lock));
    counter_sum((uint64_t *)&c->retired, (struct counter *)&ct->counters, COUNTERS);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        counter_sum((uint64_t *)&c->class_retired[i], (struct counter *)&ct->classes[i],
                    CLASS_COUNTERS);
        counter_sum((uint64_t *)&c->signals_retired[i], (struct counter *)&ct->signals[i],
                    SIGNAL_COUNTERS);
        counter_sum((uint64_t *)&c->ages_retired[i], (struct counter *)&ct->ages[i], CACHE_AGES);
    }
}

static void stats_sum_locked(struct cache *c, struct cache_values *total,
                             struct cache_class_values *classes) {
    assert(lock_held(&c->threads_lock));
    *total = c->retired;
    unsigned most = atomic_load_explicit(&c->class_id_most, memory_order_relaxed);
    memcpy(classes, c->class_retired, sizeof c->class_retired);
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)total, (struct counter *)&c->threads[t]->counters, COUNTERS);
        for (unsigned i = 0; i <= most; i++) {
            counter_sum((uint64_t *)&classes[i], (struct counter *)&c->threads[t]->classes[i],
                        CLASS_COUNTERS);
        }
    }
    for (unsigned i = 0; i <= most; i++) {
        classes[i].get_hits = cache_class_hits(&classes[i]);
        total->get_hits += classes[i].get_hits;
        total->touch_hits += classes[i].touch_hits;
        total->cmd_set += classes[i].cmd_set + classes[i].cmd_set_refused;
        total->delete_hits += classes[i].delete_hits;
        total->incr_hits += classes[i].incr_hits;
        total->decr_hits += classes[i].decr_hits;
        total->cas_hits += classes[i].cas_hits;
        total->cas_badval += classes[i].cas_badval;
    }
    total->cmd_get += total->get_hits + total->get_misses;
}

static void stats_subtract(uint64_t *from, const uint64_t *what, size_t count) {
    for (size_t i = 0; i < count; i++) {
        from[i] -= what[i];
    }
}

/* Counters of all classes since the last reset. */
static void stats_class_values(struct cache *c,
                               struct cache_class_values counters[SLAB_CLASSES_MAX]) {
    struct cache_values total;
    lock_take(&c->threads_lock);
    stats_sum_locked(c, &total, counters);
    stats_subtract((uint64_t *)counters, (uint64_t *)c->class_baseline,
                   SLAB_CLASSES_MAX * CLASS_COUNTERS);
    lock_release(&c->threads_lock);
}

void cache_facts(struct cache *c, struct cache_facts *f) {
    struct cache_class_values classes[SLAB_CLASSES_MAX];
    memset(f, 0, sizeof *f);
    lock_take(&c->threads_lock);
    stats_sum_locked(c, &f->counters, classes);
    stats_subtract((uint64_t *)&f->counters, (uint64_t *)&c->baseline, COUNTERS);
    lock_release(&c->threads_lock);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        f->items += p->index.item_count;
        f->bytes += p->bytes;
        f->index_bytes += index_bytes(&p->index);
        f->index_buckets += index_count(&p->index);
        lock_release(&p->lock);
    }
    f->pages_limit = atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed);
    f->pages_out = c->store->pages_out(c);
    f->pages_free = f->pages_out < f->pages_limit ? f->pages_limit - f->pages_out : 0;
    uint32_t withdrawn = atomic_load_explicit(&c->slab->withdrawn, memory_order_relaxed);
    uint32_t ever_out = arena_page_end(c->arena);
    f->pages_returned = (f->pages_out < ever_out ? ever_out - f->pages_out : 0) + withdrawn;
    f->pages_free += withdrawn;
    f->class_count = c->slab->class_count;
    f->partitions = c->partition_count;
    f->limit_bytes = (size_t)f->pages_limit << PAGE_SHIFT;
    f->upload_bytes = cache_uploads_held_bytes(c);
    f->pinned_bytes = pinned_bytes(c);
}

/* How long ago a node was stored or moved: reads move none. Flushed: the time since the flush. */
static uint32_t stats_node_age_s(const struct node *n, struct item_clock clock, uint32_t now_s) {
    uint32_t from_s = node_time_s(n);
    if ((int32_t)(from_s - clock.flushed_s) <= 0) {
        from_s = clock.flushed_s + 1;
    }
    now_s += clock.ahead_s;
    return (int32_t)(now_s - from_s) > 0 ? now_s - from_s : 0;
}

/* The caller holds the queue's partition. */
static void stats_add_queue(const struct class_queue *s, struct item_clock clock, uint32_t now_s,
                            struct cache_class_facts *f) {
    f->items += evict_lists_count(&s->queue);
    f->requested_bytes += s->requested_bytes;
    f->magazine_chunks += s->magazine_count;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        f->list_items[i] += s->queue.list[i].count;
        const struct node *n = evict_list_oldest(&s->queue, i);
        uint32_t age_s = n != NULL ? stats_node_age_s(n, clock, now_s) : 0;
        if (age_s > f->list_age_s[i]) {
            f->list_age_s[i] = age_s;
        }
    }
}

/* Reads the queues of ids from `first` on, as many as one hold of the lock may read. */
static void stats_add_queues(struct cache *c, const struct class_set *ids, unsigned first,
                             uint32_t now_s, struct cache_class_facts *by_id) {
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        for (unsigned id = first; id < first + QUEUES_A_LOCK; id++) {
            if (class_set_has(ids, id) && p->class_queues[id] != NULL) {
                stats_add_queue(p->class_queues[id], cache_item_clock(c), now_s, &by_id[id]);
            }
        }
        lock_release(&p->lock);
    }
}

void cache_classes_facts(struct cache *c, const struct class_set *ids,
                         struct cache_class_facts *by_id) {
    struct cache_class_values counters[SLAB_CLASSES_MAX];
    uint32_t now_s = clock_now_s();
    stats_class_values(c, counters);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        if (class_set_has(ids, id)) {
            by_id[id] = (struct cache_class_facts){.counters = counters[id]};
            by_id[id].evicted_age_s =
                atomic_load_explicit(&c->evicted_age_s[id], memory_order_relaxed);
            c->store->class_facts(c, id, &by_id[id].slab);
        }
    }
    for (unsigned first = 0; first < SLAB_CLASSES_MAX && first <= c->slab->class_count;
         first += QUEUES_A_LOCK) {
        stats_add_queues(c, ids, first, now_s, by_id);
    }
}

void cache_stats_sum_class_locked(struct cache *c, unsigned class_id,
                                  struct cache_class_values *sum) {
    assert(lock_held(&c->threads_lock));
    *sum = c->class_retired[class_id];
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)sum, (struct counter *)&c->threads[t]->classes[class_id],
                    CLASS_COUNTERS);
    }
    sum->get_hits = cache_class_hits(sum);
}

uint64_t cache_class_evicted(struct cache *c, unsigned class_id) {
    struct cache_class_values sum;
    lock_take(&c->threads_lock);
    cache_stats_sum_class_locked(c, class_id, &sum);
    lock_release(&c->threads_lock);
    return sum.evicted;
}

static void stats_sum_ages_locked(struct cache *c, unsigned class_id,
                                  struct cache_age_values *sum) {
    *sum = c->ages_retired[class_id];
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)sum, (struct counter *)&c->threads[t]->ages[class_id], CACHE_AGES);
    }
}

void cache_class_ages(struct cache *c, unsigned class_id, struct cache_age_values *sum) {
    lock_take(&c->threads_lock);
    stats_sum_ages_locked(c, class_id, sum);
    stats_subtract((uint64_t *)sum, (uint64_t *)&c->ages_baseline[class_id], CACHE_AGES);
    lock_release(&c->threads_lock);
}

void cache_class_facts(struct cache *c, unsigned class_id, struct cache_class_facts *f) {
    uint32_t now_s = clock_now_s();
    *f = (struct cache_class_facts){0};
    f->evicted_age_s = atomic_load_explicit(&c->evicted_age_s[class_id], memory_order_relaxed);
    c->store->class_facts(c, class_id, &f->slab);
    lock_take(&c->threads_lock);
    cache_stats_sum_class_locked(c, class_id, &f->counters);
    stats_subtract((uint64_t *)&f->counters, (uint64_t *)&c->class_baseline[class_id],
                   CLASS_COUNTERS);
    lock_release(&c->threads_lock);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        if (p->class_queues[class_id] != NULL) {
            stats_add_queue(p->class_queues[class_id], cache_item_clock(c), now_s, f);
        }
        lock_release(&p->lock);
    }
}

void cache_classes_counters(struct cache *c, struct cache_class_values *sum) {
    struct cache_class_values counters[SLAB_CLASSES_MAX];
    memset(sum, 0, sizeof *sum);
    stats_class_values(c, counters);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        const uint64_t *from = (const uint64_t *)&counters[id];
        for (size_t i = 0; i < CLASS_COUNTERS; i++) {
            ((uint64_t *)sum)[i] += from[i];
        }
    }
}

void cache_reset_counters(struct cache *c) {
    lock_take(&c->threads_lock);
    stats_sum_locked(c, &c->baseline, c->class_baseline);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        stats_sum_ages_locked(c, i, &c->ages_baseline[i]);
    }
    lock_release(&c->threads_lock);
}

void cache_reads(struct cache *c, struct cache_read_counts *to) {
    lock_take(&c->threads_lock);
    to->misses = c->retired.get_misses;
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        to->class_hits[i] = cache_class_hits(&c->class_retired[i]);
    }
    for (unsigned t = 0; t < c->thread_count; t++) {
        to->misses += counter_get(&c->threads[t]->counters.get_misses);
        for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
            to->class_hits[i] += cache_thread_class_hits(&c->threads[t]->classes[i]);
        }
    }
    lock_release(&c->threads_lock);
}
