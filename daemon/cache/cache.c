/* Making and ending a cache and its threads, its run-time settings, and summing up what it knows. */
#include "cache/partition.h"

#include <errno.h>
#include <stdlib.h>

enum { SHELVES_A_LOCK = 32 }; /* looked at in one hold of a partition's lock: four cache misses each */
enum { PARTITIONS_MIN = 16, PARTITIONS_MAX = 1024, RESERVE_FACTOR = 4, INDEX_BYTES_MIN = 64 << 10 };
enum { ITEM_BYTES_LEAST = 48 }; /* the smallest chunk */

/* 16 partitions at 64 MiB, one for every 4 MiB above. */
static unsigned default_partitions(size_t limit_bytes) {
    unsigned n = PARTITIONS_MIN;
    while (n < PARTITIONS_MAX && (size_t)n * 2 * (4u << 20) <= limit_bytes) {
        n *= 2;
    }
    return n;
}

static uint32_t round_up(uint32_t n, uint32_t unit) { return (n + unit - 1) / unit * unit; }

/* The slabs of a slab store; or the one class of blocks of a block store, and a second one for heads that no block holds;
 * or the one class that all items of a heap are said to be of, which never has a page. */
static struct slab *make_slab(struct cache *c, const struct cache_config *cfg) {
    if (cfg->store == CACHE_STORE_SLAB) {
        c->slab_bytes_most = SIZE_MAX;
        return slab_create(c->arena, &cfg->slab);
    }
    if (cfg->store == CACHE_STORE_HEAP) {
        uint32_t none = 0;
        return slab_create(c->arena, &(struct slab_config){.chunk_bytes_min = SLAB_HEADER_ROOM, .growth_factor = 2,
                                                           .sizes = &none, .chunk_bytes_max = PAGE_BYTES});
    }
    if (cfg->block_bytes < CACHE_BLOCK_LEAST || cfg->block_bytes > CACHE_BLOCK_MOST) {
        errno = EINVAL;
        return NULL;
    }
    uint32_t unit = 1u << c->arena->space.shift;
    c->block_bytes = round_up(cfg->block_bytes, unit);
    c->slab_bytes_most = c->block_bytes;
    uint32_t head_bytes = round_up(SLAB_CHUNK_MAX_LEAST, unit);
    bool any_head = c->block_bytes >= head_bytes;
    return slab_create(c->arena, &(struct slab_config){.chunk_bytes_min = c->block_bytes,
                                                       .growth_factor = 2, /* not asked: the sizes are given */
                                                       .sizes = &c->block_bytes,
                                                       .size_count = any_head ? 0 : 1,
                                                       .chunk_bytes_max = any_head ? c->block_bytes : head_bytes});
}

static size_t grown_most(const struct cache_config *cfg) { return cfg->limit_bytes * RESERVE_FACTOR; }

/* Address space: also for a page of every class beyond the largest limit, for the first page of a class may go over it. */
static size_t reserve_of(const struct cache_config *cfg) {
    return grown_most(cfg) + (cfg->store == CACHE_STORE_SLAB ? (size_t)SLAB_CLASSES_MAX * PAGE_BYTES : 0);
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
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        atomic_init(&c->class_policy[i], cfg->policy);
    }
    atomic_init(&c->temporary_ttl_s, cfg->temporary_ttl_s);
    cache_set_tuning(c, cfg->hot_pct, cfg->warm_pct, cfg->hot_factor_pct, cfg->warm_factor_pct);
    c->cas_flag = cfg->cas ? ITEM_CAS : 0;
    unsigned n = cfg->partitions != 0 ? cfg->partitions : default_partitions(cfg->limit_bytes);
    c->partition_shift = 64u - (unsigned)__builtin_ctz(n);
    const struct index_kind *kind = cfg->index != NULL ? cfg->index : index_kinds[0];
    size_t reserve_bytes = reserve_of(cfg), items_most = reserve_bytes / ITEM_BYTES_LEAST;
    size_t index_bytes_most = items_most * kind->item_bytes_most + (size_t)n * INDEX_BYTES_MIN;
    if (!index_pool_init(&c->index_pool, index_bytes_most)) {
        goto fail;
    }
    c->arena = arena_create(cfg->limit_bytes, reserve_bytes,
                            cfg->huge_pages && cfg->store != CACHE_STORE_HEAP); /* a heap gives back small pages */
    c->slab = c->arena != NULL ? make_slab(c, cfg) : NULL;
    c->heap = c->slab != NULL && cfg->store == CACHE_STORE_HEAP ? heap_create(c->arena) : NULL;
    bool stored = c->slab != NULL && (c->heap != NULL) == (cfg->store == CACHE_STORE_HEAP) && (c->heap == NULL || limbos_create(c));
    c->partitions = stored ? aligned_alloc(64, n * sizeof *c->partitions) : NULL;
    if (c->partitions == NULL) {
        goto fail;
    }
    memset(c->partitions, 0, n * sizeof *c->partitions);
    for (; c->partition_count < n; c->partition_count++) {
        struct partition *p = &c->partitions[c->partition_count];
        if (!index_init(&p->index, kind, &c->index_pool, &c->arena->space)) {
            errno = ENOMEM;
            goto fail;
        }
        lock_init(&p->lock);
        p->cas = c->partition_count;
        p->cas_step = n;
    }
    geometry_note_classes(c);
    geometry_set_stocks(c);
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
            shelf_destroy(p->shelves[j]);
        }
        index_fini(&p->index);
        lock_fini(&p->lock);
    }
    free(c->partitions);
    slab_destroy(&c->slab);
    heap_destroy(&c->heap);
    limbos_destroy(c);
    arena_destroy(&c->arena);
    index_pool_fini(&c->index_pool);
    lock_fini(&c->threads_lock);
    ghost_destroy(&c->ghost_kept);
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
    ct->now_s = clock_now_s();
    ct->sample_below = atomic_load_explicit(&c->sample_below, memory_order_relaxed);
    lock_take(&c->threads_lock);
    bool room = c->thread_count < THREADS_MAX && sample_thread_begin(ct);
    if (room) {
        c->threads[c->thread_count++] = ct;
        ct->random = c->thread_count * UINT64_C(0x9e3779b97f4a7c15) | 1u; /* the same every time, so that a replay is too */
        for (ct->turn = c->turns; ct->turn->used; ct->turn++) {
        }
        ct->turn->used = true;
        unsigned number = (unsigned)(ct->turn - c->turns);
        ct->limbos = c->limbos != NULL ? &c->limbos[number] : NULL;
        if (number >= atomic_load_explicit(&c->turns_used, memory_order_relaxed)) {
            atomic_store_explicit(&c->turns_used, number + 1, memory_order_relaxed);
        }
    }
    lock_release(&c->threads_lock);
    if (!room) {
        free(ct);
        return NULL;
    }
    return ct;
}

static const size_t counter_count = sizeof(struct cache_counters) / sizeof(struct counter);
static const size_t signal_counter_count = sizeof(struct cache_signal_counters) / sizeof(struct counter);
static const size_t class_counter_count = sizeof(struct cache_class_counters) / sizeof(struct counter);

void cache_thread_destroy(struct cache_thread **taken) {
    struct cache_thread *ct = *taken;
    if (ct == NULL) {
        return;
    }
    struct cache *c = ct->cache;
    heap_reclaim(ct); /* what cannot be given back now others give back */
    lock_take(&c->threads_lock);
    for (unsigned i = 0; i < c->thread_count; i++) {
        if (c->threads[i] == ct) {
            c->threads[i] = c->threads[--c->thread_count];
            break;
        }
    }
    ct->turn->used = false;
    sample_thread_end_locked(ct);
    counter_sum((uint64_t *)&c->retired, (struct counter *)&ct->counters, counter_count);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        counter_sum((uint64_t *)&c->class_retired[i], (struct counter *)&ct->classes[i], class_counter_count);
        counter_sum((uint64_t *)&c->signals_retired[i], (struct counter *)&ct->signals[i], signal_counter_count);
        counter_sum((uint64_t *)&c->ages_retired[i], (struct counter *)&ct->ages[i], CACHE_AGES);
    }
    lock_release(&c->threads_lock);
    free(ct);
    *taken = NULL;
}

void cache_turn_begin(struct cache_thread *ct) {
    ct->now_s = clock_now_s();
    ct->stamp_pages = atomic_load_explicit(&ct->cache->stamp_pages, memory_order_relaxed);
    ct->sample_below = atomic_load_explicit(&ct->cache->sample_below, memory_order_relaxed);
    flush_if_due(ct->cache, ct->now_s);
    ct->item_clock = cache_item_clock(ct->cache);
    turn_enter(ct->turn);
}

void cache_turn_end(struct cache_thread *ct) { turn_leave(ct->turn); }

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

static void switch_class(struct cache *c, unsigned class_id, const struct evict_policy *policy) {
    atomic_store_explicit(&c->class_policy[class_id], policy, memory_order_relaxed);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        if (p->shelves[class_id] != NULL) {
            evict_switch(&p->shelves[class_id]->queue, policy);
        }
        lock_release(&p->lock);
    }
}

void cache_set_policy(struct cache *c, const struct evict_policy *policy, unsigned class_id) {
    if (class_id != SLAB_CLASS_NONE) {
        switch_class(c, class_id, policy);
        return;
    }
    atomic_store_explicit(&c->policy, policy, memory_order_relaxed);
    for (unsigned i = 1; i < SLAB_CLASSES_MAX; i++) {
        switch_class(c, i, policy);
    }
}

const struct evict_policy *cache_class_policy(const struct cache *c, unsigned class_id) { return policy_of(c, class_id); }
const struct evict_policy *cache_policy(const struct cache *c) {
    return atomic_load_explicit(&c->policy, memory_order_relaxed);
}

size_t cache_limit_most(const struct cache *c) { return grown_most(&c->config); }

bool cache_set_limit(struct cache *c, size_t limit_bytes) {
    if (c->heap != NULL && !c->config.evict && !heap_within(c, limit_bytes)) {
        return false;
    }
    bool set = limit_bytes <= cache_limit_most(c) && arena_set_limit(c->arena, limit_bytes, c->config.steal_pages && c->config.evict);
    if (set && c->heap != NULL) {
        heap_lowered(c);
    }
    if (set && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
    return set;
}

/* --- hunger --- */

struct class_set cache_take_hunger(struct cache *c) { return class_set_shared_take(&c->hunger); }
struct class_set cache_take_left_whole(struct cache *c) { return class_set_shared_take(&c->left_whole); }

void cache_set_hunger_on_evict(struct cache *c, bool on) {
    atomic_store_explicit(&c->hunger_on_evict, on, memory_order_relaxed);
}

void cache_on_hunger(struct cache *c, void (*wake)(void *), void *arg) {
    c->wake_arg = arg;
    c->wake = wake;
}

void cache_on_steal(struct cache *c, void (*stolen)(void *, const struct cache_steal *), void *arg) {
    c->stolen_arg = arg;
    c->stolen = stolen;
}

/* --- facts --- */

/* Hits are counted by list only, gets not at all: both follow from what is counted. */
static void complete_class(struct cache_class_values *v) {
    v->get_hits = v->hits_to_hot + v->hits_to_warm + v->hits_to_cold + v->hits_to_temp;
}

static void sum_locked(struct cache *c, struct cache_values *total, struct cache_class_values *classes) {
    assert(lock_held(&c->threads_lock));
    *total = c->retired;
    unsigned most = atomic_load_explicit(&c->class_id_most, memory_order_relaxed);
    memcpy(classes, c->class_retired, sizeof c->class_retired);
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)total, (struct counter *)&c->threads[t]->counters, counter_count);
        for (unsigned i = 0; i <= most; i++) {
            counter_sum((uint64_t *)&classes[i], (struct counter *)&c->threads[t]->classes[i], class_counter_count);
        }
    }
    for (unsigned i = 0; i <= most; i++) {
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
        f->index_buckets += index_bucket_count(&p->index);
        lock_release(&p->lock);
    }
    f->pages_limit = atomic_load_explicit(&c->arena->page_limit, memory_order_relaxed);
    f->pages_out = atomic_load_explicit(&c->arena->pages_out, memory_order_relaxed);
    if (c->heap != NULL) {
        struct slab_class_facts heap;
        heap_class_facts(c, &heap);
        f->pages_out = heap.pages;
    }
    f->pages_free = f->pages_out < f->pages_limit ? f->pages_limit - f->pages_out : 0;
    f->pages_free += atomic_load_explicit(&c->slab->withdrawn, memory_order_relaxed);
    f->class_count = c->slab->class_count;
    f->partitions = c->partition_count;
    f->limit_bytes = (size_t)f->pages_limit << PAGE_SHIFT;
    f->draft_bytes = cache_drafts_held(c);
}

/* How long ago a node was used last; of one that was flushed, how long ago that was. */
static uint32_t age_of(const struct node *n, struct item_clock clock, uint32_t now_s) {
    uint32_t used_s = node_used_s(n);
    if ((int32_t)(used_s - clock.flushed) <= 0) {
        used_s = clock.flushed + 1;
    }
    now_s += clock.ahead_s;
    return (int32_t)(now_s - used_s) > 0 ? now_s - used_s : 0;
}

/* The caller holds the shelf's partition. */
static void add_shelf(const struct shelf *s, struct item_clock clock, uint32_t now_s, struct cache_class_facts *f) {
    f->items += evict_count(&s->queue);
    f->requested_bytes += s->requested_bytes;
    f->stock_chunks += s->stock_count;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        f->list_items[i] += s->queue.list[i].count;
        const struct node *n = evict_oldest_in(&s->queue, i);
        uint32_t age_s = n != NULL ? age_of(n, clock, now_s) : 0;
        if (age_s > f->list_age_s[i]) {
            f->list_age_s[i] = age_s;
        }
    }
}

/* The shelves of ids from `first` on, as many as one hold of a lock should look at. */
static void add_shelves(struct cache *c, const struct class_set *ids, unsigned first, uint32_t now_s,
                        struct cache_class_facts *by_id) {
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        for (unsigned id = first; id < first + SHELVES_A_LOCK; id++) {
            if (class_set_has(ids, id) && p->shelves[id] != NULL) {
                add_shelf(p->shelves[id], cache_item_clock(c), now_s, &by_id[id]);
            }
        }
        lock_release(&p->lock);
    }
}

static void chunk_facts(const struct cache *c, unsigned class_id, struct slab_class_facts *f) {
    slab_facts(c->slab, class_id, f);
    if (c->heap != NULL && class_id == HEAP_CLASS) {
        heap_class_facts(c, f);
    }
}

void cache_classes_facts(struct cache *c, const struct class_set *ids, struct cache_class_facts *by_id) {
    struct cache_values total;
    struct cache_class_values counters[SLAB_CLASSES_MAX];
    uint32_t now_s = clock_now_s();
    lock_take(&c->threads_lock);
    sum_locked(c, &total, counters);
    subtract((uint64_t *)counters, (uint64_t *)c->class_baseline, SLAB_CLASSES_MAX * class_counter_count);
    lock_release(&c->threads_lock);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        if (class_set_has(ids, id)) {
            by_id[id] = (struct cache_class_facts){.counters = counters[id]};
            by_id[id].evicted_age_s = atomic_load_explicit(&c->evicted_age_s[id], memory_order_relaxed);
            chunk_facts(c, id, &by_id[id].slab);
        }
    }
    for (unsigned first = 0; first < SLAB_CLASSES_MAX && first <= c->slab->class_count; first += SHELVES_A_LOCK) {
        add_shelves(c, ids, first, now_s, by_id);
    }
}

void cache_sum_class_locked(struct cache *c, unsigned class_id, struct cache_class_values *sum) {
    assert(lock_held(&c->threads_lock));
    *sum = c->class_retired[class_id];
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)sum, (struct counter *)&c->threads[t]->classes[class_id], class_counter_count);
    }
    complete_class(sum);
}

uint64_t cache_class_evicted(struct cache *c, unsigned class_id) {
    struct cache_class_values sum;
    lock_take(&c->threads_lock);
    cache_sum_class_locked(c, class_id, &sum);
    lock_release(&c->threads_lock);
    return sum.evicted;
}

static void sum_ages_locked(struct cache *c, unsigned class_id, struct cache_age_values *sum) {
    *sum = c->ages_retired[class_id];
    for (unsigned t = 0; t < c->thread_count; t++) {
        counter_sum((uint64_t *)sum, (struct counter *)&c->threads[t]->ages[class_id], CACHE_AGES);
    }
}

void cache_class_ages(struct cache *c, unsigned class_id, struct cache_age_values *sum) {
    lock_take(&c->threads_lock);
    sum_ages_locked(c, class_id, sum);
    subtract((uint64_t *)sum, (uint64_t *)&c->ages_baseline[class_id], CACHE_AGES);
    lock_release(&c->threads_lock);
}

void cache_class_facts(struct cache *c, unsigned class_id, struct cache_class_facts *f) {
    uint32_t now_s = clock_now_s();
    *f = (struct cache_class_facts){.evicted_age_s = atomic_load_explicit(&c->evicted_age_s[class_id], memory_order_relaxed)};
    chunk_facts(c, class_id, &f->slab);
    lock_take(&c->threads_lock);
    cache_sum_class_locked(c, class_id, &f->counters);
    subtract((uint64_t *)&f->counters, (uint64_t *)&c->class_baseline[class_id], class_counter_count);
    lock_release(&c->threads_lock);
    for (unsigned i = 0; i < c->partition_count; i++) {
        struct partition *p = &c->partitions[i];
        lock_take(&p->lock);
        if (p->shelves[class_id] != NULL) {
            add_shelf(p->shelves[class_id], cache_item_clock(c), now_s, f);
        }
        lock_release(&p->lock);
    }
}

void cache_classes_counters(struct cache *c, struct cache_class_values *sum) {
    struct cache_values total;
    struct cache_class_values counters[SLAB_CLASSES_MAX];
    memset(sum, 0, sizeof *sum);
    lock_take(&c->threads_lock);
    sum_locked(c, &total, counters);
    subtract((uint64_t *)counters, (uint64_t *)c->class_baseline, SLAB_CLASSES_MAX * class_counter_count);
    lock_release(&c->threads_lock);
    for (unsigned id = 0; id < SLAB_CLASSES_MAX; id++) {
        const uint64_t *from = (const uint64_t *)&counters[id];
        for (size_t i = 0; i < class_counter_count; i++) {
            ((uint64_t *)sum)[i] += from[i];
        }
    }
}

void cache_reset_counters(struct cache *c) {
    lock_take(&c->threads_lock);
    sum_locked(c, &c->baseline, c->class_baseline);
    for (unsigned i = 0; i < SLAB_CLASSES_MAX; i++) {
        sum_ages_locked(c, i, &c->ages_baseline[i]);
    }
    lock_release(&c->threads_lock);
}

static uint64_t thread_hits(const struct cache_thread *ct, unsigned class_id) {
    const struct counter *n = &ct->classes[class_id].each[COUNTER_AT(cache_class_counters, hits_to_hot)];
    return counter_get(&n[EVICT_NEW]) + counter_get(&n[EVICT_MAIN]) + counter_get(&n[EVICT_OLD]) + counter_get(&n[EVICT_TEMP]);
}

void cache_reads(struct cache *c, uint64_t *hits, uint64_t *misses) {
    *hits = 0;
    lock_take(&c->threads_lock);
    *misses = c->retired.get_misses;
    for (unsigned i = 1; i <= c->slab->class_count; i++) {
        const struct cache_class_values *n = &c->class_retired[i];
        *hits += n->hits_to_hot + n->hits_to_warm + n->hits_to_cold + n->hits_to_temp;
    }
    for (unsigned t = 0; t < c->thread_count; t++) {
        *misses += counter_get(&c->threads[t]->counters.get_misses);
        for (unsigned i = 1; i <= c->slab->class_count; i++) {
            *hits += thread_hits(c->threads[t], i);
        }
    }
    lock_release(&c->threads_lock);
}

const struct evict_tuning *cache_tuning(const struct cache *c) { return &c->tuning; }
struct slab *cache_slab(struct cache *c) { return c->slab; }
uint32_t     cache_item_bytes_max(const struct cache *c) { return c->config.item_bytes_max; }
bool         cache_has_cas(const struct cache *c) { return c->config.cas; }
bool         cache_evicts(const struct cache *c) { return c->config.evict; }

static const char *const store_names[] = {[CACHE_STORE_SLAB] = "slab", [CACHE_STORE_HEAP] = "heap", [CACHE_STORE_BLOCKS] = "blocks"};

const char *cache_store_name(enum cache_store_kind kind) { return store_names[kind]; }
enum cache_store_kind cache_store_kind(const struct cache *c) { return c->config.store; }
const char *cache_index_name(const struct cache *c) { return c->partitions[0].index.kind->name; }

enum cache_store_kind cache_store_find(const char *name) {
    enum cache_store_kind kind = CACHE_STORE_SLAB;
    for (enum cache_store_kind i = 0; i < CACHE_STORE_KINDS; i++) {
        kind = strcmp(store_names[i], name) == 0 ? i : kind;
    }
    return kind;
}
