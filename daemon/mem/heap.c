#include "mem/heap.h"

#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { MEASURE_BYTES_SHIFT = 20, IDLE_SHARE = 64, PAGE_BYTES_USUAL = 4096 };
/* The most address space that jemalloc takes at a time; its steps double up to this. */
static const size_t grow_bytes_most = (size_t)16 << 20;

struct heap {
    /* the first member: jemalloc passes the hooks, and so the heap, to each hook */
    extent_hooks_t   hooks;
    struct arena    *arena;
    /* of every call: our own allocation arena, and no cache for each thread */
    int              flags;
    unsigned         index; /* of that arena */
    size_t           page_bytes; /* jemalloc's */
    _Atomic size_t   reached; /* how many bytes of the mapping's pages jemalloc ever got */

    _Alignas(64) _Atomic uint64_t used_bytes;
    _Atomic uint64_t retired_bytes; /* those of the used bytes that are retired */
    _Atomic uint64_t churn_bytes; /* bytes that were taken and given so far */
    /* bytes that are held but not used, as of the last measurement, without idle_bytes */
    _Atomic uint64_t waste_bytes;
    _Atomic uint64_t idle_bytes;  /* bytes in pages that the next allocations take */
    /* a limit of used bytes that are not retired, in place of the arena's limit; 0: none */
    _Atomic uint64_t cap_bytes;
    _Atomic bool     measuring;
};

/* --- extent hooks --- */

static void *heap_hook_alloc(extent_hooks_t *hooks, void *wanted, size_t bytes, size_t alignment,
                             bool *zero, bool *commit, unsigned index) {
    struct heap *h = (struct heap *)hooks;
    size_t most = (size_t)h->arena->page_max << PAGE_SHIFT;
    size_t from, reached = atomic_load_explicit(&h->reached, memory_order_relaxed);
    (void)index;
    if (wanted != NULL) {
        return NULL; /* extents do not grow in place */
    }
    do {
        uintptr_t start =
            ((uintptr_t)h->arena->pages + reached + alignment - 1) & ~(uintptr_t)(alignment - 1);
        from = (size_t)(start - (uintptr_t)h->arena->pages);
        if (from > most || bytes > most - from) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&h->reached, &reached, from + bytes,
                                                    memory_order_relaxed, memory_order_relaxed));
    *zero = true; /* never touched before */
    *commit = true;
    return h->arena->pages + from;
}

static bool heap_hook_purge(extent_hooks_t *hooks, void *start, size_t bytes, size_t offset,
                            size_t length, unsigned index) {
    (void)hooks, (void)bytes, (void)index;
    return madvise((char *)start + offset, length, MADV_DONTNEED) != 0;
}

static bool heap_hook_split(extent_hooks_t *hooks, void *start, size_t bytes, size_t left,
                            size_t right, bool committed, unsigned index) {
    (void)hooks, (void)start, (void)bytes, (void)left, (void)right, (void)committed, (void)index;
    return false; /* all is one mapping, which may be split anywhere */
}

static bool heap_hook_merge(extent_hooks_t *hooks, void *a, size_t a_bytes, void *b, size_t b_bytes,
                            bool committed, unsigned index) {
    (void)hooks, (void)a, (void)a_bytes, (void)b, (void)b_bytes, (void)committed, (void)index;
    return false;
}

/* --- asking jemalloc --- */

enum { CONTROL_NAME_BYTES = 64 };

static void heap_control_name(char *to, const struct heap *h, const char *format) {
    snprintf(to, CONTROL_NAME_BYTES, format, h->index);
}

static size_t heap_statistic(const struct heap *h, const char *format) {
    char name[CONTROL_NAME_BYTES];
    size_t value = 0, size = sizeof value;
    heap_control_name(name, h, format);
    return mallctl(name, &value, &size, NULL, 0) == 0 ? value : 0;
}

static void heap_control(const struct heap *h, const char *format) {
    char name[CONTROL_NAME_BYTES];
    heap_control_name(name, h, format);
    mallctl(name, NULL, NULL, NULL, 0);
}

static void heap_refresh_statistics(void) {
    uint64_t epoch = 1;
    mallctl("epoch", NULL, NULL, &epoch, sizeof epoch);
}

static uint64_t heap_limit_bytes(const struct heap *h) {
    return (uint64_t)atomic_load_explicit(&h->arena->page_limit, memory_order_relaxed)
           << PAGE_SHIFT;
}

/* Measures the memory that is resident but not used: holes between allocations, and the allocator's
 * own. Idle pages of the allocator do not count, since the next allocations take them. They return
 * to the system with `trim`, or if they exceed the limit. */
static bool heap_measure(struct heap *h, bool trim) {
    if (atomic_exchange_explicit(&h->measuring, true, memory_order_acquire)) {
        return false;
    }
    heap_refresh_statistics();
    size_t held = heap_statistic(h, "stats.arenas.%u.resident"),
           idle = heap_statistic(h, "stats.arenas.%u.pdirty") * h->page_bytes;
    if (trim || (held > heap_limit_bytes(h) && idle > heap_limit_bytes(h) / IDLE_SHARE)) {
        heap_control(h, "arena.%u.purge");
        heap_refresh_statistics();
        held = heap_statistic(h, "stats.arenas.%u.resident");
        idle = heap_statistic(h, "stats.arenas.%u.pdirty") * h->page_bytes;
    }
    uint64_t used = atomic_load_explicit(&h->used_bytes, memory_order_relaxed);
    atomic_store_explicit(&h->waste_bytes, held > used + idle ? held - used - idle : 0,
                          memory_order_relaxed);
    atomic_store_explicit(&h->idle_bytes, idle, memory_order_relaxed);
    atomic_store_explicit(&h->measuring, false, memory_order_release);
    return true;
}

static void heap_note_churn(struct heap *h, size_t bytes) {
    uint64_t before = atomic_fetch_add_explicit(&h->churn_bytes, bytes, memory_order_relaxed);
    if (before >> MEASURE_BYTES_SHIFT != (before + bytes) >> MEASURE_BYTES_SHIFT) {
        heap_measure(h, false);
    }
}

bool heap_trim(struct heap *h) { return heap_measure(h, true); }

/* --- making and ending --- */

struct heap *heap_create(struct arena *arena) {
    struct heap *h = aligned_alloc(64, sizeof *h);
    if (h == NULL) {
        return NULL;
    }
    *h = (struct heap){.hooks = {.alloc = heap_hook_alloc,
                                 .purge_forced = heap_hook_purge,
                                 .split = heap_hook_split,
                                 .merge = heap_hook_merge},
                       .arena = arena};
    extent_hooks_t *hooks = &h->hooks;
    size_t size = sizeof h->index, most = grow_bytes_most;
    if (mallctl("arenas.create", &h->index, &size, &hooks, sizeof hooks) != 0) {
        free(h);
        errno = ENOMEM;
        return NULL;
    }
    size = sizeof h->page_bytes;
    if (mallctl("arenas.page", &h->page_bytes, &size, NULL, 0) != 0) {
        h->page_bytes = PAGE_BYTES_USUAL;
    }
    char name[CONTROL_NAME_BYTES];
    heap_control_name(name, h, "arena.%u.retain_grow_limit");
    /* only a request: after a refusal the mapping is used up a little sooner */
    mallctl(name, NULL, NULL, &most, sizeof most);
    h->flags = (int)(MALLOCX_ARENA(h->index) | MALLOCX_TCACHE_NONE);
    if (arena->space.shift > 4) { /* jemalloc aligns to 16 bytes by default */
        h->flags |= MALLOCX_LG_ALIGN((int)arena->space.shift);
    }
    for (uint32_t i = 0; i < arena->page_max; i++) {
        atomic_store_explicit(&arena->table[i].class_id, HEAP_CLASS, memory_order_relaxed);
        atomic_store_explicit(&arena->table[i].state, PAGE_OWNED, memory_order_relaxed);
    }
    atomic_store_explicit(&arena->page_end, arena->page_max, memory_order_relaxed);
    return h;
}

void heap_destroy(struct heap **taken) {
    if (*taken != NULL) {
        heap_control(*taken, "arena.%u.destroy");
        free(*taken);
        *taken = NULL;
    }
}

/* --- taking and giving --- */

size_t heap_bytes_for(const struct heap *h, size_t bytes) { return nallocx(bytes, h->flags); }
size_t heap_bytes_of(const struct heap *h, uint32_t ref) {
    return sallocx(node_at(&h->arena->space, ref), h->flags);
}

static bool heap_fits(const struct heap *h, uint64_t used) {
    uint64_t cap = atomic_load_explicit(&h->cap_bytes, memory_order_relaxed);
    return cap != 0 ? used <= cap + atomic_load_explicit(&h->retired_bytes, memory_order_relaxed)
                    : used + atomic_load_explicit(&h->waste_bytes, memory_order_relaxed) <=
                          heap_limit_bytes(h);
}

uint32_t heap_take(struct heap *h, size_t bytes) {
    size_t takes = nallocx(bytes, h->flags);
    uint64_t used = atomic_fetch_add_explicit(&h->used_bytes, takes, memory_order_relaxed) + takes;
    void *p = heap_fits(h, used) ? mallocx(bytes, h->flags) : NULL;
    if (p == NULL) {
        atomic_fetch_sub_explicit(&h->used_bytes, takes, memory_order_relaxed);
        return 0;
    }
    heap_note_churn(h, takes);
    return node_ref(&h->arena->space, p);
}

void heap_release(struct heap *h, uint32_t ref) {
    void *p = node_at(&h->arena->space, ref);
    size_t took = sallocx(p, h->flags);
    dallocx(p, h->flags);
    atomic_fetch_sub_explicit(&h->used_bytes, took, memory_order_relaxed);
    atomic_fetch_sub_explicit(&h->retired_bytes, took, memory_order_relaxed);
    heap_note_churn(h, took);
}

void heap_note_retired(struct heap *h, size_t bytes) {
    atomic_fetch_add_explicit(&h->retired_bytes, bytes, memory_order_relaxed);
}

void heap_set_cap(struct heap *h, uint64_t bytes) {
    atomic_store_explicit(&h->cap_bytes, bytes, memory_order_relaxed);
}

void heap_facts(const struct heap *h, struct heap_facts *f) {
    uint64_t retired = atomic_load_explicit(&h->retired_bytes, memory_order_relaxed);
    uint64_t used = atomic_load_explicit(&h->used_bytes, memory_order_relaxed);
    f->used_bytes = used > retired ? used - retired : 0;
    f->retired_bytes = used - f->used_bytes;
    f->limit_bytes = heap_limit_bytes(h);
    f->cap_bytes = atomic_load_explicit(&h->cap_bytes, memory_order_relaxed);
    f->held_bytes = used + atomic_load_explicit(&h->waste_bytes, memory_order_relaxed) +
                    atomic_load_explicit(&h->idle_bytes, memory_order_relaxed);
}
