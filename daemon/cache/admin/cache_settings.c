/* Settings of a running cache, and signals for the tuner. */
#include "cache/partition.h"

void cache_set(struct cache *c, const struct cache_settings *s) {
    struct evict_tuning *t = &c->tuning;
    atomic_store_explicit(&t->hot_pct, s->hot_pct, memory_order_relaxed);
    atomic_store_explicit(&t->warm_pct, s->warm_pct, memory_order_relaxed);
    atomic_store_explicit(&t->hot_factor_pct, s->hot_factor_pct, memory_order_relaxed);
    atomic_store_explicit(&t->warm_factor_pct, s->warm_factor_pct, memory_order_relaxed);
    atomic_store_explicit(&t->small_pct, s->s3fifo.small_pct, memory_order_relaxed);
    atomic_store_explicit(&t->ghost_pct, s->s3fifo.ghost_pct, memory_order_relaxed);
    atomic_store_explicit(&t->promote_hits, s->s3fifo.promote_hits, memory_order_relaxed);
    atomic_store_explicit(&t->skip_pct, s->s3fifo.skip_pct, memory_order_relaxed);
    atomic_store_explicit(&c->temporary_ttl_s, s->temporary_ttl_s, memory_order_relaxed);
}

void cache_s3fifo(const struct cache *c, struct evict_s3fifo_knobs *to) {
    *to = (struct evict_s3fifo_knobs){.small_pct = evict_knob(&c->tuning.small_pct),
                                      .ghost_pct = evict_knob(&c->tuning.ghost_pct),
                                      .promote_hits = evict_knob(&c->tuning.promote_hits),
                                      .skip_pct = evict_knob(&c->tuning.skip_pct),
                                      .readmit_pct = 100};
}

const struct cache_recovered *cache_recovered(const struct cache *c) { return &c->recovered; }

size_t cache_limit_most(const struct cache *c) { return c->limit_bytes_most; }

bool cache_set_limit(struct cache *c, size_t limit_bytes) {
    bool set = limit_bytes <= cache_limit_most(c) && c->store->set_limit(c, limit_bytes);
    if (set && c->wake != NULL) {
        c->wake(c->wake_arg);
    }
    return set;
}

/* --- starved classes --- */

struct class_set cache_take_starved(struct cache *c) { return class_set_shared_take(&c->starved); }
struct class_set cache_take_left_free(struct cache *c) {
    return class_set_shared_take(&c->left_free);
}

void cache_set_starved_on_evict(struct cache *c, bool on) {
    atomic_store_explicit(&c->starved_on_evict, on, memory_order_relaxed);
}

void cache_on_starved(struct cache *c, void (*wake)(void *), void *arg) {
    c->wake_arg = arg;
    c->wake = wake;
}

void cache_on_steal(struct cache *c, void (*stolen)(void *, const struct cache_steal *),
                    void *arg) {
    c->stolen_arg = arg;
    c->stolen = stolen;
}

/* --- configuration at the start --- */

const struct evict_tuning *cache_tuning(const struct cache *c) { return &c->tuning; }
struct slab *cache_slab(struct cache *c) { return c->slab; }
uint32_t     cache_item_bytes_max(const struct cache *c) { return c->config.item_bytes_max; }
bool         cache_has_cas(const struct cache *c) { return c->config.cas; }
bool         cache_evicts(const struct cache *c) { return c->config.evict; }

enum cache_store_kind cache_store_kind(const struct cache *c) { return c->config.store; }
const char *cache_index_name(const struct cache *c) { return c->partitions[0].index.kind->name; }
