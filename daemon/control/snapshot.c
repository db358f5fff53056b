#include "control/snapshot.h"

#include <string.h>

#include "base/clock.h"

/* The age of the next victim: in the list from which the policy evicts or, if that list is empty,
 * in the oldest list. */
static uint32_t snapshot_tail_age_s(const struct evict_policy *policy,
                                    const struct cache_class_facts *f) {
    uint32_t oldest_s = 0;
    if (f->list_items[policy->tail_list] > 0) {
        return f->list_age_s[policy->tail_list];
    }
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        oldest_s = f->list_age_s[i] > oldest_s ? f->list_age_s[i] : oldest_s;
    }
    return oldest_s;
}

/* A retired class has pages, but takes no part in decisions about them. */
static void snapshot_refresh_class(struct snapshot_class *c, const struct slab_class_facts *f,
                                   bool starved) {
    if (f->retired) {
        *c = (struct snapshot_class){.chunk_bytes = f->chunk_bytes,
                                     .chunks_per_page = f->chunks_per_page};
        return;
    }
    c->chunk_bytes = f->chunk_bytes;
    c->chunks_per_page = f->chunks_per_page;
    c->pages = f->pages > f->draining ? f->pages - f->draining : 0;
    c->starved = starved;
}

/* Follows a change of classes since measuring began. */
static void snapshot_take_signals(struct cache *cache, struct snapshot *s) {
    struct cache_signals signals;
    if (!cache_measured(cache) || !cache_measure(cache, true)) {
        return;
    }
    cache_signals(cache, &signals);
    cache_signal_tails(cache, &signals);
    s->requests = signals.requests;
    for (unsigned i = 1; i <= s->class_count; i++) {
        s->classes[i].signal = signals.classes[i];
    }
}

static uint64_t snapshot_unwanted(const struct cache_class_values *n) {
    return n->evicted_by_moves + n->evicted_by_readers;
}

void snapshot_take(struct cache *cache, const struct class_set *starved, struct snapshot *s) {
    struct slab *slab = cache_slab(cache);
    memset(s, 0, sizeof *s);
    s->time_us = clock_mono_us();
    s->pages_limit = atomic_load_explicit(&slab->arena->page_limit, memory_order_relaxed);
    s->pages_free = arena_pages_free(slab->arena);
    s->class_count = slab->class_count;
    struct cache_class_facts facts[SLAB_CLASSES_MAX];
    struct class_set all = class_set_first(s->class_count);
    s->ages_as_of_s = clock_now_s();
    cache_classes_facts(cache, &all, facts);
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct snapshot_class *c = &s->classes[i];
        const struct cache_class_facts *f = &facts[i];
        snapshot_refresh_class(c, &f->slab, class_set_has(starved, i));
        if (f->slab.retired) {
            continue;
        }
        c->free_chunks = (uint64_t)f->slab.free_chunks + f->magazine_chunks;
        c->items = f->items;
        c->age_s = snapshot_tail_age_s(cache_class_policy(cache, i), f);
        c->evicted = f->counters.evicted;
        c->evicted_unwanted = snapshot_unwanted(&f->counters);
        c->outofmemory = f->counters.outofmemory;
        c->get_hits = f->counters.get_hits;
        c->cmd_set = f->counters.cmd_set;
        c->requested_bytes = f->requested_bytes;
    }
    snapshot_take_signals(cache, s);
}

/* Adds the time that has passed to ages that were not read again: else a tail whose age was read a
 * second ago would seem younger than a tail of the same age that was read now. */
static void snapshot_add_age(const struct class_set *but, struct snapshot *s) {
    uint32_t now_s = clock_now_s(),
             passed_s = now_s > s->ages_as_of_s ? now_s - s->ages_as_of_s : 0;
    for (unsigned i = 1; i <= s->class_count && passed_s > 0; i++) {
        if (s->classes[i].items > 0 && !class_set_has(but, i)) {
            s->classes[i].age_s += passed_s;
        }
    }
    s->ages_as_of_s = now_s;
}

void snapshot_refresh(struct cache *cache, const struct class_set *starved, struct snapshot *s) {
    struct slab *slab = cache_slab(cache);
    s->time_us = clock_mono_us();
    s->pages_free = arena_pages_free(slab->arena);
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        snapshot_refresh_class(&s->classes[i], &f, class_set_has(starved, i));
        if (f.retired) {
            continue;
        }
        s->classes[i].free_chunks = f.free_chunks;
        /* in a class of few chunks all items can change within a moment, and the tail be young */
        if (class_set_has(starved, i)) {
            struct cache_class_facts starved_now;
            cache_class_facts(cache, i, &starved_now);
            s->classes[i].age_s = snapshot_tail_age_s(cache_class_policy(cache, i), &starved_now);
            s->classes[i].evicted = starved_now.counters.evicted;
            s->classes[i].evicted_unwanted = snapshot_unwanted(&starved_now.counters);
        }
    }
    snapshot_add_age(starved, s);
}

static void snapshot_add_page(struct snapshot_class *c, const struct page *p, uint32_t now_s) {
    uint32_t acquired_seq = atomic_load_explicit(&p->acquired_seq, memory_order_relaxed);
    uint32_t created_s = atomic_load_explicit(&p->created_s, memory_order_relaxed);
    if (acquired_seq < c->oldest_page_seq) {
        c->oldest_page_seq = acquired_seq;
        c->page_age_s = now_s > created_s ? now_s - created_s : 0;
    }
}

void snapshot_pages(struct cache *cache, struct snapshot *s) {
    const struct slab *slab = cache_slab(cache);
    uint32_t now_s = clock_now_s();
    for (unsigned i = 1; i <= s->class_count; i++) {
        s->classes[i].oldest_page_seq = UINT32_MAX;
        s->classes[i].page_age_s = 0;
    }
    for (uint32_t page = 0; page < arena_page_end(slab->arena); page++) {
        const struct page *p = slab_page(slab, page);
        unsigned class_id = slab_page_class(slab, page);
        if (class_id != SLAB_CLASS_NONE && class_id <= s->class_count &&
            atomic_load_explicit(&p->state, memory_order_relaxed) == PAGE_OWNED) {
            snapshot_add_page(&s->classes[class_id], p, now_s);
        }
    }
}

bool snapshot_class_listed(const struct snapshot_class *c) { return c->pages > 0 || c->items > 0; }

void snapshot_class_each(const struct snapshot_class *c, unsigned class_id,
                         void (*report)(void *, const char *name, uint64_t), void *arg) {
    uint64_t chunks = (uint64_t)c->pages * c->chunks_per_page;
    uint64_t free_chunks = c->free_chunks < chunks ? c->free_chunks : chunks;
    report(arg, "id", class_id);
    report(arg, "chunk_size", c->chunk_bytes);
    report(arg, "chunks_per_page", c->chunks_per_page);
    report(arg, "total_pages", c->pages);
    report(arg, "total_chunks", chunks);
    report(arg, "used_chunks", chunks - free_chunks);
    report(arg, "free_chunks", free_chunks);
    report(arg, "get_hits", c->get_hits);
    report(arg, "cmd_set", c->cmd_set);
    if (c->items > 0) {
        /* `stats items` of memcached lists no class without items: nor does the snapshot */
        report(arg, "number", c->items);
        report(arg, "age", c->age_s);
        report(arg, "mem_requested", c->requested_bytes);
        report(arg, "evicted", c->evicted);
        report(arg, "outofmemory", c->outofmemory);
    }
}
