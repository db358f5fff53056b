/* The stream of sampled keys: each thread writes records into its own ring, one thread takes them
 * out of all rings. */
#include "cache/admin/sampling.h"

#include "watch/ring.h"

/* Keys of requests are noted in one such part of a ring only, since some of them may be lost. */
enum { KEYS_SHARE = 8, HALVINGS = 8 };

/* Another thread may have created this thread's ring. */
static struct ring *sampling_own_ring(const struct cache_thread *ct) {
    return atomic_load_explicit(&ct->sample_ring, memory_order_acquire);
}

/* Once a ring is half full, each further sixteenth halves the keys that are noted: the sample is
 * then complete for fewer keys, not incomplete for all. */
static bool sampling_finds_room(const struct cache_thread *ct, const struct ring *ring,
                                uint64_t hash) {
    uint64_t room = ring_free(ring), half = ring->bytes / 2;
    return room >= half ||
           sample_takes(hash, ct->sample_hash_below >> (half - room) * HALVINGS / half);
}

/* No record of the key is noted: of it and of keys with greater hashes the sample is incomplete. */
static void sampling_leave_out(struct cache *c, uint64_t hash) {
    uint32_t below = (uint32_t)hash,
             was = atomic_load_explicit(&c->sample_complete_below, memory_order_relaxed);
    while (below < was &&
           !atomic_compare_exchange_weak_explicit(&c->sample_complete_below, &was, below,
                                                  memory_order_relaxed, memory_order_relaxed)) {
    }
}

uint32_t cache_sample_complete_below(struct cache *c) {
    return atomic_exchange_explicit(&c->sample_complete_below, UINT32_MAX, memory_order_relaxed);
}

void sampling_note(struct cache_thread *ct, enum sample_verb verb, uint64_t hash, unsigned class_id,
                   uint32_t value_bytes, uint32_t expires_s) {
    struct ring *ring = sampling_own_ring(ct);
    if (ring == NULL) {
        return;
    }
    struct sample_record *r =
        sampling_finds_room(ct, ring, hash) ? ring_reserve(ring, sizeof *r) : NULL;
    if (r == NULL) {
        sampling_leave_out(ct->cache, hash);
    } else {
        const struct cache *c = ct->cache;
        uint32_t bytes =
            class_id != SLAB_CLASS_NONE ? c->store->value_takes(c, class_id, value_bytes) : 0;
        *r = (struct sample_record){.hash = hash,
                                    .bytes = bytes,
                                    .expires_s = expires_s,
                                    .class_id = (uint8_t)class_id,
                                    .verb = (uint8_t)verb};
        ring_publish(ring);
    }
}

void cache_sample_key(struct cache_thread *ct, const struct key *key, uint32_t requests,
                      uint32_t read_bytes) {
    struct ring *ring = sampling_own_ring(ct);
    struct sample_record *r = NULL;
    if (ring != NULL && ring_free(ring) < ring->bytes / KEYS_SHARE * (KEYS_SHARE - 1)) {
        counter_add(&ring->dropped, 1);
    } else if (ring != NULL) {
        r = ring_reserve(ring, sizeof *r + key->len);
    }
    if (r != NULL) {
        *r = (struct sample_record){.hash = key->hash,
                                    .bytes = requests,
                                    .read_bytes = read_bytes,
                                    .verb = SAMPLE_KEY,
                                    .key_bytes = key->len};
        memcpy(r->key, key->ptr, key->len);
        ring_publish(ring);
    }
}

void cache_count_key_requests(struct cache_thread *ct, unsigned requests) {
    counter_add(&ct->counters.key_requests, requests);
}

uint64_t cache_key_requests(struct cache *c) {
    lock_take(&c->threads_lock);
    uint64_t requests = c->retired.key_requests;
    for (unsigned t = 0; t < c->thread_count; t++) {
        requests += counter_get(&c->threads[t]->counters.key_requests);
    }
    lock_release(&c->threads_lock);
    return requests;
}

/* --- on and off --- */

/* A ring is never freed while its thread runs, so the thread need not check again. */
static bool sampling_make_ring(struct cache_thread *ct, size_t ring_bytes) {
    if (atomic_load_explicit(&ct->sample_ring, memory_order_relaxed) == NULL) {
        /* pairs with sampling_own_ring */
        atomic_store_explicit(&ct->sample_ring, ring_create(ring_bytes), memory_order_release);
    }
    return atomic_load_explicit(&ct->sample_ring, memory_order_relaxed) != NULL;
}

bool sampling_thread_begin(struct cache_thread *ct) {
    const struct cache *c = ct->cache;
    return c->sample_ring_bytes == 0 || c->thread_count >= c->sample_rings_max ||
           sampling_make_ring(ct, c->sample_ring_bytes);
}

bool cache_sample_start(struct cache *c, size_t ring_bytes, unsigned rings_max) {
    bool made = true;
    lock_take(&c->threads_lock);
    atomic_store_explicit(&c->sample_complete_below, UINT32_MAX, memory_order_relaxed);
    c->sample_ring_bytes = ring_bytes;
    c->sample_rings_max = rings_max;
    for (unsigned i = 0; i < c->thread_count && i < rings_max; i++) {
        made = sampling_make_ring(c->threads[i], ring_bytes) && made;
    }
    lock_release(&c->threads_lock);
    return made;
}

void cache_set_sample(struct cache *c, uint32_t below, uint32_t key_every) {
    atomic_store_explicit(&c->sample_hash_below, below, memory_order_relaxed);
    atomic_store_explicit(&c->sample_key_every, key_every, memory_order_relaxed);
}

uint32_t cache_sample_key_every(const struct cache *c) {
    return atomic_load_explicit(&c->sample_key_every, memory_order_relaxed);
}

/* --- the reader --- */

static size_t sampling_record_bytes(const struct sample_record *r) {
    return (sizeof *r + r->key_bytes + 7) & ~(size_t)7;
}

const struct sample_record *cache_sample_next(const struct cache_samples *s,
                                              const struct sample_record *r) {
    const char *next = r == NULL ? s->bytes : (const char *)r + sampling_record_bytes(r);
    return next < s->bytes + s->used ? (const void *)next : NULL;
}

bool cache_take_samples(struct cache *c, unsigned thread, struct cache_samples *s) {
    s->used = 0;
    lock_take(&c->threads_lock); /* so that the thread cannot end meanwhile */
    bool there = thread < c->thread_count;
    struct ring *ring =
        there ? atomic_load_explicit(&c->threads[thread]->sample_ring, memory_order_relaxed) : NULL;
    const struct sample_record *r;
    while (ring != NULL && (r = ring_peek(ring)) != NULL &&
           sampling_record_bytes(r) <= sizeof s->bytes - s->used) {
        memcpy(s->bytes + s->used, r, sizeof *r + r->key_bytes);
        s->used += sampling_record_bytes(r);
        ring_pop(ring);
    }
    lock_release(&c->threads_lock);
    return there;
}

void cache_sample_facts(struct cache *c, struct cache_sample_facts *f) {
    lock_take(&c->threads_lock);
    *f = c->samples_retired;
    for (unsigned i = 0; i < c->thread_count; i++) {
        const struct ring *ring =
            atomic_load_explicit(&c->threads[i]->sample_ring, memory_order_relaxed);
        if (ring != NULL) {
            f->written += counter_get(&ring->written);
            f->dropped += counter_get(&ring->dropped);
            f->ring_bytes += ring_memory(ring->bytes);
        }
    }
    lock_release(&c->threads_lock);
}

void sampling_thread_end_locked(struct cache_thread *ct) {
    struct cache *c = ct->cache;
    assert(lock_held(&c->threads_lock));
    struct ring *ring = atomic_load_explicit(&ct->sample_ring, memory_order_relaxed);
    if (ring != NULL) {
        c->samples_retired.written += counter_get(&ring->written);
        c->samples_retired.dropped += counter_get(&ring->dropped);
        ring_destroy(&ring);
    }
}
