#include "tune/snapshot.h"

#include <string.h>

#include "base/clock.h"

/* The age that counts is that of the queue from which the policy evicts: the cold one where there is one with items. */
static uint32_t tail_age_s(const struct evict_policy *policy, const struct cache_class_facts *f) {
    uint32_t oldest_s = 0;
    for (unsigned i = 0; i < EVICT_LISTS; i++) {
        if (f->list_items[i] == 0) {
            continue;
        }
        if (policy->list_names[i] != NULL && strcmp(policy->list_names[i], "cold") == 0) {
            return f->list_age_s[i];
        }
        oldest_s = f->list_age_s[i] > oldest_s ? f->list_age_s[i] : oldest_s;
    }
    return oldest_s;
}

static void refresh_class(struct snapshot_class *c, const struct slab_class_facts *f, bool hungry) {
    c->chunk_bytes = f->chunk_bytes;
    c->chunks_per_page = f->chunks_per_page;
    c->pages = f->pages > f->draining ? f->pages - f->draining : 0;
    c->hungry = hungry;
}

static bool bit(uint64_t bits, unsigned i) { return bits >> i & 1; }

void snapshot_take(struct cache *cache, uint64_t hungry, struct snapshot *s) {
    struct slab *slab = cache_slab(cache);
    const struct evict_policy *policy = cache_policy(cache);
    memset(s, 0, sizeof *s);
    s->time_us = clock_mono_us();
    s->pages_limit = atomic_load_explicit(&slab->arena->page_limit, memory_order_relaxed);
    s->pages_free = arena_pages_free(slab->arena);
    s->class_count = slab->class_count;
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct snapshot_class *c = &s->classes[i];
        struct cache_class_facts f;
        cache_class_facts(cache, i, &f);
        refresh_class(c, &f.slab, bit(hungry, i));
        c->free_chunks = (uint64_t)f.slab.free_chunks + f.stock_chunks;
        c->items = f.items;
        c->age_s = tail_age_s(policy, &f);
        c->evicted = f.counters.evicted;
        c->outofmemory = f.counters.outofmemory;
    }
}

void snapshot_refresh(struct cache *cache, uint64_t hungry, struct snapshot *s) {
    struct slab *slab = cache_slab(cache);
    const struct evict_policy *policy = cache_policy(cache);
    s->time_us = clock_mono_us();
    s->pages_free = arena_pages_free(slab->arena);
    for (unsigned i = 1; i <= s->class_count; i++) {
        struct slab_class_facts f;
        slab_facts(slab, i, &f);
        refresh_class(&s->classes[i], &f, bit(hungry, i));
        s->classes[i].free_chunks = f.free_chunks;
        if (bit(hungry, i)) { /* a class of few chunks can turn over, and its tail be young, within a moment */
            struct cache_class_facts hungry_now;
            cache_class_facts(cache, i, &hungry_now);
            s->classes[i].age_s = tail_age_s(policy, &hungry_now);
        }
    }
}
