#include "mem/arena.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "mem/item.h"

#define HUGE_BYTES ((size_t)2 << 20)
/* In so large pieces a page goes back to the system, so that a thread that waits for this processor
 * need not wait for the whole. */
#define GIVE_BYTES ((size_t)128 << 10)

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* The smallest unit (8 bytes or more) in which 32 bits reach the end of the arena. */
static unsigned unit_shift(size_t map_bytes) {
    unsigned shift = 3;
    while ((map_bytes >> shift) > UINT32_MAX) {
        shift++;
    }
    return shift;
}

static size_t head_bytes_of(size_t reserve_bytes) {
    return round_up((reserve_bytes >> PAGE_SHIFT) * sizeof(struct page), HUGE_BYTES);
}

/* One huge page more as a guard, which a stale reader of the last chunk may read, and one to align
 * within. */
static size_t map_bytes_of(size_t reserve_bytes) {
    return head_bytes_of(reserve_bytes) + reserve_bytes + 2 * HUGE_BYTES;
}

/* Room to grow must not cost coarser references than the limit itself needs. */
static size_t affordable_reserve(size_t limit_bytes, size_t reserve_bytes) {
    size_t most = (size_t)UINT32_MAX << unit_shift(map_bytes_of(limit_bytes));
    while (reserve_bytes > limit_bytes && map_bytes_of(reserve_bytes) > most) {
        reserve_bytes -= reserve_bytes - limit_bytes < PAGE_BYTES * 1024u
                             ? reserve_bytes - limit_bytes
                             : PAGE_BYTES * 1024u;
    }
    return reserve_bytes > limit_bytes ? reserve_bytes : limit_bytes;
}

struct arena *arena_create(size_t limit_bytes, size_t reserve_bytes, bool huge_pages) {
    struct arena *a = calloc(1, sizeof *a);
    if (a == NULL) {
        return NULL;
    }
    size_t reserve = affordable_reserve(limit_bytes, reserve_bytes) & ~(size_t)(PAGE_BYTES - 1);
    a->page_max = (uint32_t)(reserve >> PAGE_SHIFT);
    a->head_bytes = head_bytes_of(reserve);
    a->map_bytes = map_bytes_of(reserve);
    a->pool = calloc(a->page_max ? a->page_max : 1, sizeof *a->pool);
    char *map = mmap(NULL, a->map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (a->pool == NULL || map == MAP_FAILED) {
        int saved = a->pool == NULL ? ENOMEM : errno;
        if (map != MAP_FAILED) {
            munmap(map, a->map_bytes);
        }
        free(a->pool);
        free(a);
        errno = saved;
        return NULL;
    }
    /* Trim the mapping to a huge page boundary, so that pages and huge pages line up. */
    char *base = (char *)round_up((size_t)map, HUGE_BYTES);
    if (base != map) {
        munmap(map, (size_t)(base - map));
    }
    size_t tail = HUGE_BYTES - (size_t)(base - map);
    a->map_bytes -= HUGE_BYTES;
    if (tail != 0) {
        munmap(base + a->map_bytes, tail);
    }
    a->table = (struct page *)(void *)base;
    a->pages = base + a->head_bytes;
    unsigned shift = unit_shift(a->map_bytes);
    uint32_t first = a->head_bytes > 0 ? (uint32_t)(a->head_bytes >> shift) : 1;
    a->space =
        (struct node_space){.base = base, .shift = shift, .first = first, .hash_of = item_hash};
    if (huge_pages) { /* a wish: a system that refuses it serves small pages */
        madvise(a->pages, (size_t)a->page_max << PAGE_SHIFT, MADV_HUGEPAGE);
    }
    lock_init(&a->lock);
    for (uint32_t i = 0; i < a->page_max; i++) {
        a->pool[i] = a->page_max - 1 - i; /* page 0 is taken first */
    }
    a->pool_count = a->page_max;
    atomic_init(&a->page_limit, (uint32_t)(limit_bytes >> PAGE_SHIFT));
    return a;
}

void arena_destroy(struct arena **taken) {
    struct arena *a = *taken;
    if (a == NULL) {
        return;
    }
    munmap(a->space.base, a->map_bytes);
    lock_fini(&a->lock);
    free(a->pool);
    free(a);
    *taken = NULL;
}

bool arena_set_limit(struct arena *a, size_t limit_bytes, bool below_use) {
    lock_take(&a->lock);
    size_t limit = limit_bytes >> PAGE_SHIFT;
    bool possible =
        limit <= a->page_max &&
        (below_use || limit >= atomic_load_explicit(&a->pages_out, memory_order_relaxed));
    if (possible) {
        atomic_store_explicit(&a->page_limit, (uint32_t)limit, memory_order_relaxed);
    }
    lock_release(&a->lock);
    return possible;
}

uint32_t arena_take_page(struct arena *a, bool over_limit) {
    uint32_t page = PAGE_NONE;
    lock_take(&a->lock);
    if ((over_limit || arena_pages_free(a) > 0) && a->pool_count > 0) {
        page = a->pool[--a->pool_count];
        if (page >= arena_page_end(a)) {
            atomic_store_explicit(&a->page_end, page + 1, memory_order_relaxed);
        }
        atomic_fetch_add_explicit(&a->pages_out, 1, memory_order_relaxed);
    }
    lock_release(&a->lock);
    return page;
}

void arena_give_page(struct arena *a, uint32_t page) {
    for (size_t at = 0; at < PAGE_BYTES; at += GIVE_BYTES) {
        madvise(arena_page_start(a, page) + at, GIVE_BYTES, MADV_DONTNEED);
    }
    lock_take(&a->lock);
    a->pool[a->pool_count++] = page;
    atomic_fetch_sub_explicit(&a->pages_out, 1, memory_order_relaxed);
    lock_release(&a->lock);
}
