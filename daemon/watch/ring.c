#include "watch/ring.h"

#include <assert.h>
#include <stdlib.h>

/* Before each record: the bytes of record and head. A gap is skipped: the memory behind it was too
 * short. */
struct head {
    uint32_t bytes;
    uint32_t gap;
};

static size_t ring_room(size_t bytes) {
    return (bytes < RING_BYTES_MIN ? RING_BYTES_MIN : bytes) & ~(size_t)7;
}

size_t ring_memory(size_t bytes) {
    return (sizeof(struct ring) + ring_room(bytes) + 63) & ~(size_t)63;
}

struct ring *ring_create(size_t bytes) {
    struct ring *r = aligned_alloc(64, ring_memory(bytes));
    if (r != NULL) {
        counter_set(&r->written, 0);
        counter_set(&r->dropped, 0);
        atomic_init(&r->head, 0);
        atomic_init(&r->tail, 0);
        r->head_next = r->base = 0;
        r->bytes = ring_room(bytes);
    }
    return r;
}

void ring_destroy(struct ring **taken) {
    free(*taken);
    *taken = NULL;
}

static struct head *ring_head_at(struct ring *r, uint64_t place) {
    return (void *)(r->memory + (place - r->base) % r->bytes);
}

uint64_t ring_free(const struct ring *r) {
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    return r->bytes - (head - atomic_load_explicit(&r->tail, memory_order_acquire));
}

void *ring_reserve(struct ring *r, size_t n) {
    assert(n <= RING_BYTES_MIN / 2);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed), room = ring_free(r);
    uint64_t need = (sizeof(struct head) + n + 7) & ~(uint64_t)7;
    if (room == r->bytes) {
        r->base = head; /* the reader reads it after the next head */
    }
    uint64_t before_end = r->bytes - (head - r->base) % r->bytes;
    uint64_t gap = need > before_end ? before_end : 0;
    if (need + gap > room) {
        counter_add(&r->dropped, 1);
        return NULL;
    }
    if (gap > 0) {
        *ring_head_at(r, head) = (struct head){(uint32_t)gap, 1};
        head += gap;
    }
    *ring_head_at(r, head) = (struct head){(uint32_t)need, 0};
    r->head_next = head + need;
    return ring_head_at(r, head) + 1;
}

void ring_publish(struct ring *r) {
    counter_add(&r->written, 1);
    atomic_store_explicit(&r->head, r->head_next, memory_order_release);
}

const void *ring_peek(struct ring *r) {
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    if (tail == atomic_load_explicit(&r->head, memory_order_acquire)) {
        return NULL;
    }
    /* a record was published together with the gap, right behind it */
    if (ring_head_at(r, tail)->gap) {
        tail += ring_head_at(r, tail)->bytes;
        atomic_store_explicit(&r->tail, tail, memory_order_release);
    }
    return ring_head_at(r, tail) + 1;
}

void ring_pop(struct ring *r) {
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + ring_head_at(r, tail)->bytes, memory_order_release);
}
