/* Making and ending a cache and its threads, its run-time settings, and summing up what it knows. */
#include "cache/partition.h"

#include <errno.h>
#include <stdlib.h>

enum { PARTITIONS_MIN = 16, PARTITIONS_MAX = 1024, RESERVE_FACTOR = 4, INDEX_BYTES_MIN = 64 << 10 };

/* 16 partitions at 64 MiB, one for every 4 MiB above. */
static unsigned default_partitions(size_t limit_bytes) {
    unsigned n = PARTITIONS_MIN;
    while (n < PARTITIONS_MAX && (size_t)n * 2 * (4u << 20) <= limit_bytes) {
        n *= 2;
    }
    return n;
}

/* Chunks a partition may keep at hand: several small ones, none of those that matter. */
static uint8_t default_stock(uint32_t chunk_bytes) {
    return chunk_bytes <= 512 ? STOCK_MAX : chunk_bytes <= 4096 ? 2 : 0;
}

struct cache *cache_create(const struct cache_config *cfg) {
    struct cache *c = aligned_alloc(64, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    memset(c, 0, sizeof *c);
    c->config = *cfg;
    lock_init(&c->threads_lock);
    atomic_init(&c->policy, cfg->policy);
    atomic_init(&c->temporary_ttl_s, cfg->temporary_ttl_s);
    cache_set_tuning(c, cfg->hot_pct, cfg->warm_pct, cfg->hot_factor_pct, cfg->warm_factor_pct);
    c->cas_flag = cfg->cas ? ITEM_CAS : 0;
    unsigned n = cfg->partitions != 0 ? cfg->partitions : default_partitions(cfg->limit_bytes);
    c->partition_shift = 64u - (unsigned)__builtin_ctz(n);
    /* An item takes at least 50 bytes and its place in the index some eight. */
    size_t index_bytes_most = cfg->limit_bytes * RESERVE_FACTOR / 4 + (size_t)n * INDEX_BYTES_MIN;
    if (!index_pool_init(&c->index_pool, index_bytes_most)) {
        goto fail;
    }
    c->arena = arena_create(cfg->limit_bytes, cfg->limit_bytes * RESERVE_FACTOR, cfg->huge_pages);
    c->slab = c->arena != NULL ? slab_create(c->arena, &cfg->slab) : NULL;
    c->partitions = c->slab != NULL ? aligned_alloc(64, n * sizeof *c->partitions) : NULL;
    if (c->partitions == NULL) {
        goto fail;
    }
    memset(c->partitions, 0, n * sizeof *c->partitions);
    for (; c->partition_count < n; c->partition_count++) {
        struct partition *p = &c->partitions[c->partition_count];
        if (!index_init(&p->index, &c->index_pool, &c->arena->space)) {
            errno = ENOMEM;
            goto fail;
        }
        lock_init(&p->lock);
    }
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        c->stock_most[i] = default_stock(c->slab->classes[i].chunk_bytes);
    }
    return c;
fail:;
    int saved = errno;
    cache_destroy(&c);
    errno = saved;
    return NULL;
}

void cache_destroy(struct cache **taken) {
    struct cache *c = *taken;
    if (c == NULL) {
        return;
    }
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        for (unsigned j = 0; j < SLAB_CLASSES_MAX; j++) {
            free(p->shelves[j]);
        }
        index_fini(&p->index);
        lock_fini(&p->lock);
    }
    free(c->partitions);
    slab_destroy(&c->slab);
    arena_destroy(&c->arena);
    index_pool_fini(&c->index_pool);
    lock_fini(&c->threads_lock);
    free(c);
    *taken = NULL;
}

/* --- threads --- */

struct cache_thread *cache_thread_create(struct cache *c) {
    struct cache_thread *ct = aligned_alloc(64, sizeof *ct);
    if (ct == NULL) {
        return NULL;
    }
    memset(ct, 0, sizeof *ct);
    ct->cache = c;
    ct->random = (uintptr_t)ct | 1u;
    ct->now_s = clock_now_s();
    lock_take(&c->threads_lock);
    bool room = c->thread_count < THREADS_MAX;
    if (room) {
        c->threads[c->thread_count++] = ct;
        for (ct->turn = c->turns; ct->turn->used; ct->turn++) {
        }
        ct->turn->used = true;
    }
    lock_release(&c->threads_lock);
    if (!room) {
        free(ct);
        return NULL;
    }
    return ct;
}

static const size_t counter_count = sizeof(struct cache_counters) / sizeof(struct counter);
static const size_t class_counter_count = sizeof(struct cache_class_counters) / sizeof(struct counter);

void cache_thread_destroy(struct cache_thread **taken) {
    struct cache_thread *ct = *taken;
    if (ct == NULL) {
        return;
    }
    struct cache *c = ct->cache;
    lock_take(&c->threads_lock);
    for (unsigned i = 0; i < c->thread_count; i++) {
        if (c->threads[i] == ct) {
            c->threads[i] = c->threads[--c->thread_count];
            break;
        }
    }
    ct->turn->used = false;
    counter_sum((uint64_t *)&c->retired, (struct counter *)&ct->counters, counter_count);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        counter_sum((uint64_t *)&c->class_retired[i], (struct counter *)&ct->classes[i], class_counter_count);
    }
    lock_release(&c->threads_lock);
    free(ct);
    *taken = NULL;
}

/* Threads may meet here: the later time stays. */
static void flushed(struct cache *c, uint32_t at_s) {
    uint32_t was = atomic_load_explicit(&c->flushed_s, memory_order_relaxed);
    while (at_s > was && !atomic_compare_exchange_weak_explicit(&c->flushed_s, &was, at_s, memory_order_relaxed,
                                                                memory_order_relaxed)) {
    }
}

void cache_turn_begin(struct cache_thread *ct) {
    ct->now_s = clock_now_s();
    uint32_t flush_s = atomic_load_explicit(&ct->cache->flush_at_s, memory_order_relaxed);
    if (flush_s != 0 && flush_s <= ct->now_s) {
        flushed(ct->cache, flush_s);
        atomic_compare_exchange_strong_explicit(&ct->cache->flush_at_s, &flush_s, 0, memory_order_relaxed,
                                                memory_order_relaxed);
    }
    uint64_t n = atomic_load_explicit(&ct->turn->n, memory_order_relaxed);
    assert(n % 2 == 0);
    atomic_store_explicit(&ct->turn->n, n + 1, memory_order_seq_cst);
    atomic_thread_fence(memory_order_seq_cst); /* seen before any reference is found in this turn; pairs with cache_quiesce */
}

void cache_turn_end(struct cache_thread *ct) {
    uint64_t n = atomic_load_explicit(&ct->turn->n, memory_order_relaxed);
    assert(n % 2 == 1);
    atomic_store_explicit(&ct->turn->n, n + 1, memory_order_release);
}

uint32_t cache_now_s(const struct cache_thread *ct) { return ct->now_s; }

/* --- settings --- */

void cache_set_tuning(struct cache *c, uint32_t hot_pct, uint32_t warm_pct, uint32_t hot_factor_pct, uint32_t warm_factor_pct) {
    atomic_store_explicit(&c->tuning.hot_pct, hot_pct, memory_order_relaxed);
    atomic_store_explicit(&c->tuning.warm_pct, warm_pct, memory_order_relaxed);
    atomic_store_explicit(&c->tuning.hot_factor_pct, hot_factor_pct, memory_order_relaxed);
    atomic_store_explicit(&c->tuning.warm_factor_pct, warm_factor_pct, memory_order_relaxed);
}

void cache_set_temporary_ttl(struct cache *c, int64_t ttl_s) {
    atomic_store_explicit(&c->temporary_ttl_s, ttl_s, memory_order_relaxed);
}

void cache_set_policy(struct cache_thread *ct, const struct evict_policy *policy) {
    struct cache *c = ct->cache;
    atomic_store_explicit(&c->policy, policy, memory_order_relaxed);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        for (unsigned j = 1; j <= c->slab->class_count; j++) {
            lock_take(&p->lock);
            if (p->shelves[j] != NULL) {
                evict_switch(&p->shelves[j]->queue, policy, ct->now_s);
            }
            lock_release(&p->lock);
        }
    }
}

const struct evict_policy *cache_policy(const struct cache *c) {
    return atomic_load_explicit(&c->policy, memory_order_relaxed);
}

bool cache_set_limit(struct cache *c, size_t limit_bytes) { return arena_set_limit(c->arena, limit_bytes); }

void cache_flush(struct cache *c, uint32_t at_s) {
    uint32_t now_s = clock_now_s();
    bool to_come = at_s > now_s;
    atomic_store_explicit(&c->flush_at_s, to_come ? at_s : 0, memory_order_relaxed);
    if (!to_come) {
        /* A second flush in one second goes beyond the stamp of what was stored since the first. */
        uint32_t was = atomic_load_explicit(&c->flushed_s, memory_order_relaxed);
        flushed(c, at_s == now_s && was >= now_s ? was + 1 : at_s);
    }
}

/* --- hunger --- */

uint64_t cache_take_hunger(struct cache *c) { return atomic_exchange_explicit(&c->hunger, 0, memory_order_relaxed); }

void cache_set_hunger_on_evict(struct cache *c, bool on) {
    atomic_store_explicit(&c->hunger_on_evict, on, memory_order_relaxed);
}

void cache_on_hunger(struct cache *c, void (*wake)(void *), void *arg) {
    c->wake_arg = arg;
    c->wake = wake;
}

/* --- facts --- */

/* Hits are counted by list only, gets not at all: both follow from what is counted. */
static void complete_class(struct cache_class_values *v) {
    v->get_hits = v->hits_to_hot + v->hits_to_warm + v->hits_to_cold + v->hits_to_temp;
}

static void sum_locked(struct cache *c, struct cache_values *total, struct cache_class_values *classes) {
    assert(lock_held(&c->threads_lock));
    *total = c->retired;
    memcpy(classes, c->class_retired, sizeof c->class_retired);
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)total, (struct counter *)&c->threads[t]->counters, counter_count);
        for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
            counter_sum((uint64_t *)&classes[i], (struct counter *)&c->threads[t]->classes[i], class_counter_count);
        }
    }
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        complete_class(&classes[i]);
        total->get_hits += classes[i].get_hits;
        total->touch_hits += classes[i].touch_hits;
        total->cmd_set += classes[i].cmd_set;
        total->delete_hits += classes[i].delete_hits;
        total->incr_hits += classes[i].incr_hits;
        total->decr_hits += classes[i].decr_hits;
        total->cas_hits += classes[i].cas_hits;
        total->cas_badval += classes[i].cas_badval;
    }
    total->cmd_get += total->get_hits + total->get_misses;
}

static void subtract(uint64_t *from, const uint64_t *what, size_t count) {
    for (size_t i = 0; i < count; i++) {
        from[i] -= what[i];
    }
}

void cache_facts(struct cache *c, struct cache_facts *f) {
    struct cache_class_values classes[SLAB_CLASSES_MAX];
    memset(f, 0, sizeof *f);
    lock_take(&c->threads_lock);
    sum_locked(c, &f->counters, classes);
    subtract((uint64_t *)&f->counters, (uint64_t *)&c->baseline, counter_count);
    lock_release(&c->threads_lock);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        f->items += p->index.item_count;
        f->bytes += p->bytes;
        f->index_bytes += index_bytes(&p->index);
        f->index_buckets += atomic_load_explicit(&p->index.bucket_count, memory_order_relaxed);
        lock_release(&p->lock);
    }
    f->pages_limit = atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed);
    f->pages_out = atomic_load_explicit(&c->arena->pages_out, memory_order_relaxed);
    f->class_count = c->slab->class_count;
    f->partitions = c->partition_count;
    f->limit_bytes = (size_t)f->pages_limit << PAGE_SHIFT;
}

/* The caller holds the shelf's partition. */
static void add_shelf(const struct shelf *s, uint32_t now_s, struct cache_class_facts *f) {
    f->items += evict_count(&s->queue);
    f->requested_bytes += s->requested_bytes;
    f->stock_chunks += s->stock_count;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        f->list_items[i] += s->queue.list[i].count;
        const struct node *n = evict_oldest_in(&s->queue, i);
        uint32_t age_s = n != NULL && now_s > node_used_s(n) ? now_s - node_used_s(n) : 0;
        if (age_s > f->list_age_s[i]) {
            f->list_age_s[i] = age_s;
        }
    }
}

void cache_class_facts(struct cache *c, unsigned class_id, struct cache_class_facts *f) {
    struct cache_values total;
    struct cache_class_values classes[SLAB_CLASSES_MAX];
    uint32_t now_s = clock_now_s();
    memset(f, 0, sizeof *f);
    slab_facts(c->slab, class_id, &f->slab);
    f->evicted_age_s = atomic_load_explicit(&c->evicted_age_s[class_id], memory_order_relaxed);
    lock_take(&c->threads_lock);
    sum_locked(c, &total, classes);
    f->counters = classes[class_id];
    subtract((uint64_t *)&f->counters, (uint64_t *)&c->class_baseline[class_id], class_counter_count);
    lock_release(&c->threads_lock);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        if (p->shelves[class_id] != NULL) {
            add_shelf(p->shelves[class_id], now_s, f);
        }
        lock_release(&p->lock);
    }
}

void cache_reset_counters(struct cache *c) {
    lock_take(&c->threads_lock);
    sum_locked(c, &c->baseline, c->class_baseline);
    lock_release(&c->threads_lock);
}

struct slab *cache_slab(struct cache *c) { return c->slab; }
uint32_t     cache_item_bytes_max(const struct cache *c) { return c->config.item_bytes_max; }
bool         cache_has_cas(const struct cache *c) { return c->config.cas; }
