#include "index/pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_BYTES ((size_t)2 << 20)

bool index_pool_init(struct index_pool *p, size_t reserve_bytes, size_t small_bytes) {
    p->bytes = (reserve_bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    p->base = mmap(NULL, p->bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    atomic_init(&p->used, 0);
    if (p->base == MAP_FAILED) {
        p->base = NULL;
        return false;
    }
    small_bytes = small_bytes < p->bytes ? small_bytes : p->bytes;
    madvise(p->base + small_bytes, p->bytes - small_bytes, MADV_HUGEPAGE);
    return true;
}

void index_pool_fini(struct index_pool *p) {
    if (p->base != NULL) {
        munmap(p->base, p->bytes);
        p->base = NULL;
    }
}

void *index_pool_take(struct index_pool *p, size_t bytes) {
    size_t at = atomic_fetch_add_explicit(&p->used, bytes, memory_order_relaxed);
    if (at > p->bytes || bytes > p->bytes - at) {
        atomic_fetch_sub_explicit(&p->used, bytes, memory_order_relaxed);
        return NULL;
    }
    return p->base + at;
}

/* Makes room in the directory for the n-th segment; NULL: out of memory. */
static struct index_directory *pool_grow_directory(index_array *a, uint32_t n) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_relaxed);
    if (d == NULL || n >= d->room) {
        uint32_t room = d == NULL ? 8 : d->room * 2;
        struct index_directory *wider = calloc(1, sizeof *wider + room * sizeof wider->segments[0]);
        if (wider == NULL) {
            return NULL;
        }
        wider->room = room;
        wider->older = d;
        for (uint32_t i = 0; i < n; i++) {
            atomic_init(&wider->segments[i],
                        atomic_load_explicit(&d->segments[i], memory_order_relaxed));
        }
        /* pairs with the acquire in index_array_segment and index_array_try */
        atomic_store_explicit(a, wider, memory_order_release);
        d = wider;
    }
    return d;
}

bool index_array_add(index_array *a, uint32_t n, struct index_pool *pool, size_t segment_bytes) {
    struct index_directory *d = pool_grow_directory(a, n);
    void *segment = d != NULL ? index_pool_take(pool, segment_bytes) : NULL;
    if (segment != NULL) {
        atomic_store_explicit(&d->segments[n], segment, memory_order_release);
    }
    return segment != NULL;
}

void index_array_free(index_array *a) {
    struct index_directory *d = atomic_load_explicit(a, memory_order_relaxed);
    while (d != NULL) {
        struct index_directory *older = d->older;
        free(d);
        d = older;
    }
    atomic_store_explicit(a, NULL, memory_order_relaxed);
}
